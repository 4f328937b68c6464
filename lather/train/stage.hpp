#pragma once
// Training in stages: a plain run is one stage; continuation in a parameter (a Reynolds number) has one per value; time
// windows one per window. A stage is a problem with its points, its weights, and measures of what was reached.

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "lather/core/state.hpp"
#include "lather/pde/objective.hpp"
#include "lather/pde/point_source.hpp"
#include "lather/train/config.hpp"
#include "lather/train/solution.hpp"
#include "lather/train/weighting.hpp"

namespace lather::train {

// What was reached at one step.
struct Figures {
  std::int64_t step = 0;
  double residual = 0;                 // root mean square of all equations' residuals together, at held-out points
  std::vector<double> term_residuals;  // of every term by itself
  std::vector<double> l2, h1;          // relative errors per field; empty where the truth is not known
  double worst_l2() const;             // of all fields; NaN if unknown
  double worst_h1() const;
  void state(StateVisitor& v);
};

class Stage {
 public:
  Stage(pde::Problem problem, const Config& config);

  pde::PinnObjective& objective() { return *objective_; }
  const pde::PinnObjective& objective() const { return *objective_; }
  std::shared_ptr<pde::PinnObjective> shared_objective() const { return objective_; }

  // Draws points and sets weights that are due before step `step` + 1; whether the objective is another function now.
  bool update(std::int64_t step, std::span<const double> x);
  // Hands points and weights that were read from a state to the objective.
  void install(std::int64_t step, std::span<const double> x) { update(step, x); }
  bool changes() const;  // will update() ever do something more?

  // Everything but the step.
  Figures measure(std::span<const double> x);
  // The true fields, [field][point]; empty if unknown.
  std::vector<std::vector<double>> reference_values(const pde::Points& points);
  std::string reference_note() const;

  void state(StateVisitor& v);

 private:
  double measure_residuals(std::span<const double> x, std::vector<double>& by_term);

  std::shared_ptr<pde::PinnObjective> objective_;
  pde::PointSource points_;
  std::unique_ptr<Weighting> weighting_;
};

// Which stages a configuration has, and how long each takes.
class StagePlan {
 public:
  explicit StagePlan(const Config& config);
  int count() const;
  std::int64_t end_of(int stage) const;  // the step after which the next one begins

  // `finished`: parameters of the stages before.
  std::unique_ptr<Stage> make_stage(int index, const std::vector<std::vector<double>>& finished) const;
  Solution solution(const std::vector<std::vector<double>>& finished, int stage, std::vector<double> parameters, std::span<const double> frozen) const;

 private:
  Config config_;
};

}  // namespace lather::train
