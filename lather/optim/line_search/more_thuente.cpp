// Letters of the paper (section 4) and of MINPACK-2:
//   stx, fx, dx   best step so far, value and slope there
//   sty, fy, dy   the other end of the interval of uncertainty
//   stp, fp, dp   the current trial
//   brackt        whether a minimizer is bracketed
//   psi(t)        phi(t) - phi(0) - c1 phi'(0) t, the auxiliary function of stage 1

#include "lather/optim/line_search/more_thuente.hpp"

#include <algorithm>
#include <cmath>

namespace lather::optim {
namespace {

struct Knot {
  double st, f, d;
};

struct Interval {
  Knot x, y;
  bool brackt = false;
};

// gamma of the cubic through two knots, from its theta. Scaled against overflow.
double cubic_gamma(double theta, double d1, double d2, bool clamp) {
  const double s = std::max({std::abs(theta), std::abs(d1), std::abs(d2)});
  if (s == 0) return 0;
  const double radicand = (theta / s) * (theta / s) - (d1 / s) * (d2 / s);
  return s * std::sqrt(clamp ? std::max(0.0, radicand) : radicand);
}
double cubic_theta(const Knot& a, const Knot& b) { return 3 * (a.f - b.f) / (b.st - a.st) + a.d + b.d; }

// Case 1: a higher value. The minimizer is bracketed; cubic step if it is closer to stx, else between cubic
// and quadratic.
double step_higher_value(const Knot& x, const Knot& p) {
  const double theta = cubic_theta(x, p);
  const double gamma = (p.st < x.st ? -1 : 1) * cubic_gamma(theta, x.d, p.d, false);
  const double r = ((gamma - x.d) + theta) / (((gamma - x.d) + gamma) + p.d);
  const double cubic = x.st + r * (p.st - x.st);
  const double quadratic = x.st + ((x.d / ((x.f - p.f) / (p.st - x.st) + x.d)) / 2) * (p.st - x.st);
  return std::abs(cubic - x.st) <= std::abs(quadratic - x.st) ? cubic : cubic + (quadratic - cubic) / 2;
}

// Case 2: a lower value and slopes of opposite sign. Bracketed; the step farther from stp.
double step_opposite_slopes(const Knot& x, const Knot& p) {
  const double theta = cubic_theta(x, p);
  const double gamma = (p.st > x.st ? -1 : 1) * cubic_gamma(theta, x.d, p.d, false);
  const double r = ((gamma - p.d) + theta) / (((gamma - p.d) + gamma) + x.d);
  const double cubic = p.st + r * (x.st - p.st);
  const double secant = p.st + (p.d / (p.d - x.d)) * (x.st - p.st);
  return std::abs(cubic - p.st) > std::abs(secant - p.st) ? cubic : secant;
}

// Case 3: a lower value, slopes of the same sign, and the slope flattens.
double step_flattening(const Knot& x, const Knot& y, const Knot& p, bool brackt, double t_low,
                       double t_high) {
  const double theta = cubic_theta(x, p);
  const double gamma = (p.st > x.st ? -1 : 1) * cubic_gamma(theta, x.d, p.d, true);
  const double r = ((gamma - p.d) + theta) / ((gamma + (x.d - p.d)) + gamma);
  const double cubic = r < 0 && gamma != 0 ? p.st + r * (x.st - p.st) : (p.st > x.st ? t_high : t_low);
  const double secant = p.st + (p.d / (p.d - x.d)) * (x.st - p.st);
  const bool cubic_is_closer = std::abs(cubic - p.st) < std::abs(secant - p.st);
  if (brackt) {
    const double step = cubic_is_closer ? cubic : secant;
    const double limit = p.st + 0.66 * (y.st - p.st);
    return p.st > x.st ? std::min(limit, step) : std::max(limit, step);
  }
  const double step = std::abs(cubic - p.st) > std::abs(secant - p.st) ? cubic : secant;
  return std::clamp(step, t_low, t_high);
}

// Case 4: a lower value, slopes of the same sign, and the slope does not flatten.
double step_steep(const Knot& x, const Knot& y, const Knot& p, bool brackt, double t_low, double t_high) {
  if (!brackt) return p.st > x.st ? t_high : t_low;
  const double theta = cubic_theta(p, y);
  const double gamma = (p.st > y.st ? -1 : 1) * cubic_gamma(theta, y.d, p.d, false);
  const double r = ((gamma - p.d) + theta) / (((gamma - p.d) + gamma) + y.d);
  return p.st + r * (y.st - p.st);
}

// dcstep: the next trial, and the interval of uncertainty updated with the current trial.
double next_step(Interval& interval, const Knot& p, double t_low, double t_high) {
  auto& [x, y, brackt] = interval;
  const bool opposite = p.d * std::copysign(1.0, x.d) < 0;
  double step;
  if (p.f > x.f) {
    step = step_higher_value(x, p);
    brackt = true;
  } else if (opposite) {
    step = step_opposite_slopes(x, p);
    brackt = true;
  } else if (std::abs(p.d) < std::abs(x.d)) {
    step = step_flattening(x, y, p, brackt, t_low, t_high);
  } else {
    step = step_steep(x, y, p, brackt, t_low, t_high);
  }
  if (p.f > x.f) {
    y = p;
  } else {
    if (opposite) y = x;
    x = p;
  }
  return step;
}

// State between trial steps: the interval of uncertainty, its bounds, and the stage.
class Search {
 public:
  Search(const LinePoint& start, double first, const MoreThuenteOptions& options)
      : options_(options),
        g_test_(options.wolfe.c1 * start.slope),
        interval_{{0, start.f, start.slope}, {0, start.f, start.slope}},
        t_max_(options.t_max),
        stp_(std::clamp(first, options.t_min, t_max_)),
        width_(t_max_ - options.t_min),
        width_before_(2 * width_),
        t_high_(5 * stp_) {}

