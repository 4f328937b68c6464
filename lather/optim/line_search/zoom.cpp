#include "lather/optim/line_search/zoom.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lather::optim {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Minimizer of the cubic through (a, fa, slope fpa), (b, fb), (c, fc); NaN if it has none.
double cubic_through_three(const LinePoint& a, const LinePoint& b, double c, double fc) {
  const double db = b.t - a.t, dc = c - a.t;
  const double denominator = (db * dc) * (db * dc) * (db - dc);
  const double rb = b.f - a.f - a.slope * db, rc = fc - a.f - a.slope * dc;
  const double A = (dc * dc * rb - db * db * rc) / denominator;
  const double B = (-dc * dc * dc * rb + db * db * db * rc) / denominator;
  return a.t + (-B + std::sqrt(B * B - 3 * A * a.slope)) / (3 * A);
}

// Minimizer of the parabola through (a, fa, slope fpa), (b, fb).
double parabola(const LinePoint& a, const LinePoint& b) {
  const double db = b.t - a.t;
  const double B = (b.f - a.f - a.slope * db) / (db * db);
  return a.t - a.slope / (2 * B);
}

bool well_inside(double t, double left, double right, double margin) {
  return std::isfinite(t) && t <= right - margin && t >= left + margin;
}

// `low` has the smaller value; `high` may lie on either side of it.
LineSearchResult zoom(Ray& ray, const LinePoint& start, LinePoint low, LinePoint high,
                      const ZoomOptions& options) {
  const WolfeConditions& wolfe = options.wolfe;
  double t_recent = 0, f_recent = start.f;
  LineSearchResult result;
  for (int i = 0; i <= options.max_zooms; ++i) {
    const double width = high.t - low.t;
    const double left = std::min(low.t, high.t), right = std::max(low.t, high.t);
    double t = i > 0 ? cubic_through_three(low, high, t_recent, f_recent) : kNone;
    if (!well_inside(t, left, right, 0.2 * width)) t = parabola(low, high);
    if (!well_inside(t, left, right, 0.1 * width)) t = low.t + 0.5 * width;
    LinePoint trial = ray.finite_at(t, low.t);
    if (wolfe.approximately(start, trial)) {
      result.success = true;
      result.point = std::move(trial);
      return result;
    }
    if (!wolfe.decrease(start, trial) || trial.f >= low.f) {
      t_recent = high.t;
      f_recent = high.f;
      high = std::move(trial);
      continue;
    }
    if (wolfe.curvature(start, trial)) {
      result.success = true;
      result.point = std::move(trial);
      return result;
    }
    if (trial.slope * (high.t - low.t) >= 0) {
      t_recent = high.t;
      f_recent = high.f;
      high = std::move(low);
    } else {
      t_recent = low.t;
      f_recent = low.f;
    }
    low = std::move(trial);
  }
  result.message = "zoom ran out of iterations";
  result.point = std::move(low);
  return result;
}

}  // namespace

LineSearchResult bracket_and_zoom(Ray& ray, const LinePoint& start, double first,
                                  const ZoomOptions& options) {
  const WolfeConditions& wolfe = options.wolfe;
  LinePoint previous = start, current = ray.finite_at(first, 0);
  for (int i = 0; i < options.max_doublings; ++i) {
    if (!current.finite()) break;
    if (wolfe.approximately(start, current)) return {true, std::move(current), ""};
    if (!wolfe.decrease(start, current) || (i > 0 && current.f >= previous.f))
      return zoom(ray, start, std::move(previous), std::move(current), options);
    if (wolfe.curvature(start, current)) return {true, std::move(current), ""};
    if (current.slope >= 0) return zoom(ray, start, std::move(current), std::move(previous), options);
    previous = std::move(current);
    current = ray.finite_at(2 * previous.t, previous.t);
  }
  LineSearchResult result;
  result.message = current.finite() ? "the loss falls without bound along the search direction"
                                    : "the loss is not finite along the search direction";
  result.point = std::move(previous);
  return result;
}

}  // namespace lather::optim
