// u_t + a u u_x + b u_xx + c u_xxxx = 0 on the periodic interval [0, 2π], u(x,0) = cos x (1 + sin x);
// a = 100/16, b = 100/16², c = 100/16⁴. Modes with k² < b/c = 256 grow, the fastest at the rate b²/4c = 25: a
// perturbation of 1e-16 may reach 1e-10 at t = 0.5 and more at t = 1.
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "lather/reference/periodic.hpp"
#include "lather/reference/registry.hpp"

namespace lather::reference {
namespace {

struct KuramotoSivashinskyOptions : ShorterOptions {
  double advection = 100.0 / 16, growth = 100.0 / 256, damping = 100.0 / 65536;
  KuramotoSivashinskyOptions() : ShorterOptions(512, 3200, 1e-13, 1) {}
  void fields(FieldVisitor& v) {
    ShorterOptions::fields(v);
    v.real("advection", advection, "coefficient of u u_x", positive());
    v.real("growth", growth, "coefficient of u_xx", positive());
    v.real("damping", damping, "coefficient of u_xxxx", positive());
  }
};

std::unique_ptr<ReferenceSolution> make_kuramoto_sivashinsky(const TomlValue& settings,
                                                             const std::filesystem::path& cache_directory) {
  const auto options = options_from<KuramotoSivashinskyOptions>("kuramoto-sivashinsky", settings);
  PeriodicProblem problem{.name = "kuramoto-sivashinsky",
                          .fields = {"u"},
                          .coordinates = {"x", "t"},
                          .accuracy = "1e-12 for t <= 0.5, 1e-10 up to t = 1",
                          .end_time = options.end_time,
                          .space = {0, 2 * std::numbers::pi}};
  problem.linear = [options](int k, int, int) {
    const double k2 = static_cast<double>(k) * k;
    return Complex(options.growth * k2 - options.damping * k2 * k2);
  };
  // cos x + sin(2x)/2 with x = π + π s: modes of s in [-1, 1] alternate in sign.
  problem.initial = [](int k, int, int) { return k == 1 ? Complex(-0.5) : Complex(0, k == 2 ? -0.25 : 0); };
  problem.mask = [n = options.modes](int k, int) { return 3 * k < n ? 1.0 : 0.0; };
  problem.factor = [a = options.advection](int k, int) { return Complex(0, -0.5 * a * k); };
  problem.pointwise = [](std::span<Complex> samples) {
    for (auto& z : samples) z = z.real() * z.real();
  };
  return make_periodic(problem, options, options::to_json(options), cache_directory);
}

}  // namespace

Maker kuramoto_sivashinsky_maker() {
  return {"kuramoto-sivashinsky", options::describe(KuramotoSivashinskyOptions{}), make_kuramoto_sivashinsky};
}

}  // namespace lather::reference
