#include "lather/train/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "lather/core/clock.hpp"
#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/train/agreement.hpp"
#include "lather/train/overfitting.hpp"
#include "lather/train/rewind.hpp"
#include "lather/train/run_folder/environment.hpp"
#include "lather/train/run_folder/history.hpp"
#include "lather/train/run_folder/summary.hpp"
#include "lather/train/saved_run.hpp"

namespace lather::train {

namespace {

class Run {
 public:
  Run(Trainer& trainer, RunFolder& folder, const Watcher& watcher)
      : trainer_(trainer),
        folder_(folder),
        watcher_(watcher),
        agreement_(trainer.config().ranks),
        around_(StopScope::current()),
        first_step_(trainer.step()) {}

  Outcome to_the_end(double seconds_before) {
    seconds_before_ = seconds_before;
    const auto scope = leads() ? StopScope::with(watcher_.stop) : StopScope::only(nullptr);
    Ending ending;
    try {
      look_at_clock();
      begin();
      ending = check_limits({});
      while (!ending) {
        ending = advance();
        if (!ending && checkpoint_due()) save();
      }
    } catch (const Interrupted&) {
      ending = broken_off();
    }
    const bool interrupted = ending->reason == EndReason::interrupted;
    if (!interrupted) log_events(true);
    if (interrupted || watcher_.keeps_end) save();
    return finish(*ending);
  }

 private:
  // The first rank alone breaks off what is done; the others end with it, and have nothing to save.
  bool leads() const { return !trainer_.config().ranks || trainer_.config().ranks->rank() == 0; }
  void leave_other_ranks() {
    if (!agreement_.alone()) trainer_.config().ranks->go_on_alone(parallel::RankLost(-1));
  }

  struct End {
    EndReason reason;
    std::string message;
  };
  using Ending = std::optional<End>;

  const StopOptions& stop() const { return trainer_.config().stop; }
  // Training time. Not counted: measurements at held-out points and against the reference, which may have to be
  // computed first, and writing checkpoints, which for a dense quasi-Newton matrix takes longer than training.
  double seconds_now() const { return watch_.seconds() - measuring_ - saving_; }
  double seconds() const { return seconds_before_ + seconds_now(); }

  // The same time on all ranks, since it ends stages and the run.
  void look_at_clock() {
    agreement_.update(seconds(), !agreement_.alone() && asked_to_end());
    trainer_.set_seconds(agreement_.seconds());
    time_is_up_ = stop().seconds > 0 && agreement_.seconds() >= stop().seconds;
  }
  bool asked_to_end() const {
    return (watcher_.interrupted && watcher_.interrupted()) || (watcher_.stop && watcher_.stop->asked()) ||
           (around_ && around_->is_asked());
  }

  template <class Measure>
  auto timed(Measure&& measure) {
    struct Timed {
      double& sum;
      const Stopwatch watch{};
      ~Timed() { sum += watch.seconds(); }
    } const timed{measuring_};
    return measure();
  }

  void begin() {
    const auto& target = stop().target;
    if (target && (target->quantity == "l2" || target->quantity == "h1") &&
        !timed([&] { return trainer_.has_reference(); }))
      throw Error(
          fmt::format("--target {}={:g}: errors cannot be measured: {}", target->quantity, target->value,
                      trainer_.reference_note().empty() ? "there is no reference"
                                                        : "the reference is " + trainer_.reference_note()));
    timed([&] { return trainer_.note_starting_loss(); });
    keep_inputs(trainer_, folder_);
    folder_.write_json("environment.json", to_json(find_environment()));
    const auto sizes = folder_.log_sizes();
    if (sizes[static_cast<int>(Log::history_csv)] == 0)
      folder_.append(Log::history_csv, history_header(trainer_));
    if (sizes[static_cast<int>(Log::timing)] == 0) folder_.append(Log::timing, "step,seconds");
  }