  double step() const { return stp_; }
  double best_step() const { return interval_.x.st; }
  void bound(double t) { t_max_ = stp_ = t; }  // NaN or infinity beyond this

  // Why the search cannot go on from a trial that was not accepted; empty: it can.
  const char* obstacle(const Knot& p, bool decrease) const {
    if (interval_.brackt && (stp_ <= t_low_ || stp_ >= t_high_)) return "rounding errors prevent progress";
    if (interval_.brackt && t_high_ - t_low_ <= options_.interval_tolerance * t_high_)
      return "the interval of uncertainty vanished";
    if (stp_ == t_max_ && decrease && p.d <= g_test_) return "the step reached its upper bound";
    if (stp_ == options_.t_min && (!decrease || p.d >= g_test_)) return "the step reached its lower bound";
    return "";
  }

  void take_in(const Knot& p, bool decrease) {
    if (stage1_ && decrease && p.d >= 0) stage1_ = false;
    if (stage1_ && p.f <= interval_.x.f && !decrease) {
      // Stage 1 works on psi instead of phi.
      const auto to_psi = [&](const Knot& k) { return Knot{k.st, k.f - k.st * g_test_, k.d - g_test_}; };
      const auto to_phi = [&](const Knot& k) { return Knot{k.st, k.f + k.st * g_test_, k.d + g_test_}; };
      Interval psi{to_psi(interval_.x), to_psi(interval_.y), interval_.brackt};
      stp_ = next_step(psi, to_psi(p), t_low_, t_high_);
      interval_ = {to_phi(psi.x), to_phi(psi.y), psi.brackt};
    } else {
      stp_ = next_step(interval_, p, t_low_, t_high_);
    }
    shrink();
  }

 private:
  // Bisects if the interval did not shrink enough, and sets the bounds of the next trial.
  void shrink() {
    const auto& [x, y, brackt] = interval_;
    const double length = std::abs(y.st - x.st);
    if (brackt) {
      if (length >= 0.66 * width_before_) stp_ = x.st + 0.5 * (y.st - x.st);
      width_before_ = width_;
      width_ = length;
      t_low_ = std::min(x.st, y.st);
      t_high_ = std::max(x.st, y.st);
    } else {
      t_low_ = stp_ + 1.1 * (stp_ - x.st);
      t_high_ = stp_ + 4 * (stp_ - x.st);
    }
    stp_ = std::clamp(stp_, options_.t_min, t_max_);
    if (std::isnan(stp_)) stp_ = x.st;
    if (brackt &&
        (stp_ <= t_low_ || stp_ >= t_high_ || t_high_ - t_low_ <= options_.interval_tolerance * t_high_))
      stp_ = x.st;
  }

  const MoreThuenteOptions& options_;
  double g_test_;
  Interval interval_;
  double t_max_, stp_, width_, width_before_, t_low_ = 0, t_high_;
  bool stage1_ = true;
};

}  // namespace

LineSearchResult more_thuente(Ray& ray, const LinePoint& start, double first,
                              const MoreThuenteOptions& options) {
  const WolfeConditions& wolfe = options.wolfe;
  Search search(start, first, options);
  LineSearchResult result;
  result.point = start;
  for (int iteration = 0; iteration < options.max_iterations; ++iteration) {
    LinePoint point = ray.finite_at(search.step(), search.best_step());
    if (point.t != search.step()) search.bound(point.t);
    const bool finite = point.finite(), decrease = finite && wolfe.decrease(start, point);
    const bool accepted = (decrease && wolfe.curvature(start, point)) || wolfe.approximately(start, point);
    const Knot p{search.step(), point.f, point.slope};
    if (finite && (accepted || point.f < result.point.f)) result.point = std::move(point);
    if (accepted) {
      result.success = true;
      return result;
    }
    result.message =
        finite ? search.obstacle(p, decrease) : "the loss is not finite along the search direction";
    if (!result.message.empty()) return result;
    search.take_in(p, decrease);
    if (search.step() <= 0) {
      result.message = "the step shrank to nothing";
      return result;
    }
  }
  result.message = "Moré–Thuente search ran out of iterations";
  return result;
}

}  // namespace lather::optim
