#pragma once
// Time windows: a sequence of problems on [t_i, t_{i+1}], each with a network of its own, started from where
// the last one ended.
//
//   TimeWindows windows(problem, {.count = 5});
//   for (int i = 0; i < windows.count(); ++i) {
//     // objective, x: of window i - 1
//     Problem part = i == 0 ? windows.first() : windows.next(i, *objective, x, points, seed);
//     … train …
//   }
//
// Hand-over. A condition at the initial time says r[u] = 0, for instance r = u - f(x) or r = u_t. In window i
// > 0 it says r[u] = r[v], with v the solution of window i - 1, at the time t_i where the windows meet: the
// values of r[v] at points of that face become data. For conditions linear in the state (all the usual ones)
// this is u = v, u_t = v_t, …, without having to know which quantities make up the state.
//
// Network inputs that are functions of time alone are rewritten so that the time of every window covers the
// time range of the whole problem: all windows see the same inputs, and weights may be carried over as a
// start. Inputs that combine time with other coordinates, such as x - c t or the width of a spreading layer,
// stay as they are. Conditions and data at other times go to the windows that contain them.

#include <cstdint>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/core/state.hpp"
#include "lather/pde/objective.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/train/stages/shares.hpp"

namespace lather::train {

struct WindowOptions {
  std::int64_t count = 1;
  std::string coordinate = "t";
  bool warm_start = true;
  std::int64_t points = 0;
  std::vector<double> edges{}, steps{};
  double warm_noise = 0;
  std::int64_t windows() const { return edges.empty() ? count : static_cast<std::int64_t>(edges.size()) - 1; }
  void fields(FieldVisitor& v) {
    v.integer("count", count, "number of windows of equal length", between(1, 1e4));
    v.reals("edges", edges, "times at which windows begin and end, instead of their number");
    v.reals("steps", steps, "shares of the steps (and of the time) for each window; default: equal ones");
    v.real("warm_noise", warm_noise,
           "this much of fresh initial weights is added to those of the last window", non_negative());
    v.text("coordinate", coordinate, "the coordinate that is the time");
    v.boolean("warm_start", warm_start,
              "begin a window with the weights of the last one instead of new ones");
    v.integer("points", points,
              "points at which a condition is handed over; 0: as many as the recipe gives it",
              non_negative());
  }
};

class TimeWindows {
 public:
  // Throws Error if there is no such coordinate, or (for more than one window) no condition at the initial
  // time, or one that also holds elsewhere.
  TimeWindows(const pde::Problem& problem, const WindowOptions& options);

  int count() const { return static_cast<int>(edges_.size()) - 1; }
  void halve(int window);
  // Where windows begin and end, and their shares, after one was halved.
  void state(StateVisitor& v);
  // The share of a window in the steps and the time.
  double share(int window) const { return share_of(shares_, window); }
  const WindowOptions& options() const { return options_; }
  int coordinate() const { return time_; }   // -1 for a single window
  pde::Interval interval(int window) const;  // with several windows only

  pde::Problem first() const { return part(0); }
  // Window i > 0, started from `previous`, the objective of window i - 1, at parameters x. `points`, those of
  // the whole problem, say at how many points and in which boxes an initial condition is handed over; `seed`
  // places them.
  pde::Problem next(int window, pde::PinnObjective& previous, std::span<const double> x,
                    const pde::SamplingSettings& points, std::uint64_t seed) const;
  // The same with data handed over before, one list of rows per initial set.
  pde::Problem restored(int window, const std::vector<std::vector<std::vector<double>>>& rows) const;

 private:
  pde::Problem part(int window) const;
  bool is_initial(const pde::PointSet& set) const;

  pde::Problem problem_;
  WindowOptions options_;
  int time_;
  std::vector<double> edges_{0, 0};  // never used for a single window
  std::vector<double> shares_;       // empty: equal ones
};

}  // namespace lather::train
