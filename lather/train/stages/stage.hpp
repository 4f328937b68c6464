#pragma once
// Training in stages: a plain run is one stage; continuation in a parameter (a Reynolds number) has one per
// value; time windows one per window; corrections one per network. A stage is a problem with its points, its
// weights, and metrics of what was reached.

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lather/core/state.hpp"
#include "lather/pde/objective.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/train/accuracy/accuracy.hpp"
#include "lather/train/accuracy/solution.hpp"
#include "lather/train/config.hpp"
#include "lather/train/stages/continuation.hpp"
#include "lather/train/stages/stage_control.hpp"
#include "lather/train/stages/windows.hpp"
#include "lather/train/weighting/weighting.hpp"

namespace lather::train {

// What was reached at one step.
struct Metrics {
  std::int64_t step = 0;
  // Square root of the sum over equations of the mean square residual at held-out points; over all terms if
  // there is no equation.
  double residual = 0;
  double loss = 0;           // the loss there, with the problem's own weights; used to choose the best step
  double training_loss = 0;  // the same at the points trained on
  std::vector<double> term_residuals;  // of each term separately
  std::vector<double> l2, h1;          // relative errors per field, NaN for those not known; empty if none is
  std::int64_t error_grid = 0;         // points along each coordinate of the grid the errors were taken on
  double worst_l2() const;             // of all known fields; NaN if none is
  double worst_h1() const;
  void state(StateVisitor& v);
};

class Stage {
 public:
  Stage(const pde::Problem& problem, const Config& config);

  pde::PinnObjective& objective() { return *objective_; }
  const pde::PinnObjective& objective() const { return *objective_; }
  std::shared_ptr<pde::PinnObjective> shared_objective() const { return objective_; }

  // Draws points and sets weights that are due after `step` steps; returns whether the objective is now a
  // different function. After a state was read, this passes its points and weights to the objective, which is
  // not a change.
  bool update(std::int64_t step, std::span<const double> x);
  // The first step after `step` at which update() may do something; kNever: at none.
  std::int64_t next_change(std::int64_t step) const {
    return std::min(points_.next_change(step), weighting_->next_change(step));
  }
  // The first step after `step` before which update() must be called. Weights of points go with the points.
  std::int64_t next_update(std::int64_t step) const {
    const std::int64_t weights = weighting_->next_change(step);
    return weights == kNever && points_.device_draws() ? kNever : next_change(step);
  }

  // Residuals and loss at held-out points, and the loss at the points trained on.
  Metrics measure(std::span<const double> x);
  std::size_t held_out_rows(int set) const { return points_.held_out_rows(set); }  // of data

  void state(StateVisitor& v);

 private:
  std::shared_ptr<pde::PinnObjective> objective_;
  pde::PointSource points_;
  std::unique_ptr<Weighting> weighting_;
};

// What a finished stage leaves behind.
struct FinishedStage {
  std::vector<double> parameters, frozen;
  StageEnd end = StageEnd::none;
  Verdict verdict = Verdict::open;
  double residual = 0;  // at held-out points, when it ended
  std::int64_t last_step = 0, steps = 0;
  double seconds = 0;
  void state(StateVisitor& v);
};

// Which stages a configuration has, and how long each takes.
class StagePlan {
 public:
  explicit StagePlan(const Config& config);
  int count() const;
  // The share of a stage, among itself and those to come, in the steps and the time.
  double weight(int stage) const;
  std::string name(int stage) const;  // "t in [0, 0.2]", "Re = 100"
  double warm_noise() const;
  // Halves a window, or the step to a value of the parameter: there is one more stage.
  bool can_halve(int stage) const { return in_windows() || (continuation_ && stage > 0); }
  void halve(int stage);
  bool is_between(int stage) const;  // a value of the parameter inserted by halving
  void state(StateVisitor& v);       // what halving changes
  bool in_windows() const { return windows_.count() > 1; }
  bool corrects(int stage) const { return stage > 0 && config_.training.corrections.count > 0; }
  bool other_parameter(int stage) const { return continuation_ && stage + 1 < count(); }
  // For a correction: the earlier networks become part of its objective, whose points must be set.
  void hand_over(const std::vector<FinishedStage>& finished, pde::PinnObjective& objective,
                 std::span<double> x) const;
  bool fresh_weights(int stage) const;  // or those of the previous stage

  const pde::Problem& problem() const {
    return problem_;
  }  // over the whole domain, at the last value of the parameter
  // The true fields of problem(); nullptr if it names none. Throws Error if they are unavailable, also if a
  // parameter was changed and the reference solver cannot be told.
  std::unique_ptr<TrueSolution> true_fields() const;
  std::unique_ptr<Stage> make_stage(int index, const std::vector<FinishedStage>& finished) const;
  // The fields of all stages so far, the current one given by its objective and parameters.
  Solution solution(const std::vector<FinishedStage>& finished, std::shared_ptr<pde::PinnObjective> objective,
                    std::vector<double> parameters) const;

 private:
  std::vector<pde::Override> changed_parameters() const;
  std::shared_ptr<pde::PinnObjective> window_objective(int window,
                                                       const std::vector<FinishedStage>& finished) const;

  Config config_;
  std::optional<Continuation> continuation_;
  pde::Problem problem_;
  TimeWindows windows_;
};

}  // namespace lather::train
