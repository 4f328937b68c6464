#pragma once
// A problem file that trains in a moment. Built in C++: heat_training.hpp.

#include <filesystem>
#include <fstream>
#include <string>

#include "temporary_folder.hpp"

namespace lather::testing {

using test::TemporaryFolder;

inline constexpr const char* kSmallProblem = R"toml(
name = "small"
title = "Heat in a rod, small"
coordinates = ["x", "t"]
fields = ["u"]
[domain]
x = [-1, 1]
t = [0, 1]
[parameters]
nu = 0.05
[[equation]]
name = "heat"
residual = "u_t - nu*u_xx"
[[condition]]
name = "initial"
where = "t = 0"
residual = "u - sin(pi*x)"
[[condition]]
name = "walls"
where = ["x = -1", "x = 1"]
residual = "u"
[network]
width = 10
depth = 2
[training]
optimizer = "ss-esoap"
[training.quick]
steps = 200
points = {interior = 64, initial = 16, walls = 16}
[reference]
u = "exp(-nu*pi^2*t)*sin(pi*x)"
)toml";

inline std::filesystem::path write_small_problem(const std::filesystem::path& folder) {
  const auto path = folder / "small.toml";
  std::ofstream(path) << kSmallProblem;
  return path;
}

inline std::string content(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace lather::testing
