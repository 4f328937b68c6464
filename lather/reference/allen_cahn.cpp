// u_t = 1e-4 u_xx + 5u - 5u³ on the periodic interval [-1,1], u(x,0) = x² cos πx.
// The periodic extension of the initial data has a kink at x = ±1 (u_x jumps by 4), so its coefficients decay
// only like 1/k²: they are taken from the closed form, not from samples, and the first time segments are
// short. The discarded modes make up the tip of the kink, where u = -1; they decay as in the linearized
// equation and are added until they have decayed.
#include <cmath>
#include <complex>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "lather/core/interrupt.hpp"
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

// The part of u(x, 0) = Σ a_k cos πkx beyond the kept modes, followed in time.
class KinkTip {
 public:
  explicit KinkTip(const AllenCahnOptions& options)
      : first_(static_cast<int>(options.modes / 2)),
        decay_(2 * options.reaction),
        diffusion_(options.diffusion * std::numbers::pi * std::numbers::pi) {}

  // The time until which it is worth adding.
  double end() const { return kDecayed / (diffusion_ * first_ * first_); }

  // Its derivative of the given orders in x and t, at one time t > 0.
  class AtTime {
   public:
    AtTime(const KinkTip& tip, int in_x, int in_t, double t) : first_(tip.first_), in_x_(in_x) {
      constexpr int kMost = 1 << 20;  // enough for t > 4e-8; before that it is off by 1e-7 at x = ±1
      const int last = static_cast<int>(std::min<double>(kMost, std::sqrt(kDecayed / (tip.diffusion_ * t))));
      for (int k = first_; k <= last; ++k) {
        const double rate = -tip.decay_ - tip.diffusion_ * k * k;
        amplitudes_.push_back((quadratic_cosine(k - 1) + quadratic_cosine(k + 1)) *
                              std::pow(std::numbers::pi * k, in_x) * std::pow(rate, in_t) *
                              std::exp(rate * t));
      }
    }
    // Σ amplitude_k d^in_x/d(πkx)^in_x cos πkx, the waves computed by rotation.
    double operator()(double x) const {
      const double begin = std::numbers::pi * (std::remainder(first_ * x, 2) + 0.5 * in_x_);
      const double turn_cos = std::cos(std::numbers::pi * x), turn_sin = std::sin(std::numbers::pi * x);
      double cosine = std::cos(begin), sine = std::sin(begin), sum = 0;
      for (const double amplitude : amplitudes_) {
        sum += amplitude * cosine;
        const double next = cosine * turn_cos - sine * turn_sin;
        sine = sine * turn_cos + cosine * turn_sin;
        cosine = next;
      }
      return sum;
    }

   private:
    int first_, in_x_;
    std::vector<double> amplitudes_;
  };

 private:
  static constexpr double kDecayed = 40;  // exponents beyond this count as decayed
  int first_;
  double decay_, diffusion_;
};

class AllenCahnSolution final : public ReferenceSolution {
 public:
  AllenCahnSolution(const AllenCahnOptions& options, std::unique_ptr<ReferenceSolution> kept_modes)
      : options_(options), kept_(std::move(kept_modes)), tip_(options) {
    provenance = kept_->provenance;
  }
  std::vector<std::string> fields() const override { return kept_->fields(); }
  std::vector<std::string> coordinates() const override { return kept_->coordinates(); }
  std::vector<Interval> domain() const override { return kept_->domain(); }
  int highest_order() const override { return kept_->highest_order(); }
  std::string accuracy() const override { return kept_->accuracy(); }
  nlohmann::json settings() const override { return kept_->settings(); }

 protected:
  void evaluate_checked(std::span<const double> points, std::size_t count, int field,
                        std::span<const int> orders, std::span<double> out) const override {
    kept_->evaluate(points, count, field, orders, out);
    std::map<double, std::vector<std::size_t>> with_tip;  // by time, which points of a grid share
    for (std::size_t i = 0; i < count; ++i) {
      const double x = points[2 * i], t = points[2 * i + 1];
      if (t > 0 && t < tip_.end())
        with_tip[t].push_back(i);
      else if (t <= 0 && orders[0] + orders[1] <= 1)
        out[i] = at_start(orders[0], orders[1], x);
    }
    for (const auto& [t, members] : with_tip) {
      poll_stop();
      const KinkTip::AtTime tip(tip_, orders[0], orders[1], t);
      for (const std::size_t i : members) out[i] += tip(points[2 * i]);
    }
  }

 private:
  // u, u_x or u_t at t = 0; at the kink, u_x is the mean of both sides and u_t omits the infinite part.
  double at_start(int in_x, int in_t, double x) const {
    const double p = std::numbers::pi, c = std::cos(p * x), s = std::sin(p * x), u = x * x * c;
    if (in_x == 1) return std::abs(x) < 1 ? 2 * x * c - p * x * x * s : 0;
    if (in_t == 0) return u;
    return options_.diffusion * ((2 - p * p * x * x) * c - 4 * p * x * s) +
           options_.reaction * (u - u * u * u);
  }

  AllenCahnOptions options_;
  std::unique_ptr<ReferenceSolution> kept_;
  KinkTip tip_;
};

std::unique_ptr<ReferenceSolution> make_allen_cahn(const TomlValue& settings,
                                                   const std::filesystem::path& cache_directory) {
  const auto options = options_from<AllenCahnOptions>("allen-cahn", settings);
  PeriodicProblem problem{.name = "allen-cahn",
                          .fields = {"u"},
                          .coordinates = {"x", "t"},
                          .accuracy = "1e-10; for t < 1e-7, 1e-7 at x = ±1"};
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
  return std::make_unique<AllenCahnSolution>(
      options, make_periodic(problem, options, options::to_json(options), cache_directory));
}

}  // namespace

Maker allen_cahn_maker() { return {"allen-cahn", options::describe(AllenCahnOptions{}), make_allen_cahn}; }

}  // namespace lather::reference
