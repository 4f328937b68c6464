// u_t = 1e-4 u_xx + 5u - 5u³ on the periodic interval [-1,1], u(x,0) = x² cos πx.
// The periodic extension of the initial data has a kink at x = ±1 (u_x jumps by 4), so its coefficients fall
// only like 1/k²: they are taken from the closed form, not from samples, and the first segments in time are
// short.
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "lather/reference/periodic.hpp"
#include "lather/reference/registry.hpp"

namespace lather::reference {
namespace {

struct AllenCahnOptions : SpectralOptions {
  double diffusion = 1e-4, reaction = 5;
  AllenCahnOptions() { modes = 8192, steps = 256, tolerance = 1e-11; }
  void fields(FieldVisitor& v) {
    SpectralOptions::fields(v);
    v.real("diffusion", diffusion, "coefficient of u_xx", positive());
    v.real("reaction", reaction, "coefficient of u - u³", positive());
  }
};

// ∫_0^1 x² cos(πmx) dx
double quadratic_cosine(int m) {
  if (m == 0) return 1.0 / 3;
  const double pm = std::numbers::pi * m;
  return 2 * (m % 2 == 0 ? 1 : -1) / (pm * pm);
}

std::unique_ptr<ReferenceSolution> make_allen_cahn(const TomlValue& settings,
                                                   const std::filesystem::path& cache_directory) {
  const auto options = options_from<AllenCahnOptions>("allen-cahn", settings);
  PeriodicProblem problem{.name = "allen-cahn",
                          .fields = {"u"},
                          .coordinates = {"x", "t"},
                          .accuracy =
                              "1e-10 for t >= 0.002; before that the kink of the initial data at x = ±1 is "
                              "resolved to 1e-4 (at t = 0) there, and to 2e-7 for |x| < 0.95"};
  problem.linear = [options](int k, int, int) {
    const double wave = std::numbers::pi * k;
    return Complex(options.reaction - options.diffusion * wave * wave);
  };
  problem.initial = [](int k, int, int) {
    return Complex((quadratic_cosine(k - 1) + quadratic_cosine(k + 1)) / 2);
  };
  problem.pointwise = [r = options.reaction](std::span<Complex> samples) {
    for (auto& z : samples) z = -r * z.real() * z.real() * z.real();
  };
  return make_periodic(problem, options, options::to_json(options), cache_directory);
}

}  // namespace

Maker allen_cahn_maker() { return {"allen-cahn", options::describe(AllenCahnOptions{}), make_allen_cahn}; }

}  // namespace lather::reference
