#include "lather/train/trainer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lather/core/error.hpp"
#include "lather/optim/wrappers/composed.hpp"
#include "lather/parallel/in_turn.hpp"
#include "lather/pde/fit_output.hpp"
#include "lather/train/accuracy/not_finite.hpp"
#include "lather/train/needs.hpp"

namespace lather::train {

namespace {

// Per optimizer call: the user may want to interrupt.
constexpr std::int64_t kMostSteps = 256;

// Points along each coordinate for errors while training: a tenth of the work of the fine grid or less.
std::int64_t coarse_grid(int dimensions) {
  return dimensions == 1 ? 1001 : dimensions == 2 ? 101 : dimensions == 3 ? 25 : default_grid(dimensions);
}

}  // namespace

Trainer::Trainer(const Config& config) : config_(config), plan_(config), control_(config.training.stages) {
  require_device(config_.device);
  if (!config_.from.empty() && !config_.start)
    throw Error(fmt::format("the network of '{}', from which this run starts, is missing (start.json)",
                            config_.from));
  parallel::first_rank_first(config_.ranks, [&] {
    require_room(config_, plan_.problem());
    return true;
  });
  enter_stage(0);
}

void Trainer::enter_stage(int index) {
  stage_ = plan_.make_stage(index, finished_);
  stage_index_ = index;
  control_.begin(spent(), plan_.weight(index));
  auto& objective = stage_->objective();
  if (plan_.fresh_weights(index))
    parameters_ = objective.initialize(config_.seed + static_cast<std::uint64_t>(index));
  else {
    if (plan_.warm_noise() > 0 && !parameters_.empty()) {
      const auto fresh = objective.initialize(config_.seed + static_cast<std::uint64_t>(index));
      const std::size_t weights = parameters_.size() - objective.problem().unknowns.size();
      for (std::size_t i = 0; i < weights; ++i) parameters_[i] += plan_.warm_noise() * fresh[i];
    }
    objective.set_frozen(frozen_);
  }
  const bool given = index == 0 && config_.start;
  if (given) {
    frozen_.assign(objective.frozen().begin(), objective.frozen().end());
    start_note_ = take_over(*config_.start, objective.layout(), parameters_, frozen_);
    objective.set_frozen(frozen_);
  }
  if (index == 0 || plan_.in_windows() || plan_.corrects(index)) {
    made_of_ = optimizer_of_stage();
    make_optimizer();
  } else {
    optimizer_->objective_changed();
  }
  best_step_ = -1;  // metrics of different stages are not comparable
  meter_.reset();
  stage_->update(step_, parameters_);
  if (plan_.corrects(index)) plan_.hand_over(finished_, objective, parameters_);
  frozen_.assign(objective.frozen().begin(), objective.frozen().end());
  if (plan_.fresh_weights(index) && !given)
    pde::fit_output_layer(objective, parameters_, objective.problem().network.output_fit);
}

void Trainer::make_optimizer() {
  optimizer_ = optim::make_composed(stage_->objective().layout(), made_of_, config_.device);
}

// Measures what a stage is judged by later, before its first step or validation, unless a state that was read
// has it. A correction is compared with what it starts from, not with a zero network.
void Trainer::note_beginning() {
  if (stages() == 1 || control_.beginning_is_known()) return;
  const double loss = stage_->measure(parameters_).loss;
  std::vector<double> nothing(parameters_.size(), 0);
  const auto unknowns = static_cast<std::ptrdiff_t>(problem().unknowns.size());
  std::copy(parameters_.end() - unknowns, parameters_.end(), nothing.end() - unknowns);
  const Metrics of_nothing = plan_.corrects(stage_index_) ? Metrics{} : stage_->measure(nothing);
  const auto known = [](double x) { return std::isfinite(x) ? x : 0; };
  control_.began(loss, {known(of_nothing.loss), known(of_nothing.residual)});
}

Judgement Trainer::judge_stage(StageEnd end) const {
  double least = 0;
  for (const auto& stage : finished_) least = least > 0 ? std::min(least, stage.residual) : stage.residual;
  return control_.judge(end, least, config_.optimizer.wrappers.schedule.has_value());
}

std::string Trainer::unsolved_stages() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < finished_.size(); ++i)
    if (finished_[i].verdict == Verdict::unsolved) names.push_back(plan_.name(static_cast<int>(i)));
  if (stages() > 1 && stage_end() != StageEnd::none && verdict() == Verdict::unsolved)
    names.push_back(plan_.name(stage_index_));
  const int not_reached = stages() - 1 - stage_index_;
  const bool all_is_spent = step_ >= limit().steps || (limit().seconds > 0 && seconds_ >= limit().seconds);
  if (names.empty() && not_reached > 0 && all_is_spent)
    return fmt::format("{} of {} stages not reached; more steps or time (--steps, --time) may help",
                       not_reached, stages());
  if (names.empty()) return "";
  constexpr std::size_t kNamed = 5;
  const std::size_t count = names.size();
  if (count > kNamed) names.resize(kNamed);
  const bool as_it_is = config_.training.stages.remedy() == Unsolved::hand_over;
  return fmt::format("{} of {} stages not solved: {}{}{}; more steps or time (--steps, --time){} may help",
                     count, stages(), fmt::join(names, ", "), count > kNamed ? ", …" : "",
                     not_reached > 0 ? fmt::format("; {} not reached", not_reached) : "",
                     !as_it_is ? ""
                     : config_.training.corrections.count > 0
                         ? ", or --set training.stages.unsolved=prolong,"
                         : ", or --set training.stages.unsolved=prolong or halve,");
}

