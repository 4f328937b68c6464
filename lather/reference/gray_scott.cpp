// u_t = 0.2 Δu + 40 (1 - u) - 1000 u v²,  v_t = 0.1 Δv - 100 v + 1000 u v²
// on the periodic square [-1,1]², t in [0,2],
// u(0) = 1 - exp(-10((x+.05)² + (y+.02)²)),  v(0) = exp(-10((x-.05)² + (y-.02)²)).
// Departs from the paper: it prints v(0) = 1 - exp(…), with which the solution falls to the trivial state
// (1, 0) at once.
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "lather/reference/numerics/gaussian.hpp"
#include "lather/reference/periodic.hpp"
#include "lather/reference/registry.hpp"

namespace lather::reference {
namespace {

struct GrayScottOptions : ShorterOptions {
  GrayScottOptions() : ShorterOptions(160, 400, 1e-9, 2) {}
};

std::unique_ptr<ReferenceSolution> make_gray_scott(const TomlValue& settings,
                                                   const std::filesystem::path& cache_directory) {
  const auto options = options_from<GrayScottOptions>("gray-scott", settings);
  PeriodicProblem problem{
      .name = "gray-scott",
      .fields = {"u", "v"},
      .coordinates = {"x", "y", "t"},
      .accuracy =
          "1e-8 for t >= 0.001; before that the initial data, whose periodic continuation jumps by 1e-4 "
          "at the edge, are resolved to 1e-5 there",
      .end_time = options.end_time};
  problem.linear = [](int kx, int ky, int field) {
    const double k2 = std::numbers::pi * std::numbers::pi * (kx * kx + ky * ky);
    return Complex(field == 0 ? -0.2 * k2 - 40 : -0.1 * k2 - 100);
  };
  const int K = static_cast<int>(options.modes) / 2;
  problem.initial = [K, ux = gaussian_coefficients(10, -0.05, 0, K),
                     uy = gaussian_coefficients(10, -0.02, 0, K), vx = gaussian_coefficients(10, 0.05, 0, K),
                     vy = gaussian_coefficients(10, 0.02, 0, K)](int kx, int ky, int field) {
    if (field == 1) return vx[kx + K] * vy[ky + K];
    return (kx == 0 && ky == 0 ? 1.0 : 0.0) - ux[kx + K] * uy[ky + K];
  };
  problem.pointwise = [](std::span<Complex> samples) {
    for (auto& z : samples) {
      const double reaction = 1000 * z.real() * z.imag() * z.imag();
      z = Complex(40 - reaction, reaction);
    }
  };
  return make_periodic(problem, options, options::to_json(options), cache_directory);
}

}  // namespace

Maker gray_scott_maker() { return {"gray-scott", options::describe(GrayScottOptions{}), make_gray_scott}; }

}  // namespace lather::reference
