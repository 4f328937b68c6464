#pragma once
// What every line search shares: the ray it walks along, the points on it, and the conditions a point must
// meet.
//
//   phi(t) = f(x + t d),   phi'(t) = g(x + t d) . d

#include <span>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/optim/objective.hpp"

namespace lather::optim {

struct LinePoint {
  double t = 0, f = 0, slope = 0;
  std::vector<double> gradient;
  bool finite() const;  // value and slope
};

class Ray {
 public:
  Ray(Objective& objective, std::span<const double> origin, std::span<const double> direction);

  LinePoint at(double t);
  // The first finite point among t, t_low + (t - t_low)/2, t_low + (t - t_low)/4, … (NaN and infinity mean:
  // too far). Gives up after 60 halvings and returns the last point as it is.
  LinePoint finite_at(double t, double t_low);

  double direction_max() const { return direction_max_; }  // max_i |d_i|
  int evaluations() const { return evaluations_; }

 private:
  Objective& objective_;
  std::span<const double> origin_, direction_;
  std::vector<double> trial_;
  double direction_max_;
  int evaluations_ = 0;
};

struct WolfeConditions {
  double c1 = 1e-4;  // sufficient decrease
  double c2 = 0.9;   // curvature
  // Approximate Wolfe conditions (Hager & Zhang 2005, eq. 4.1): once f changes by less than approximate * |f|
  // along the ray, decrease is read off the slope, which keeps its digits long after the difference of two
  // values has lost them. 0: off.
  double approximate = 0;
  void fields(FieldVisitor& v);

  bool decrease(const LinePoint& start, const LinePoint& p) const {
    return p.f <= start.f + c1 * p.t * start.slope;
  }
  bool curvature(const LinePoint& start, const LinePoint& p) const;
  bool approximately(const LinePoint& start, const LinePoint& p) const;
};

struct LineSearchResult {
  bool success = false;
  LinePoint point;      // where the search ended: acceptable if success; otherwise the best it has seen
  std::string message;  // why it failed
};

}  // namespace lather::optim