// Ends the current stage, prolongs it, or halves it; says so in words.
std::string Trainer::settle_stage() {
  note_beginning();
  const StageEnd end = stage_end();
  const Metrics now = stage_->measure(parameters_);
  if (control_.looked_at() != step_) control_.looked(step_, now.residual, now.loss);
  const StageOptions& options = config_.training.stages;
  const auto [verdict, reason] = judge_stage(end);
  std::string text = fmt::format("stage {} of {} ({}): {} after {} steps, held-out residual {:.2e}",
                                 stage_index_ + 1, stages(), plan_.name(stage_index_),
                                 words_of(verdict == Verdict::solved ? StageEnd::solved : end),
                                 step_ - control_.first_step(), control_.residual());
  if (verdict == Verdict::unsolved) {
    text += fmt::format(": not solved ({})", reason);
    if (share_is_used_up(end) && options.remedy() == Unsolved::prolong &&
        control_.prolonged() < options.tries) {
      control_.prolong(spent());
      return text + fmt::format("; prolonged to step {}", control_.end_step(limit()));
    }
    if (options.remedy() == Unsolved::halve && plan_.can_halve(stage_index_) && halved_ < options.tries) {
      ++halved_;
      plan_.halve(stage_index_);
      if (!finished_.empty()) parameters_ = finished_.back().parameters;
      enter_stage(stage_index_);
      if (!plan_.in_windows()) make_optimizer();  // what was learnt from the failed steps is discarded
      return text + fmt::format("; begun again as {}", plan_.name(stage_index_));
    }
    text += "; handed over as it is";
  }
  if (best_step_ >= 0 && best_.loss < now.loss) {
    parameters_ = best_parameters_;
    text += fmt::format("; those of step {} are handed over", best_step_);
  }
  finished_.push_back({parameters_, frozen_, end, verdict, control_.residual(), step_,
                       step_ - control_.first_step(), seconds_ - control_.first_seconds()});
  if (!plan_.is_between(stage_index_)) halved_ = 0;
  enter_stage(stage_index_ + 1);
  return text;
}

// A schedule followed by a second optimizer runs until that one takes over.
optim::OptimizerSpec Trainer::optimizer_of_stage() const {
  optim::OptimizerSpec spec = config_.optimizer;
  auto& [schedule, clip, average, then] = spec.wrappers;
  if (schedule && schedule->over_the_whole_run() && then)
    schedule->total_steps = schedule_ends_with_stage()
                                ? std::max<std::int64_t>(1, control_.end_step(limit()) - step_)
                                : then->when.at_step;
  return spec;
}

