#pragma once
// Burgers with its conditions in the ansatz: one equation and one point set, for benchmarks.

#include <string>

#include "lather/pde/file/problem_file.hpp"

namespace lather::bench {

inline pde::Problem burgers(int width, int depth) {
  constexpr const char* kText = R"toml(
name = "burgers"
coordinates = ["x", "t"]
fields = ["u"]
[domain]
x = [-1, 1]
t = [0, 1]
[[equation]]
name = "momentum"
residual = "u_t + u*u_x - 0.01/pi*u_xx"
[ansatz]
outputs = ["N"]
u = "-sin(pi*x) + t*(1 - x^2)*N"
[network]
type = "mlp"
)toml";
  return pde::read_problem_text(
      kText, "bench", {{"network.width", std::to_string(width)}, {"network.depth", std::to_string(depth)}});
}

}  // namespace lather::bench
