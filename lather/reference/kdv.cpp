// u_t + u u_x + 0.022² u_xxx = 0 on the periodic interval [-1,1], u(x,0) = cos πx (Zabusky & Kruskal 1965).
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "lather/reference/periodic.hpp"
#include "lather/reference/registry.hpp"

namespace lather::reference {
namespace {

struct KdvOptions : SpectralOptions {
  double dispersion = 0.022 * 0.022;
  KdvOptions() { modes = 768, steps = 12800, tolerance = 1e-13; }
  void fields(FieldVisitor& v) {
    SpectralOptions::fields(v);
    v.real("dispersion", dispersion, "coefficient of u_xxx", positive());
  }
};

std::unique_ptr<ReferenceSolution> make_kdv(const TomlValue& settings,
                                            const std::filesystem::path& cache_directory) {
  const auto options = options_from<KdvOptions>("kdv", settings);
  PeriodicProblem problem{.name = "kdv", .fields = {"u"}, .coordinates = {"x", "t"}, .accuracy = "1e-13"};
  problem.linear = [options](int k, int, int) {
    return Complex(0, options.dispersion * std::pow(std::numbers::pi * k, 3));
  };
  problem.initial = [](int k, int, int) { return Complex(k == 1 ? 0.5 : 0); };
  // u u_x = (u²/2)_x; products alias only above two thirds of the spectrum.
  problem.mask = [n = options.modes](int k, int) { return 3 * k < n ? 1.0 : 0.0; };
  problem.factor = [](int k, int) { return Complex(0, -0.5 * std::numbers::pi * k); };
  problem.pointwise = [](std::span<Complex> samples) {
    for (auto& z : samples) z = z.real() * z.real();
  };
  return make_periodic(problem, options, options::to_json(options), cache_directory);
}

}  // namespace

Maker kdv_maker() { return {"kdv", options::describe(KdvOptions{}), make_kdv}; }

}  // namespace lather::reference
