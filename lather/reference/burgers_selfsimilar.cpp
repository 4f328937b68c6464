// Self-similar inviscid Burgers: -lambda U + ((1+lambda) y + U) U_y = 0, U odd, U'(0) = -1. The profile is
// implicit,
//
//   y = -U - C sgn(U) |U|^m,  m = 1 + 1/lambda,
//
// one for every C > 0 (the scaling symmetry). In y = sinh z and for lambda = 1/2, U = -z + (C - 1/6) z³ + …:
// the constraint U = -z + z³ + z⁴ U_1 means C = 7/6.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/reference/registry.hpp"

namespace lather::reference {
namespace {

enum class Coordinate { z, y };

struct ProfileOptions {
  double lambda = 0.5, C = 7.0 / 6;
  Coordinate coordinate = Coordinate::z;
  void fields(FieldVisitor& v) {
    v.real("lambda", lambda, "exponent; smooth profiles have 1/(2k)",
           Range{.low = 0, .high = 1, .low_open = true});
    v.real("C", C, "scale of the profile; c3 = C - 1/6 may be given instead", positive());
    v.choice("coordinate", coordinate, "z with y = sinh z, or y itself",
             {{"z", Coordinate::z}, {"y", Coordinate::y}});
  }
};

struct CubicTerm {  // the other way to specify the scale, for lambda = 1/2
  double c3 = 1;
  void fields(FieldVisitor& v) {
    v.real("c3", c3, "coefficient of z³ in U", Range{.low = -1.0 / 6, .low_open = true});
  }
};

class Profile final : public ReferenceSolution {
 public:
  explicit Profile(const ProfileOptions& options) : options_(options) {}
  std::vector<std::string> fields() const override { return {"U"}; }
  std::vector<std::string> coordinates() const override { return {in_z() ? "z" : "y"}; }
  std::vector<Interval> domain() const override {
    const double reach = in_z() ? 300 : 1e100;
    return {{-reach, reach}};
  }
  int highest_order() const override { return 2; }
  std::map<std::string, double> unknowns() const override { return {{"lambda", options_.lambda}}; }
  std::string accuracy() const override { return "implicit profile by Newton's method: relative 1e-15"; }
  nlohmann::json settings() const override { return options::to_json(options_); }

 protected:
  void evaluate_checked(std::span<const double> points, std::size_t count, int, std::span<const int> orders,
                        std::span<double> out) const override {
    for (std::size_t i = 0; i < count; ++i) {
      const double z = points[i], y = in_z() ? std::sinh(z) : z;
      const double y_z = in_z() ? std::cosh(z) : 1, y_zz = in_z() ? y : 0;
      const double v = magnitude(std::abs(y)), m = 1 + 1 / options_.lambda, C = options_.C;
      const double F1 = 1 + C * m * std::pow(v, m - 1),
                   F2 = C * m * (m - 1) * std::pow(v, m - 2);  // of F(v) = v + C v^m = |y|
      const double sign = y < 0 ? -1 : 1, U_y = -1 / F1;
      switch (orders[0]) {
        case 0: out[i] = -sign * v; break;
        case 1: out[i] = U_y * y_z; break;
        default: out[i] = sign * (F2 / F1) * (y_z / F1) * (y_z / F1) + U_y * y_zz;
      }
    }
  }

 private:
  bool in_z() const { return options_.coordinate == Coordinate::z; }

  // The root of v + C v^m = y: convex and increasing, so Newton's method converges monotonically from above.
  double magnitude(double y) const {
    const double m = 1 + 1 / options_.lambda, C = options_.C;
    double v = std::min(y, std::pow(y / C, 1 / m));
    for (int i = 0; i < 100; ++i) {
      const double power = C * std::pow(v, m - 1);
      const double next = v - (v * (1 + power) - y) / (1 + m * power);
      if (!(next < v)) break;
      v = next;
    }
    return v;
  }

  ProfileOptions options_;
};

}  // namespace

Maker burgers_selfsimilar_maker() {
  return {"burgers-selfsimilar", options::describe(ProfileOptions{}),
          [](const TomlValue& given, const std::filesystem::path&) {
            TomlValue settings = given;
            for (TomlEntry& entry : settings.entries) {
              if (entry.key != "c3") continue;
              if (given.find("C"))
                throw Error("reference burgers-selfsimilar: give C or c3 = C - 1/6, not both");
              const auto term =
                  options_from<CubicTerm>("burgers-selfsimilar", make_table({entry}, entry.where));
              entry.key = "C";
              entry.value.kind = TomlValue::Kind::real;
              entry.value.real = term.c3 + 1.0 / 6;
            }
            return make_closed_form<Profile, ProfileOptions>("burgers-selfsimilar", settings);
          }};
}

}  // namespace lather::reference