  Ending advance() {
    if (agreement_.alone()) trainer_.set_seconds(seconds());
    if (rewind_.is_due()) rewind_.keep(trainer_, own_state());
    const bool stage_ends = trainer_.stage_due();  // the report says what became of it
    const auto report = step();
    look_at_clock();
    const bool last = trainer_.step() >= stop().steps || ends(report.status) || time_is_up_;
    record(report, last || trainer_.stage_due(), stage_ends);
    log_events(false);
    tell(report, stage_ends);  // first: the watcher may ask to end the run
    return check_limits(report);
  }

  // Broken off when it takes much longer than the time that is left.
  optim::StepReport step() {
    if (stop().seconds > 0) {
      constexpr double kLeast = 0.5, kShare = 0.05;  // seconds; of the limit
      time_.end_in(stop().seconds - seconds() + std::max(kLeast, kShare * stop().seconds));
    }
    const auto scope = leads() ? StopScope(time_) : StopScope::only(nullptr);
    return trainer_.advance(steps_to_next_look());
  }

  // The trainer goes back to the last completed step, or a moment further, and the logs with it.
  End broken_off() {
    leave_other_ranks();
    RunState then;
    if (rewind_.go_back(trainer_, then)) folder_.truncate_logs(then.log_sizes);
    if (metrics_ && metrics_->step > trainer_.step()) metrics_.reset();
    if (asked_to_end() || !time_.is_due()) return {EndReason::interrupted, "interrupted"};
    if (trainer_.step() > 0) try {
        metrics_ = timed([&] { return trainer_.validate(); });
      } catch (const Interrupted&) {
      }
    return {EndReason::time,
            fmt::format("time limit ({:g} s) reached within step {}, which was not completed", stop().seconds,
                        trainer_.step() + 1)};
  }

  RunState own_state() const { return {folder_.log_sizes(), seconds()}; }

  std::int64_t steps_to_next_look() const {
    const auto& every = trainer_.config().record;
    const std::int64_t step = trainer_.step();
    std::int64_t next = std::min(
        {next_multiple(step, every.record_every), next_multiple(step, every.validate_every), stop().steps});
    if (every.checkpoint_every > 0) next = std::min(next, next_multiple(step, every.checkpoint_every));
    return next - step;
  }

  bool ends(optim::Status status) const {
    if (status == optim::Status::running) return false;
    return status == optim::Status::non_finite || !trainer_.objective_will_change();
  }

  void record(const optim::StepReport& report, bool last, bool always) {
    const auto& every = trainer_.config().record;
    const std::int64_t step = trainer_.step();
    const bool look = last || step % every.validate_every == 0;
    recorded_ = look || always || step % every.record_every == 0;
    if (!recorded_) return;
    HistoryRecord line{trainer_.loss(), report, std::nullopt};
    if (look) {
      agreement_.require_same(trainer_.parameters(), step);
      metrics_ = line.metrics = timed([&] { return trainer_.validate(); });
      watch_for_overfitting();
      if (const auto note = trainer_.reference_note();
          note.starts_with("not available") && !told_of_reference_ && watcher_.message) {
        told_of_reference_ = true;
        watcher_.message("errors cannot be measured: the reference is " + note);
      }
    }
    loss_ = line.loss;
    folder_.append(Log::history, history_json(trainer_, line));
    folder_.append(Log::history_csv, history_csv(trainer_, line));
    folder_.append(Log::timing, fmt::format("{},{:.3f}", step, seconds()));
    if (const auto text = diagnostics_json(trainer_); !text.empty()) folder_.append(Log::diagnostics, text);
  }

  void log_events(bool all) {
    for (const auto& event : trainer_.take_events(all)) folder_.append(Log::events, event_json(event));
  }

  std::string overfitting() const {
    const auto& config = trainer_.config();
    return overfitting_message(trainer_.best(), *metrics_, config.record.validate_every,
                               config.optimizer.entry().hidden_layers == optim::HiddenLayers::drawn);
  }

  // Warns once, and again only after a better step was found.
  void watch_for_overfitting() {
    const std::string text = overfitting();
    const bool now = !text.empty();
    if (now && !overfitting_ && watcher_.message) watcher_.message(text);
    if (now || trainer_.best_step() == trainer_.step()) overfitting_ = now;
  }

