// A_t = 0.004 ΔA + 10 A - (10 + 15i) A |A|² on the periodic square [-1,1]², t in [0,1], A = u + iv,
// A(0) = (10y + 10ix) exp(-25(x² + y²)).
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "lather/reference/numerics/gaussian.hpp"
#include "lather/reference/periodic.hpp"
#include "lather/reference/registry.hpp"

namespace lather::reference {
namespace {

struct GinzburgLandauOptions : ShorterOptions {
  GinzburgLandauOptions() : ShorterOptions(256, 320, 1e-11, 1) {}
};

std::unique_ptr<ReferenceSolution> make_ginzburg_landau(const TomlValue& settings,
                                                        const std::filesystem::path& cache_directory) {
  const auto options = options_from<GinzburgLandauOptions>("ginzburg-landau", settings);
  PeriodicProblem problem{.name = "ginzburg-landau",
                          .fields = {"u", "v"},
                          .coordinates = {"x", "y", "t"},
                          .accuracy = "1e-8",
                          .end_time = options.end_time};
  problem.linear = [](int kx, int ky, int) {
    return Complex(10 - 0.004 * std::numbers::pi * std::numbers::pi * (kx * kx + ky * ky));
  };
  const int K = static_cast<int>(options.modes) / 2;
  problem.initial = [K, even = gaussian_coefficients(25, 0, 0, K), odd = gaussian_coefficients(25, 0, 1, K)](
                        int kx, int ky, int field) {
    return 10.0 * (field == 0 ? even[kx + K] * odd[ky + K] : odd[kx + K] * even[ky + K]);
  };
  problem.pointwise = [](std::span<Complex> samples) {
    for (auto& A : samples) A *= -Complex(10, 15) * std::norm(A);
  };
  return make_periodic(problem, options, options::to_json(options), cache_directory);
}

}  // namespace

Maker ginzburg_landau_maker() {
  return {"ginzburg-landau", options::describe(GinzburgLandauOptions{}), make_ginzburg_landau};
}

}  // namespace lather::reference
