#pragma once
// Where training points come from: a recipe's keys `points`, `sampling` and
// `focus`, and the source that follows them. All methods draw points with
// counter-based random numbers; adaptive ones depend on the network as well.
//
//   points = {interior = 4096, walls = 256}
//   sampling = {method = "adaptive", every = 1000}         # or just "sobol"
//   sampling = {method = "adaptive", every = 10, until = 4000}   # from step 4000 on the points stay
//   focus = [{share = 0.5, z = [0, 3]}, {share = 0.25, method = "uniform"}]
//   focus = [{share = 0.3, near = "hole", within = 0.05}]        # of shapes: a boundary layer

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/core/recurrence.hpp"
#include "lather/core/state.hpp"
#include "lather/geometry/shape.hpp"
#include "lather/pde/objective.hpp"
#include "lather/pde/sampling/point_plan.hpp"

namespace lather::pde {

struct SamplingOptions {
  SamplingMethod method = SamplingMethod::sobol;
  std::int64_t every = 0, until = 0;
  bool shift = true;
  std::int64_t candidates = 0;
  double exponent = 1, floor = 1;
  std::int64_t data_batch = 0, data_every = 1;
  double data_validation = 0.1;
  std::int64_t validation = 0;
  void fields(FieldVisitor& v);
};

// Points drawn in a box of their own, as given in a recipe.
struct FocusOptions {
  double share = 0;
  std::string points;                                    // the point set; empty: those of the interior
  std::optional<SamplingMethod> method;                  // default: that of `sampling`
  std::map<std::string, std::vector<double>> intervals;  // coordinate: low, high
  std::string near;   // the name of a shape; the points lie close to its boundary
  double within = 0;  // at most this far from it
  void fields(FieldVisitor& v);
};

// What a recipe says about points.
struct PointOptions {
  std::map<std::string, std::int64_t> points;  // by point set; sets left out get defaults
  SamplingOptions sampling;
  std::vector<FocusOptions> focus;
  void fields(FieldVisitor& v);
};

// The same for a problem.
struct Focus {
  double share = 0;  // of the points of `set`
  std::string set;   // empty: every interior set
  std::vector<Interval> box;
  std::optional<SamplingMethod> method;  // default: that of the settings
  geometry::ShapePtr near = nullptr;     // close to its boundary
  double within = 0;
  bool concerns(const PointSet& points) const {
    return set.empty() ? points.kind == PointSet::Kind::interior : set == points.name;
  }
};

struct SamplingSettings {
  SamplingOptions options;
  std::vector<std::size_t> counts;  // per point set; ignored for data
  std::vector<Focus> focus;         // shares of a set add up to at most 1; the rest is drawn over all of it
};

// If a recipe gives no number of points: kInteriorPoints, kBoundaryPoints per piece, 1 for a piece that is
// one point.
inline constexpr std::size_t kInteriorPoints = 4096, kBoundaryPoints = 128;
// So that 32 bits number them; what fits into memory is another matter (train/needs.hpp).
inline constexpr std::int64_t kMostPoints = 2'000'000'000;
// Throws Error for unknown names (with the nearest), bad values, boxes outside the domain, sets with fewer
// points than pieces.
SamplingSettings sampling_settings(const PointOptions& options, const Problem& problem);

// The pieces of a set that lie in a box; for the interior, one that is everywhere.
std::vector<Piece> pieces_in(const std::vector<Interval>& box, const PointSet& set);

// Consecutive points of a set: those of one box, or on one piece of a boundary.
struct PointPart {
  std::uint64_t index;  // of the part, for its random stream
  std::size_t first, count;
  SamplingMethod method;
  std::vector<Interval> box;
  Piece piece;
};
// `points` points of a set, those in the boxes of its focus first. A box's points are shared equally among
// the pieces of a boundary.
std::vector<PointPart> parts_of(const Problem& problem, int set, const std::vector<Focus>& focus,
                                SamplingMethod method, std::size_t points);

// Draws points when they are due and hands them to the objective.
//
// A set with several pieces gives each an equal share. Adaptive sampling is for interior sets only; it begins
// with the second draw, before which (and for candidates) the shifted Sobol' sequence is used. If several
// terms share a set, the residual of a candidate is sqrt(sum over terms of weight * residual^2) with the
// current weights. A share of the data rows is held out; the others are used as given, or in mini-batches: a
// new order in every pass, the last batch of a pass filled up from the next.
class PointSource {
 public:
  PointSource(const Problem& problem, const SamplingSettings& settings, std::uint64_t seed);

  // Draws at step 0 and whenever due; true if points changed. After reading a state the saved points are
  // installed, which does not count as a change.
  bool update(std::int64_t step, PinnObjective& objective, std::span<const double> x);
  // The first step after `step` at which points are drawn; kNever: they stay.
  std::int64_t next_change(std::int64_t step) const;
  // Whether an optimizer on the device may run past such steps: the points for its steps are drawn there.
  bool device_draws() const { return device_draws_; }

  // Held-out points of a set, never trained on: drawn from a stream of their own, spread evenly over its
  // pieces; for data, the rows that are held out, or all if none are.
  Points validation(int set) const;
  std::size_t held_out_rows(int set) const;  // of data; 0: none

  void state(StateVisitor& visitor);

 private:
  std::optional<PointPlan> plan() const;  // none if points are drawn rarely, or not by number alone
  Points draw(int set, std::uint64_t draw, PinnObjective& objective, std::span<const double> x) const;
  Points draw_adaptive(int set, const PointPart& part, std::uint64_t stream, PinnObjective& objective,
                       std::span<const double> x) const;
  Points draw_batch(int set, std::uint64_t batch) const;
  Points rows_of(int set, bool held_out) const;
  std::int64_t period(int set) const;

  Problem problem_;
  SamplingSettings settings_;
  std::uint64_t seed_;
  std::vector<std::vector<int>> terms_of_;
  std::vector<Points> points_;       // as installed
  std::vector<std::int64_t> drawn_;  // per set: at which step; -1: never
  bool installed_ = false, device_draws_ = false;
};

// All rows of a data set as points.
Points data_points(const Problem& problem, int set);

}  // namespace lather::pde
