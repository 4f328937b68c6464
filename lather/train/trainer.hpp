#pragma once
// Training step by step, without files: a problem, its points and weights, an optimizer.
//
//   using namespace lather::train;
//   Config config = resolve({.problem = "burgers", .optimizer = "ss-esoap", .seed = 1});
//   Trainer trainer(config);
//   while (trainer.step() < config.stop.steps) {
//     trainer.advance();
//     if (trainer.step() % 100 == 0) std::cout << trainer.step() << ' ' << trainer.validate().residual << '\n';
//   }
//
// train/run.hpp adds the run folder. The same configuration gives the same bits.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lather/core/state.hpp"
#include "lather/optim/optimizer.hpp"
#include "lather/train/config.hpp"
#include "lather/train/solution.hpp"
#include "lather/train/stage.hpp"

namespace lather::train {

class Trainer {
 public:
  explicit Trainer(const Config& config);

  // One iteration. A status other than `running` means that further steps would do nothing new.
  optim::StepReport advance();

  const Config& config() const { return config_; }
  void set_limits(const StopOptions& stop) { config_.stop = stop; }
  std::int64_t step() const { return step_; }  // steps done
  int stage() const { return stage_index_; }
  int stages() const { return plan_.count(); }
  bool last_stage() const { return stage_index_ + 1 == plan_.count(); }

  // Loss and its terms at the present parameters and points; term k is weight_k times a mean square.
  double loss();
  std::span<const double> term_losses() const { return stage_->objective().term_losses(); }
  std::vector<std::string> term_names() const { return stage_->objective().term_names(); }
  double term_weight(int term) const { return stage_->objective().term_weight(term); }

  // Residuals at held-out points and errors against the reference, at the present parameters.
  Figures measure();
  // The same, and the best so far is remembered.
  Figures validate();
  const Figures& best() const { return best_; }
  std::int64_t best_step() const { return best_step_; }

  std::span<const double> parameters() const { return parameters_; }
  std::span<const double> unknowns() const;  // the last of the parameters
  std::span<const optim::Diagnostic> diagnostics() const { return optimizer_->diagnostics(); }
  std::int64_t basis_updates() const { return basis_updates_; }
  std::int64_t evaluations() const { return evaluations_; }
  const pde::PinnObjective& objective() const { return stage_->objective(); }
  const pde::Problem& problem() const { return stage_->objective().problem(); }
  // May points or weights still change? Then a stalled optimizer may go on.
  bool objective_will_change() const;
  // The true fields at points, [field][point]; empty where they are not known.
  std::vector<std::vector<double>> reference_values(const pde::Points& points) const { return stage_->reference_values(points); }
  std::string reference_note() const { return stage_->reference_note(); }

  // The trained fields, as they are now or at their best.
  Solution solution(bool best = false);

  // Everything needed to go on bit for bit.
  void state(StateVisitor& v);

 private:
  void enter_stage(int index);
  void next_stage();

  Config config_;
  StagePlan plan_;
  int stage_index_ = 0;
  std::unique_ptr<Stage> stage_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::vector<double> parameters_, best_parameters_, frozen_;
  std::vector<std::vector<double>> finished_;  // parameters of finished stages, where the solution needs them
  Figures best_;
  std::int64_t step_ = 0, best_step_ = -1, basis_updates_ = 0, evaluations_ = 0;
};

}  // namespace lather::train
