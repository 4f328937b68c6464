#include "lather/report/draw/seed_curves.hpp"

#include <algorithm>
#include <cmath>

namespace lather::report {

namespace {

double place_of(const CurvePoint& point, PanelClock clock) {
  return clock == PanelClock::seconds ? point.seconds : point.step;
}

bool is_drawable(const CurvePoint& point, PanelClock clock) {
  return point.value >= 0 && std::isfinite(place_of(point, clock));
}

// At one step, of each curve that has it.
std::vector<CurvePoint> points_at(double step, const std::vector<const SeedCurve*>& curves) {
  std::vector<CurvePoint> points;
  for (const auto* curve : curves) {
    const auto at =
        std::lower_bound(curve->points.begin(), curve->points.end(), step,
                         [](const CurvePoint& point, double wanted) { return point.step < wanted; });
    if (at != curve->points.end() && at->step == step) points.push_back(*at);
  }
  return points;
}

void add_mean(PanelCurve& joined, const std::vector<CurvePoint>& points, PanelClock clock) {
  const double count = static_cast<double>(points.size());
  double sum = 0, low = points[0].value, high = low, place = 0;
  for (const auto& point : points) {
    sum += std::log(point.value);
    low = std::min(low, point.value), high = std::max(high, point.value);
    place += place_of(point, clock) / count;
  }
  joined.x.push_back(place);
  joined.value.push_back(std::exp(sum / count));
  if (points.size() > 1) joined.low.push_back(low), joined.high.push_back(high);
}

PanelCurve alone(const SeedCurve& seed, PanelClock clock, std::size_t method) {
  PanelCurve curve;
  curve.method = method;
  curve.cut = curve.diverged = seed.diverged;
  for (const auto& point : seed.points)
    if (is_drawable(point, clock)) {
      curve.x.push_back(place_of(point, clock));
      curve.value.push_back(point.value);
    }
  return curve;
}

}  // namespace

std::vector<PanelCurve> seeds_together(const std::vector<SeedCurve>& seeds, PanelClock clock,
                                       std::size_t method) {
  std::vector<const SeedCurve*> good;
  for (const auto& seed : seeds)
    if (!seed.diverged && !seed.points.empty()) good.push_back(&seed);
  std::vector<PanelCurve> curves(1);
  curves[0].method = method;
  for (const auto& point : good.empty() ? std::vector<CurvePoint>() : good[0]->points) {
    const auto points = points_at(point.step, good);
    if (points.size() == good.size() &&
        std::all_of(points.begin(), points.end(), [&](const auto& p) { return is_drawable(p, clock); }))
      add_mean(curves[0], points, clock);
  }
  for (const auto& seed : seeds)
    if (seed.diverged) curves.push_back(alone(seed, clock, method));
  return curves;
}

std::vector<PanelCurve> seeds_apart(const std::vector<SeedCurve>& seeds, PanelClock clock,
                                    std::size_t method) {
  std::vector<PanelCurve> curves;
  for (const auto& seed : seeds) curves.push_back(alone(seed, clock, method));
  return curves;
}

}  // namespace lather::report