  bool patience_is_over() const {
    if (stop().patience == 0 || !metrics_ || metrics_->step != trainer_.step() || !trainer_.last_stage())
      return false;
    return trainer_.step() - trainer_.best_step() >=
           stop().patience * trainer_.config().record.validate_every;
  }

  std::string why_not_finite(const optim::StepReport& report) const {
    const std::string where = trainer_.describe_not_finite();
    const std::string what = said(report, "loss or gradient is not a number");
    return where.empty() ? what : what + ": " + where;
  }

  Ending check_limits(const optim::StepReport& report) const {
    if (report.status == optim::Status::non_finite) return End{EndReason::non_finite, why_not_finite(report)};
    if (const auto reached = target_reached()) return End{EndReason::target, *reached};
    if (trainer_.solved())
      return End{EndReason::target,
                 fmt::format("solved: the held-out residual {:.2e} is at or below its target {:g}",
                             trainer_.stage_control().residual(), trainer_.config().training.stages.target)};
    if (ends(report.status) && report.status == optim::Status::converged)
      return End{EndReason::converged, said(report, "the optimizer has converged")};
    if (ends(report.status))
      return End{EndReason::stalled, said(report, "no further progress is possible in this precision")};
    if (trainer_.step() >= stop().steps)
      return End{EndReason::steps, fmt::format("all {} steps are done", stop().steps)};
    if (patience_is_over())
      return End{EndReason::patience, fmt::format("no better held-out loss in {} validations (best: step {})",
                                                  stop().patience, trainer_.best_step())};
    if (const auto loss = agreement_.loss(); !loss.empty()) return End{EndReason::interrupted, loss};
    if (agreement_.ends(asked_to_end())) return End{EndReason::interrupted, "interrupted"};
    if (time_is_up_) return End{EndReason::time, fmt::format("time limit ({:g} s) reached", stop().seconds)};
    return {};
  }

  static std::string said(const optim::StepReport& report, const char* otherwise) {
    return report.message.empty() ? otherwise : report.message;
  }

  // Only what was measured in this very step, so that a resumed run decides as an uninterrupted one would.
  std::optional<std::string> target_reached() const {
    if (!stop().target || !recorded_ || !trainer_.last_stage()) return {};
    const auto& [quantity, wanted] = *stop().target;
    double value = std::numeric_limits<double>::quiet_NaN();
    if (quantity == "loss")
      value = loss_;
    else if (!metrics_ || trainer_.step() != metrics_->step)
      return {};
    else if (quantity == "residual")
      value = metrics_->residual;
    else if (quantity == "l2")
      value = metrics_->worst_l2();
    else
      value = metrics_->worst_h1();
    if (!(value <= wanted)) return {};
    return fmt::format("the target {} <= {:g} is reached", quantity, wanted);
  }

  void tell(const optim::StepReport& report, bool always) {
    const bool goes_on = always || report.status == optim::Status::running;
    if (watcher_.message && !report.message.empty() && goes_on && report.message != last_message_)
      watcher_.message(fmt::format("step {}: {}", trainer_.step(), last_message_ = report.message));
    if (!watcher_.progress) return;
    Progress p;
    p.step = trainer_.step();
    p.steps = stop().steps;
    p.stage = trainer_.stage();
    p.stages = trainer_.stages();
    p.loss = recorded_ ? loss_ : report.loss;
    p.gradient_norm = report.gradient_norm;
    p.term_losses = trainer_.term_losses();
    p.metrics = metrics_;
    p.tau = mean_diagnostic(trainer_, "tau");
    p.basis_updates = trainer_.basis_updates();
    p.seconds = seconds();
    p.steps_per_second = static_cast<double>(p.step - first_step_) / std::max(seconds_now(), 1e-9);
    p.seconds_left = static_cast<double>(p.steps - p.step) / p.steps_per_second;
    if (stop().seconds > 0) p.seconds_left = std::min(p.seconds_left, stop().seconds - p.seconds);
    p.recorded = recorded_;
    watcher_.progress(p);
  }

  bool checkpoint_due() const {
    const auto& every = trainer_.config().record;
    if (every.checkpoint_every > 0 && trainer_.step() % every.checkpoint_every == 0) return true;
    return every.checkpoint_seconds > 0 && since_checkpoint_.seconds() >= every.checkpoint_seconds;
  }

