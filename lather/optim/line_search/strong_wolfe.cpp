#include "lather/optim/line_search/strong_wolfe.hpp"

#include <algorithm>
#include <cmath>

namespace lather::optim {

double cubic_minimizer(const LinePoint& p1, const LinePoint& p2, double low, double high) {
  const double d1 = p1.slope + p2.slope - 3 * (p1.f - p2.f) / (p1.t - p2.t);
  const double discriminant = d1 * d1 - p1.slope * p2.slope;
  if (!(discriminant >= 0)) return (low + high) / 2;
  const LinePoint& left = p1.t <= p2.t ? p1 : p2;
  const LinePoint& right = p1.t <= p2.t ? p2 : p1;
  const double d2 = std::sqrt(discriminant);
  const double minimizer =
      right.t - (right.t - left.t) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2));
  return std::isnan(minimizer) ? (low + high) / 2 : std::min(std::max(minimizer, low), high);
}

namespace {

// Two points that bracket a minimizer; the lower one is known.
struct Bracket {
  LinePoint a, b;
  bool a_is_low;
  LinePoint& low() { return a_is_low ? a : b; }
  LinePoint& high() { return a_is_low ? b : a; }
  double left() const { return std::min(a.t, b.t); }
  double right() const { return std::max(a.t, b.t); }
  void sort() { a_is_low = a.f <= b.f; }
};

// Keeps a trial step a tenth of the bracket away from its ends: at once if it lies outside, on the second
// offence otherwise.
double safeguard(double t, const Bracket& bracket, bool& insufficient_progress) {
  const double left = bracket.left(), right = bracket.right(), margin = 0.1 * (right - left);
  if (std::min(right - t, t - left) >= margin) {
    insufficient_progress = false;
    return t;
  }
  if (!insufficient_progress && t < right && t > left) {
    insufficient_progress = true;
    return t;
  }
  insufficient_progress = false;
  return std::abs(t - right) < std::abs(t - left) ? right - margin : left + margin;
}

LineSearchResult finish(const LinePoint& start, LinePoint point, bool accepted) {
  LineSearchResult result;
  result.success = point.t > 0 && point.finite() && (accepted || point.f < start.f);
  if (!result.success) result.message = "strong Wolfe search found no lower point";
  result.point = std::move(point);
  return result;
}

}  // namespace

LineSearchResult strong_wolfe(Ray& ray, const LinePoint& start, double first,
                              const StrongWolfeOptions& options) {
  const WolfeConditions& wolfe = options.wolfe;
  LinePoint previous = start, current = ray.finite_at(first, 0);
  int iteration = 0;
  bool bracketed = false;

  // Bracketing: walk outwards until a minimizer must lie behind us.
  for (; iteration < options.max_iterations; ++iteration) {
    if (wolfe.approximately(start, current)) return finish(start, std::move(current), true);
    if (!wolfe.decrease(start, current) || (iteration > 1 && current.f >= previous.f)) {
      bracketed = true;
      break;
    }
    if (wolfe.curvature(start, current)) return finish(start, std::move(current), true);
    if (current.slope >= 0) {
      bracketed = true;
      break;
    }
    const double t =
        cubic_minimizer(previous, current, current.t + 0.01 * (current.t - previous.t), 10 * current.t);
    const double reached = current.t;
    previous = std::move(current);
    current = ray.finite_at(t, reached);
  }
  Bracket bracket{bracketed ? previous : start, std::move(current), true};
  bracket.sort();

  // Zoom: shrink the bracket around an acceptable point.
  bool insufficient_progress = false;
  while (iteration < options.max_iterations) {
    if ((bracket.right() - bracket.left()) * ray.direction_max() < options.bracket_tolerance) break;
    if (std::nextafter(bracket.left(), bracket.right()) >= bracket.right()) break;  // no number in between
    double t = cubic_minimizer(bracket.a, bracket.b, bracket.left(), bracket.right());
    t = safeguard(t, bracket, insufficient_progress);
    LinePoint trial = ray.finite_at(t, bracket.low().t);
    ++iteration;
    if (wolfe.approximately(start, trial)) return finish(start, std::move(trial), true);
    if (!wolfe.decrease(start, trial) || trial.f >= bracket.low().f) {
      bracket.high() = std::move(trial);
      bracket.sort();
      continue;
    }
    if (wolfe.curvature(start, trial)) return finish(start, std::move(trial), true);
    if (trial.slope * (bracket.high().t - bracket.low().t) >= 0) bracket.high() = std::move(bracket.low());
    bracket.low() = std::move(trial);
  }
  return finish(start, std::move(bracket.low()), false);
}

}  // namespace lather::optim
