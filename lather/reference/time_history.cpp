// Integration in adaptive Chebyshev segments; see periodic.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lather/core/error.hpp"
#include "lather/reference/numerics/chebyshev.hpp"
#include "lather/reference/periodic.hpp"

namespace lather::reference {
namespace {

class Integrator {
 public:
  Integrator(const PeriodicProblem& problem, const SpectralOptions& options)
      : problem_(problem),
        options_(options),
        team_(problem.coordinates.size() == 3 ? available_cores() : 1),  // a line is too short to share
        transform_(static_cast<int>(problem.coordinates.size()) - 1, static_cast<int>(options.modes), team_),
        half_(transform_.half_size()),
        state_(half_ * problem.fields.size()),
        factor_(half_),
        samples_(transform_.point_count()),
        coefficients_(chebyshev_coefficient_matrix<double>(static_cast<int>(options.degree))) {
    std::vector<Complex> L(state_.size());
    const int K = transform_.modes() / 2;
    for (std::size_t i = 0; i < half_; ++i) {
      const auto k = transform_.wave_number(i);
      const bool nyquist = std::abs(k.x) == K || k.y == K;
      factor_[i] = nyquist ? 0
                           : (problem.factor ? problem.factor(k.x, k.y) : 1) *
                                 (problem.mask ? problem.mask(k.x, k.y) : 1);
      for (std::size_t f = 0; f < problem.fields.size(); ++f) {
        L[f * half_ + i] = problem.linear(k.x, k.y, static_cast<int>(f));
        state_[f * half_ + i] = nyquist ? Complex(0) : problem.initial(k.x, k.y, static_cast<int>(f));
      }
    }
    stepper_ = std::make_unique<Etdrk4>(
        L, [this](std::span<const Complex> v, std::span<Complex> out) { nonlinear(v, out); }, team_);
  }

  TimeHistory run() {
    TimeHistory history;
    history.breaks.push_back(0);
    append(history, state_);
    const double T = problem_.end_time;
    double t = 0, length = T / 8;
    while (t < T) {
      const bool last = t + length * (1 + 1e-9) >= T;
      const double end = last ? T : t + length;
      const double error = segment(t, end);
      if (!std::isfinite(error) || error > options_.tolerance) {
        length = (end - t) / (error < 1e3 * options_.tolerance ? std::numbers::sqrt2 : 2);
        if (length < 1e-10 * T)
          throw Error(fmt::format(
              "reference {}: the solution cannot be followed beyond t = {} to a tolerance of {} (error {})",
              problem_.name, t, options_.tolerance, error));
        continue;
      }
      history.breaks.push_back(end);
      for (const auto& node : nodes_) append(history, node);
      state_ = nodes_.back();
      t = end;
      // The last coefficient falls like length^degree.
      const double room =
          std::pow(options_.tolerance / std::max(error, 1e-300), 1.0 / static_cast<double>(options_.degree));
      if (room > 2.5)
        length *= 2;
      else if (room > 1.7)
        length *= std::numbers::sqrt2;
    }
    return history;
  }

 private:
  void nonlinear(std::span<const Complex> v, std::span<Complex> out) {
    const bool two = problem_.fields.size() == 2;
    transform_.to_samples(v.first(half_), two ? v.subspan(half_) : std::span<const Complex>(), samples_);
    team_.run([&](int thread) {
      const auto [begin, end] = share_of(samples_.size(), thread, team_.size());
      problem_.pointwise(std::span(samples_).subspan(begin, end - begin));
    });
    transform_.to_spectra(samples_, out.first(half_), two ? out.subspan(half_) : std::span<Complex>());
    for (std::size_t f = 0; f < problem_.fields.size(); ++f)
      for (std::size_t i = 0; i < half_; ++i) out[f * half_ + i] *= factor_[i];
  }

  // Fills nodes_ with the states at nodes 1 … degree of [begin, end]; returns the size of the last two
  // coefficients in time.
  double segment(double begin, double end) {
    const auto degree = static_cast<int>(options_.degree);
    const double length = end - begin;
    auto v = state_;
    nodes_.clear();
    for (int j = 1; j <= degree; ++j) {
      const int mirrored = std::min(j, degree + 1 - j);  // bitwise equal gaps share their ETD weights
      const double gap = length * std::sin(std::numbers::pi * (2 * mirrored - 1) / (2 * degree)) *
                         std::sin(std::numbers::pi / (2 * degree));
      const auto steps = static_cast<int>(std::ceil(gap / length * static_cast<double>(options_.steps)));
      for (int i = 0; i < steps; ++i) stepper_->step(gap / steps, v);
      nodes_.push_back(v);
    }
    double largest = 0;
    for (const int k : {degree - 1, degree}) {
      double sum = 0;
      for (std::size_t i = 0; i < v.size(); ++i) {
        Complex a = coefficients_(k, 0) * Complex(state_[i]);
        for (int j = 1; j <= degree; ++j) a += coefficients_(k, j) * Complex(nodes_[j - 1][i]);
        sum += std::norm(a);
      }
      largest = std::max(largest, std::sqrt(2 * sum));
    }
    return largest;
  }

  static void append(TimeHistory& history, const std::vector<WideComplex>& state) {
    for (const auto& z : state)
      for (const long double part : {z.real(), z.imag()})
        history.snapshots.push_back(static_cast<double>(part));
  }

  const PeriodicProblem& problem_;
  SpectralOptions options_;
  ThreadTeam team_;
  RealTransform transform_;
  std::size_t half_;
  std::vector<WideComplex> state_;
  std::vector<Complex> factor_, samples_;
  Table<double> coefficients_;
  std::unique_ptr<Etdrk4> stepper_;
  std::vector<std::vector<WideComplex>> nodes_;
};

}  // namespace

TimeHistory integrate(const PeriodicProblem& problem, const SpectralOptions& options) {
  return Integrator(problem, options).run();
}

}  // namespace lather::reference
