// u_tt = c² u_xx on (0,1)², u = sin πx cos cπt + a sin 4πx cos 4cπt.
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "lather/reference/registry.hpp"

namespace lather::reference {
namespace {

struct WaveOptions {
  double speed = 2, amplitude = 0.5;
  void fields(FieldVisitor& v) {
    v.real("speed", speed, "speed c of the wave", positive());
    v.real("amplitude", amplitude, "amplitude a of the fourth mode");
  }
};

// The n-th derivative of sin at theta, and of cos.
double sine(double theta, int n) {
  switch (n % 4) {
    case 0: return std::sin(theta);
    case 1: return std::cos(theta);
    case 2: return -std::sin(theta);
    default: return -std::cos(theta);
  }
}
double cosine(double theta, int n) { return sine(theta, n + 1); }

class Wave final : public ReferenceSolution {
 public:
  explicit Wave(const WaveOptions& options) : options_(options) {}
  std::vector<std::string> fields() const override { return {"u"}; }
  std::vector<std::string> coordinates() const override { return {"x", "t"}; }
  std::vector<Interval> domain() const override { return {{0, 1}, {0, 1}}; }
  int highest_order() const override { return 8; }
  std::string accuracy() const override { return "closed form: rounding only (1e-15)"; }
  nlohmann::json settings() const override { return options::to_json(options_); }

 protected:
  void evaluate_checked(std::span<const double> points, std::size_t count, int, std::span<const int> orders,
                        std::span<double> out) const override {
    const double pi = std::numbers::pi;
    const auto mode = [&](double k, double x, double t) {
      const double w = options_.speed * k;
      return std::pow(k, orders[0]) * sine(k * x, orders[0]) * std::pow(w, orders[1]) *
             cosine(w * t, orders[1]);
    };
    for (std::size_t i = 0; i < count; ++i) {
      const double x = points[2 * i], t = points[2 * i + 1];
      out[i] = mode(pi, x, t) + options_.amplitude * mode(4 * pi, x, t);
    }
  }

 private:
  WaveOptions options_;
};

}  // namespace

Maker wave_maker() {
  return {"wave", options::describe(WaveOptions{}),
          [](const TomlValue& settings, const std::filesystem::path&) {
            return make_closed_form<Wave, WaveOptions>("wave", settings);
          }};
}

}  // namespace lather::reference
