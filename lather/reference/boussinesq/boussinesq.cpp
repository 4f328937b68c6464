// The self-similar Boussinesq profile as a reference: in compact coordinates (fields w, h, c of q, eta), in
// the even ones of the problem file (w, h, c of z, eta, with another envelope; docs/boussinesq.md), in the
// physical half plane (Omega, U1, U2, Phi, Psi, Theta of y1, y2), or in z with y_i = sinh z_i.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "lather/core/interrupt.hpp"
#include "lather/reference/boussinesq/fields.hpp"
#include "lather/reference/cache.hpp"
#include "lather/reference/numerics/dense_newton.hpp"
#include "lather/reference/registry.hpp"

namespace lather::reference {
namespace {

constexpr int kBoussinesqVersion = 2;

constexpr double kLargestZ = 0.999999;  // d xi/dz is infinite at z = 1, which corresponds to infinity

enum class Chart { compact, even, physical, sinh };

struct BoussinesqOptions {
  std::int64_t q_points = 72, eta_points = 40;
  Chart chart = Chart::compact;
  double stretch = 0.3424;
  void fields(FieldVisitor& v) {
    v.integer("q_points", q_points, "Chebyshev points in q, less one", between(16, 96));
    v.integer("eta_points", eta_points, "Chebyshev points in the stretched eta, less one", between(16, 96));
    v.choice(
        "chart", chart,
        "w, h, c of (q, eta); w, h, c of (z, eta) with the even envelope; Omega, U1, U2, Phi, Psi, Theta of "
        "(y1, y2); the same of (z1, z2), y = sinh z",
        {{"compact", Chart::compact},
         {"even", Chart::even},
         {"physical", Chart::physical},
         {"sinh", Chart::sinh}});
    v.real("stretch", stretch, "alpha0 of the even chart: xi = log((1 + z)/(1 - z))/alpha0", positive());
  }
};

class Boussinesq final : public ReferenceSolution {
 public:
  Boussinesq(const BoussinesqOptions& options, const BoussinesqProfile& profile)
      : options_(options), fields_(profile) {}

  std::vector<std::string> fields() const override {
    if (in_strip()) return {"w", "h", "c"};
    return {"Omega", "U1", "U2", "Phi", "Psi", "Theta"};
  }
  std::vector<std::string> coordinates() const override {
    if (options_.chart == Chart::compact) return {"q", "eta"};
    if (options_.chart == Chart::even) return {"z", "eta"};
    if (options_.chart == Chart::physical) return {"y1", "y2"};
    return {"z1", "z2"};
  }
  std::vector<Interval> domain() const override {
    if (in_strip()) return {{0, options_.chart == Chart::even ? kLargestZ : 1}, {0, std::acos(0.0)}};
    const double reach = options_.chart == Chart::physical ? 1e40 : 90;
    return {{-reach, reach}, {0, reach}};
  }
  int highest_order() const override {
    return options_.chart == Chart::compact ? BoussinesqFields::kHighestOrder : 2;
  }
  std::map<std::string, double> unknowns() const override { return {{"lambda", fields_.lambda()}}; }
  std::string accuracy() const override {
    return "lambda 1e-10; fields 1e-9 relative, up to a distance of 2e12 from the origin";
  }
  nlohmann::json settings() const override { return options::to_json(options_); }

 protected:
  void evaluate_checked(std::span<const double> points, std::size_t count, int field,
                        std::span<const int> orders, std::span<double> out) const override {
    for (std::size_t i = 0; i < count; ++i) {
      poll_stop();
      const double x1 = points[2 * i], x2 = points[2 * i + 1];
      const auto physical = static_cast<BoussinesqFields::Physical>(field);
      switch (options_.chart) {
        case Chart::compact:
          out[i] =
              fields_.compact(static_cast<BoussinesqFields::Compact>(field), orders[0], orders[1], x1, x2);
          break;
        case Chart::even:
          out[i] = fields_.even(static_cast<BoussinesqFields::Compact>(field), orders[0], orders[1], x1, x2,
                                options_.stretch);
          break;
        case Chart::physical:
          out[i] = fields_.physical(physical, orders[0], orders[1], x1, std::max(0.0, x2));
          break;
        case Chart::sinh: out[i] = in_z(physical, orders, x1, std::max(0.0, x2)); break;
      }
    }
  }

 private:
  bool in_strip() const { return options_.chart == Chart::compact || options_.chart == Chart::even; }

  // d/dz = cosh z d/dy, d²/dz² = cosh² z d²/dy² + sinh z d/dy
  double in_z(BoussinesqFields::Physical field, std::span<const int> orders, double z1, double z2) const {
    const double y[2] = {std::sinh(z1), std::sinh(z2)}, stretch[2] = {std::cosh(z1), std::cosh(z2)};
    double sum = 0;
    for (int a = 0; a <= orders[0]; ++a)
      for (int b = 0; b <= orders[1]; ++b) {
        const int part[2] = {a, b};
        double factor = 1;
        for (int k = 0; k < 2; ++k) {
          if (part[k] == orders[k])
            factor *= std::pow(stretch[k], orders[k]);
          else
            factor *= part[k] == 1 && orders[k] == 2 ? y[k] : 0;
        }
        if (factor != 0) sum += factor * fields_.physical(field, a, b, y[0], y[1]);
      }
    return sum;
  }

  BoussinesqOptions options_;
  BoussinesqFields fields_;
};

std::unique_ptr<ReferenceSolution> make_boussinesq(const TomlValue& settings,
                                                   const std::filesystem::path& cache_directory) {
  const auto options = options_from<BoussinesqOptions>("boussinesq", settings);
  const int Nq = static_cast<int>(options.q_points), Ne = static_cast<int>(options.eta_points);
  const std::size_t n = static_cast<std::size_t>(Nq + 1) * (Ne + 1);
  std::vector<double> pairs(2 * (3 * n + 1));
  const auto key_settings =
      nlohmann::json{{"q_points", Nq}, {"eta_points", Ne}};  // one file serves every chart
  const std::string provenance = load_or_compute(
      cache_directory, {"boussinesq", kBoussinesqVersion, key_settings.dump()},
      [&](StateVisitor& v) { v.array("profile", std::span<double>(pairs)); },
      [&] {
        const auto solved = solve_boussinesq(Nq, Ne);
        std::vector<long double> all;
        for (const auto* field : {&solved.w, &solved.h, &solved.c})
          all.insert(all.end(), field->data.begin(), field->data.end());
        all.push_back(solved.lambda);
        pairs = split_pairs(all);
      });
  const auto all = join_pairs(pairs);
  BoussinesqProfile profile{Nq, Ne, all.back(), {}, {}, {}};
  std::size_t f = 0;
  for (auto* field : {&profile.w, &profile.h, &profile.c}) {
    *field = Table<long double>(Nq + 1, Ne + 1);
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(f++ * n), n, field->data.begin());
  }
  auto reference = std::make_unique<Boussinesq>(options, profile);
  reference->provenance = provenance;
  return reference;
}

}  // namespace

Maker boussinesq_maker() { return {"boussinesq", options::describe(BoussinesqOptions{}), make_boussinesq}; }

}  // namespace lather::reference