// A schedule followed by a second optimizer that takes over at no given step.
bool Trainer::schedule_ends_with_stage() const {
  const auto& [schedule, clip, average, then] = config_.optimizer.wrappers;
  return schedule && schedule->over_the_whole_run() && then && then->when.at_step == 0;
}

std::optional<double> Trainer::scheduled_factor() const {
  const auto& [schedule, clip, average, then] = config_.optimizer.wrappers;
  if (!schedule || !schedule->over_the_whole_run() || then) return {};
  return learning_rate_factors(1)[0];
}

// A schedule without a number of steps runs over the stage's share, by steps or by time.
std::vector<double> Trainer::learning_rate_factors(std::int64_t most) const {
  std::vector<double> factors(static_cast<std::size_t>(most), 1.0);
  const auto& [schedule, clip, average, then] = config_.optimizer.wrappers;
  if (!schedule || !schedule->over_the_whole_run() || then) return factors;
  for (std::int64_t i = 0; i < most; ++i)
    factors[static_cast<std::size_t>(i)] =
        optim::cosine_decay(control_.progress({step_ + i, seconds_}, limit()), schedule->final_factor);
  return factors;
}

optim::StepReport Trainer::advance(std::int64_t most) {
  const std::string news = stage_due() ? settle_stage() : "";
  note_beginning();
  // Nothing needs the host until the objective changes.
  most = std::min({most, stage_->next_update(step_) - step_, kMostSteps});
  if (!last_stage()) most = std::min(most, control_.end_step(limit()) - step_);
  std::int64_t done = 0;
  auto report = optimizer_->steps(stage_->objective(), parameters_,
                                  learning_rate_factors(std::max<std::int64_t>(most, 1)), done);
  if (const auto* log = basis_log())  // a step that was not taken has left the log as it was
    if (report.status != optim::Status::non_finite || !log->losses.empty())
      events_.add(*log, step_, report.loss);
  step_ += done;
  evaluations_ += report.evaluations;
  basis_updates_ += report.basis_updates;
  const bool ended = report.status == optim::Status::stalled || report.status == optim::Status::converged;
  if (ended && stage_->next_change(step_) == kNever) control_.optimizer_ended();
  if (stage_->update(step_, parameters_)) optimizer_->objective_changed();
  if (!news.empty()) report.message = news + (report.message.empty() ? "" : "; " + report.message);
  return report;
}

double Trainer::loss() { return stage_->objective().value(parameters_); }

// An unavailable reference is no reason not to train.
const TrueSolution* Trainer::truth() {
  if (truth_sought_) return truth_.get();
  return parallel::first_rank_first(config_.ranks, [&] {  // computed once, then found in the cache
    try {
      truth_ = plan_.true_fields();
      if (truth_) reference_note_ = truth_->provenance();
    } catch (const Error& error) {
      reference_note_ = std::string("not available: ") + error.what();
    }
    truth_sought_ = true;  // not if it was broken off
    return truth_.get();
  });
}

Metrics Trainer::measure(bool fine, bool best) {
  best = best && best_step_ >= 0;
  const auto& x = best ? best_parameters_ : parameters_;
  Metrics metrics = stage_->measure(x);
  metrics.step = best ? best_step_ : step_;
  // The true solution is for the last value of the parameter.
  if (!config_.record.reference || plan_.other_parameter(stage_index_) || !truth()) return metrics;
  const bool whole = plan_.in_windows() && last_stage();
  const pde::Problem& domain = whole ? plan_.problem() : stage_->objective().problem();
  metrics.error_grid = fine ? default_grid(domain.dimensions()) : coarse_grid(domain.dimensions());
  if (!meter_ || meter_is_fine_ != fine)
    meter_ = std::make_unique<ErrorMeter>(domain, *truth_,
                                          ErrorOptions{metrics.error_grid, domain.reference.up_to_constant});
  meter_is_fine_ = fine;
  const auto errors = whole ? meter_->measure([solution = solution(best)](const pde::Points& points) {
    return solution.values_and_slopes(points);
  })
                            : meter_->measure(stage_->objective(), x);
  metrics.l2.assign(domain.fields.size(), std::numeric_limits<double>::quiet_NaN());
  metrics.h1 = metrics.l2;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    metrics.l2[truth_->fields()[i]] = errors[i].relative_l2;
    metrics.h1[truth_->fields()[i]] = errors[i].relative_h1;
  }
  return metrics;
}

