#include "lather/optim/line_search/line_search.hpp"

#include <cmath>

#include "lather/optim/deterministic_sums.hpp"

namespace lather::optim {

bool LinePoint::finite() const { return std::isfinite(f) && std::isfinite(slope); }

Ray::Ray(Objective& objective, std::span<const double> origin, std::span<const double> direction)
    : objective_(objective),
      origin_(origin),
      direction_(direction),
      trial_(origin.size()),
      direction_max_(largest_magnitude(direction)) {}

LinePoint Ray::at(double t) {
  for (std::size_t i = 0; i < trial_.size(); ++i) trial_[i] = origin_[i] + t * direction_[i];
  LinePoint point{.t = t, .gradient = std::vector<double>(trial_.size())};
  point.f = objective_.value_and_gradient(trial_, point.gradient);
  point.slope = dot(point.gradient, direction_);
  ++evaluations_;
  return point;
}

LinePoint Ray::finite_at(double t, double t_low) {
  LinePoint point = at(t);
  for (int halvings = 0; !point.finite() && halvings < 60; ++halvings) {
    t = t_low + (t - t_low) / 2;
    point = at(t);
  }
  return point;
}

void WolfeConditions::fields(FieldVisitor& v) {
  v.real("c1", c1, "sufficient decrease of the line search",
         {.low = 0, .high = 1, .low_open = true, .high_open = true});
  v.real("c2", c2, "curvature condition of the line search",
         {.low = 0, .high = 1, .low_open = true, .high_open = true});
  v.real("approximate_wolfe", approximate,
         "relative change of the loss below which decrease is judged by slopes (Hager-Zhang); 0: never",
         non_negative());
}

bool WolfeConditions::curvature(const LinePoint& start, const LinePoint& p) const {
  return std::abs(p.slope) <= -c2 * start.slope;
}

bool WolfeConditions::approximately(const LinePoint& start, const LinePoint& p) const {
  return approximate > 0 && p.t > 0 && std::abs(p.f - start.f) <= approximate * std::abs(start.f) &&
         p.slope <= (2 * c1 - 1) * start.slope && p.slope >= c2 * start.slope;
}

}  // namespace lather::optim