  void save() {
    if (!folder_.writes()) return since_checkpoint_.restart();
    const Stopwatch watch;
    folder_.sync_logs();
    rewind_.keep(trainer_, own_state());
    folder_.checkpoints().save({trainer_.step(), identity(trainer_.config()), rewind_.hand_over()});
    saving_ += watch.seconds();
    since_checkpoint_.restart();
  }

  // On the full grid. False: interrupted; resumed, the run ends in the same way and is measured then.
  bool is_measured(const End& end, Summary& summary, std::string& fields) {
    if (end.reason == EndReason::interrupted) return false;
    const bool ends_again = end.reason == EndReason::steps || end.reason == EndReason::time;
    try {
      const auto scope = ends_again ? StopScope::with(nullptr) : StopScope::only(nullptr);
      summary = timed([&] { return summarize(trainer_, true); });
      fields = fields_text(trainer_);
      return true;
    } catch (const Interrupted&) {
      leave_other_ranks();
      return false;
    }
  }

  Outcome finish(End end) {
    Summary summary;
    std::string fields;
    if (!is_measured(end, summary, fields)) {
      if (end.reason != EndReason::interrupted && !watcher_.keeps_end) save();
      if (end.reason != EndReason::interrupted) end = {EndReason::interrupted, "interrupted after its end"};
      summary = in_a_hurry(fields);
    }
    summary.reason = name_of(end.reason);
    summary.message = end.message;
    summary.seconds = seconds();
    if (metrics_) summary.overfitting = overfitting();
    summary.peak_host_bytes = static_cast<std::int64_t>(peak_host_memory_bytes());
    summary.peak_device_bytes = static_cast<std::int64_t>(peak_device_memory_bytes());
    summary.measuring_seconds = measuring_;
    summary.steps_per_second =
        static_cast<double>(trainer_.step() - first_step_) / std::max(seconds_now(), 1e-9);
    if (!fields.empty()) folder_.write_file("fields.json", fields);
    folder_.write_json("summary.json", options::to_json(summary));  // last: it says that the run has ended
    return {end.reason, end.message, std::move(summary)};
  }

  // What can be measured within a moment; else what was last.
  Summary in_a_hurry(std::string& fields) {
    Stop soon;
    soon.end_in(0.3);  // seconds
    const auto scope = StopScope::only(agreement_.alone() ? &soon : nullptr);
    std::optional<Summary> summary;
    try {
      summary = summarize(trainer_, false);
      fields = fields_text(trainer_);
    } catch (const Interrupted&) {
    }
    if (summary) return *summary;
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    Metrics last = metrics_.value_or(Metrics{});
    if (!metrics_) last.step = trainer_.step(), last.residual = last.loss = last.training_loss = kNone;
    return summarize(trainer_, {loss_, last, trainer_.best_step() < 0 ? last : trainer_.best()});
  }

  Trainer& trainer_;
  RunFolder& folder_;
  const Watcher& watcher_;
  Agreement agreement_;
  const StopScope* around_;
  Stop time_;  // within a step
  Rewind rewind_;
  std::int64_t first_step_;
  double seconds_before_ = 0, measuring_ = 0, saving_ = 0, loss_ = 0;
  bool recorded_ = false, told_of_reference_ = false, time_is_up_ = false, overfitting_ = false;
  std::optional<Metrics> metrics_;
  std::string last_message_;
  Stopwatch watch_, since_checkpoint_;
};

}  // namespace

std::string_view name_of(EndReason reason) {
  switch (reason) {
    case EndReason::steps: return "steps";
    case EndReason::target: return "target";
    case EndReason::time: return "time";
    case EndReason::patience: return "patience";
    case EndReason::interrupted: return "interrupted";
    case EndReason::converged: return "converged";
    case EndReason::stalled: return "stalled";
    case EndReason::non_finite: return "non_finite";
  }
  return "";
}

Outcome run(Trainer& trainer, RunFolder& folder, const Watcher& watcher, double seconds_before) {
  return Run(trainer, folder, watcher).to_the_end(seconds_before);
}

}  // namespace lather::train
