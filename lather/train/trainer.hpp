#pragma once
// Training step by step, without files: a problem, its points and weights, an optimizer.
//
//   using namespace lather::train;
//   Config config = resolve({.problem = "burgers", .optimizer = "ss-esoap", .seed = 1});
//   Trainer trainer(config);
//   while (trainer.step() < config.stop.steps) {
//     trainer.advance();
//     if (trainer.step() % 100 == 0) std::cout << trainer.validate().residual << '\n';
//   }
//
// train/run.hpp adds the run folder. The same configuration gives the same bits.

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lather/core/state.hpp"
#include "lather/optim/optimizer.hpp"
#include "lather/train/accuracy/accuracy.hpp"
#include "lather/train/accuracy/solution.hpp"
#include "lather/train/config.hpp"
#include "lather/train/event_log.hpp"
#include "lather/train/stages/stage.hpp"

namespace lather::train {

class Trainer {
 public:
  explicit Trainer(const Config& config);

  // One iteration, or up to `most` if the optimizer can take several without the host. A status other than
  // `running` means that further steps would do nothing new.
  optim::StepReport advance(std::int64_t most = 1);

  const Config& config() const { return config_; }
  std::int64_t step() const { return step_; }  // steps done
  // Seconds of training so far, for time limits; whoever keeps the time sets them before advance().
  void set_seconds(double seconds) { seconds_ = seconds; }
  double seconds() const { return seconds_; }
  // Whether the next advance() ends (or prolongs) the current stage; measure its held-out residual first.
  bool stage_due() const { return !last_stage() && stage_end() != StageEnd::none; }
  // The last stage has reached its target.
  bool solved() const { return last_stage() && control_.solved(); }
  const StageControl& stage_control() const { return control_; }
  // Of the current stage, as it is now.
  Verdict verdict() const { return judge_stage(stage_end()).verdict; }
  // "2 of 5 stages not solved: …", with what to do about it; empty: no stage that has ended is known to be
  // unsolved, and all were reached or still may be.
  std::string unsolved_stages() const;
  // By which the next step multiplies the learning rate, where a schedule over the whole run says it.
  std::optional<double> scheduled_factor() const;
  const std::vector<FinishedStage>& finished_stages() const { return finished_; }
  std::string stage_name(int index) const { return plan_.name(index); }
  int stage() const { return stage_index_; }
  int stages() const { return plan_.count(); }
  bool last_stage() const { return stage_index_ + 1 == plan_.count(); }

  // Loss and its terms at the current parameters and points; term k is weight_k times a mean square.
  double loss();
  std::span<const double> term_losses() const { return stage_->objective().term_losses(); }
  std::vector<std::string> term_names() const {
    return stage_->objective().term_names();
  }  // of the current stage
  double term_weight(int term) const { return stage_->objective().term_weight(term); }

  // Residuals at held-out points and errors against the reference, at the current parameters. With time
  // windows, the errors are those of the current window; in the last one, those of the whole domain. `fine`:
  // on the grid of `lather eval`. `best`: at the best parameters so far.
  Metrics measure(bool fine = false, bool best = false);
  // The same, and remembers the best so far.
  Metrics validate();
  // The loss at held-out points before the first step, if it was noted there; else not a number.
  double note_starting_loss();
  double starting_loss() const { return starting_loss_; }
  const Metrics& best() const { return best_; }
  std::int64_t best_step() const { return best_step_; }

  std::span<const double> parameters() const { return parameters_; }
  std::span<const double> best_parameters() const;            // the current ones if nothing was validated yet
  std::span<const double> unknowns(bool best = false) const;  // the last of the parameters
  std::size_t held_out_rows(int set) const { return stage_->held_out_rows(set); }  // of data, current stage
  std::span<const optim::Diagnostic> diagnostics() const { return optimizer_->diagnostics(); }
  std::int64_t basis_updates() const { return basis_updates_; }
  // Basis changes not yet taken whose consequences are known; with `all`, the others too.
  std::vector<LoggedEvent> take_events(bool all = false) { return events_.take(all); }
  // The optimizer's counts of tau; null: it has none.
  const optim::BasisLog* basis_log() const { return optim::basis_log_of(*optimizer_); }
  std::int64_t evaluations() const { return evaluations_; }
  const pde::PinnObjective& objective() const { return stage_->objective(); }
  const pde::Problem& problem() const { return plan_.problem(); }  // over the whole domain
  // Memory the engine holds for its points, and that of the optimizer; on the GPU if they are there.
  std::size_t engine_bytes() const { return stage_->objective().workspace_bytes(); }
  std::size_t optimizer_bytes() const { return optimizer_->memory_bytes(); }
  // Whether points or weights may still change; then a stalled optimizer may continue.
  bool objective_will_change() const;
  // The true fields at points, [field][point]; empty if they are not known.
  std::vector<std::vector<double>> reference_values(const pde::Points& points);
  bool has_reference() { return config_.record.reference && truth(); }  // computes it if need be
  std::string reference_note() const { return reference_note_; }  // where it comes from, or why there is none

  // Which term is not a number, and where; empty if all are.
  std::string describe_not_finite();
  // What was not taken from config().start; empty: all was, or there is none.
  const std::string& start_note() const { return start_note_; }

  // The trained fields, as they are now or at their best.
  Solution solution(bool best = false);

  // Everything needed to continue bit for bit.
  void state(StateVisitor& v);

 private:
  const TrueSolution* truth();  // nullptr: not known
  void enter_stage(int index);
  Budget spent() const { return {step_, seconds_}; }
  // Of the stages before the last one as planned; a run resumed with more steps extends the last one.
  Budget limit() const {
    const std::int64_t planned = config_.training.steps;
    return {last_stage() ? std::max(planned, config_.stop.steps) : planned, config_.stop.seconds};
  }
  StageEnd stage_end() const { return control_.end(spent(), limit()); }
  Judgement judge_stage(StageEnd end) const;
  std::string settle_stage();
  void note_beginning();
  void make_optimizer();
  optim::OptimizerSpec optimizer_of_stage() const;
  bool schedule_ends_with_stage() const;
  std::vector<double> learning_rate_factors(std::int64_t most) const;

  Config config_;
  EventLog events_;
  StagePlan plan_;
  StageControl control_;
  double seconds_ = 0;
  int stage_index_ = 0;
  std::unique_ptr<Stage> stage_;
  optim::OptimizerSpec made_of_;  // what optimizer_ was made from
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::vector<double> parameters_, best_parameters_, frozen_;
  std::vector<FinishedStage> finished_;
  Metrics best_;
  bool truth_sought_ = false;
  std::unique_ptr<TrueSolution> truth_;
  std::unique_ptr<ErrorMeter> meter_;
  bool meter_is_fine_ = false;
  std::string reference_note_, start_note_;
  double starting_loss_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t step_ = 0, halved_ = 0, best_step_ = -1, basis_updates_ = 0, evaluations_ = 0;
};

}  // namespace lather::train