Metrics Trainer::validate() {
  note_beginning();
  Metrics metrics = measure();
  control_.looked(step_, metrics.residual, metrics.loss);
  if (best_step_ < 0 || std::isnan(best_.loss) || metrics.loss < best_.loss) {
    best_ = metrics;
    best_step_ = step_;
    best_parameters_ = parameters_;
  }
  return metrics;
}

double Trainer::note_starting_loss() {
  if (step_ == 0) starting_loss_ = stage_->measure(parameters_).loss;
  return starting_loss_;
}

std::span<const double> Trainer::best_parameters() const {
  return best_step_ >= 0 ? best_parameters_ : parameters_;
}

std::span<const double> Trainer::unknowns(bool best) const {
  return (best ? best_parameters() : parameters()).last(problem().unknowns.size());
}

std::string Trainer::describe_not_finite() {
  return train::describe_not_finite(stage_->objective(), parameters_);
}

bool Trainer::objective_will_change() const { return !last_stage() || stage_->next_change(step_) != kNever; }

std::vector<std::vector<double>> Trainer::reference_values(const pde::Points& points) {
  const TrueSolution* known = truth();
  if (!known) return {};
  std::vector<std::vector<double>> values(problem().fields.size());
  const std::vector<int> none(problem().dimensions(), 0);
  for (const int f : known->fields()) values[f] = known->evaluate(f, none, points);
  return values;
}

Solution Trainer::solution(bool best) {
  return plan_.solution(finished_, stage_->shared_objective(),
                        best && best_step_ >= 0 ? best_parameters_ : parameters_);
}

void Trainer::state(StateVisitor& v) {
  v.integer("step", step_);
  std::int64_t stage = stage_index_, finished = static_cast<std::int64_t>(finished_.size());
  v.integer("stage", stage);
  v.integer("finished", finished);
  finished_.resize(static_cast<std::size_t>(finished));
  for (auto& stage_before : finished_) stage_before.state(v);
  const int planned = plan_.count();
  plan_.state(v);
  v.integer("halved", halved_);
  std::vector<double> frozen = frozen_;
  v.array("frozen", frozen);
  auto& schedule = made_of_.wrappers.schedule;
  std::int64_t schedule_steps = schedule ? schedule->total_steps : 0;  // as at the start of the stage
  v.integer("schedule_steps", schedule_steps);
  if (v.reading()) {
    if (stage != stage_index_ || plan_.count() != planned) {
      frozen_ = frozen;
      enter_stage(static_cast<int>(stage));
      if (schedule && schedule->total_steps != schedule_steps) {
        schedule->total_steps = schedule_steps;
        make_optimizer();
      }
    }
    frozen_ = std::move(frozen);
  }
  control_.state(v);
  if (v.reading() && schedule_ends_with_stage() && last_stage()) {  // perhaps later than when it was saved
    const auto steps = std::max<std::int64_t>(1, control_.end_step(limit()) - control_.first_step());
    if (steps != std::exchange(schedule->total_steps, steps)) make_optimizer();
  }
  v.array("parameters", std::span<double>(parameters_));
  v.array("best_parameters", best_parameters_);
  v.integer("best_step", best_step_);
  best_.state(v);
  v.real("starting_loss", starting_loss_);
  v.integer("basis_updates", basis_updates_);
  v.integer("evaluations", evaluations_);
  optimizer_->state(v);
  events_.state(v);
  stage_->state(v);
  if (v.reading()) {
    stage_->objective().set_frozen(frozen_);
    stage_->update(step_, parameters_);
  }
}

}  // namespace lather::train
