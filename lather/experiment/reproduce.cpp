#include "lather/experiment/reproduce.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "lather/core/clock.hpp"
#include "lather/core/device.hpp"
#include "lather/core/error.hpp"
#include "lather/core/threads.hpp"
#include "lather/experiment/side_by_side.hpp"

namespace lather::experiment {

namespace {

using Json = nlohmann::json;

// The held-out loss at the last step: settings are chosen by it. Not a number: worse than any.
double judged_by(const RunRecord& run) {
  const Json summary = read_summary(run);
  if (!summary.is_object() || summary.value("reason", "") == "non_finite")
    return std::numeric_limits<double>::infinity();
  const Json loss = summary.value("/final/validation_loss"_json_pointer, Json());
  const double value = loss.is_number() ? loss.get<double>() : std::numeric_limits<double>::infinity();
  return std::isfinite(value) ? value : std::numeric_limits<double>::infinity();
}

// If so, it has maps for any experiment that asks: experiments share runs.
bool measures_errors(const RunSpec& spec) {
  const auto* config = std::get_if<train::Config>(&spec);
  return config && config->record.reference;
}

std::string words_of(const Settings& settings) {
  std::vector<std::string> words;
  for (const auto& [path, value, where] : settings)
    words.push_back(path.substr(path.rfind('.') + 1) + " " + value);
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string words_of(const RunRecord& run) {
  switch (run.status) {
    case RunStatus::missing: return "not begun";
    case RunStatus::interrupted: return "interrupted, to be resumed";
    case RunStatus::elsewhere: return "another process has it";
    case RunStatus::crowded_out: return "no memory beside other runs: " + run.message;
    case RunStatus::out_of_memory: return "out of memory: " + run.message;
    case RunStatus::failed: return "failed: " + run.message;
    case RunStatus::done: break;
  }
  const Json summary = read_summary(run);
  const Json final = summary.value("final", Json::object());
  const bool task = final.contains("task");
  const Json value = final.value(task ? "validation_loss" : "residual", Json());
  const char* name = !task ? "residual" : final["task"].contains("gap") ? "gap" : "loss";
  return fmt::format("{}, {} {}, {:.1f} s", summary.value("reason", ""), name,
                     value.is_number() ? fmt::format("{:.2e}", value.get<double>()) : "not a number",
                     summary.value("seconds", 0.0));
}

// Another process has it, or it found no memory beside other runs: nothing has come of it.
bool is_to_be_asked_for_again(const RunRecord& run) {
  return run.status == RunStatus::elsewhere || run.status == RunStatus::crowded_out;
}

// The work on one cell: tuning runs, then the choice, then the reported runs.
class CellWork {
 public:
  CellWork(std::size_t plan_index, const Plan& plan, const PlannedCell& cell, const RunStore& store)
      : plan_index_(plan_index), plan_(plan), cell_(cell), store_(store), left_(plan.tunings(cell)) {
    judged_.assign(tunings(), std::numeric_limits<double>::infinity());
    tuned_.assign(tunings(), false);
    result_.cell = &cell;
    result_.seeds.resize(static_cast<std::size_t>(plan.budget->seeds));
  }

  std::size_t plan_index() const { return plan_index_; }
  bool tunes_alone() const { return plan_.tunes_alone(); }
  bool trains_alone() const { return plan_.trains_alone(); }
  std::size_t tunings() const { return plan_.tunings(cell_); }
  std::size_t seeds() const { return result_.seeds.size(); }
  const CellResult& result() const { return result_; }
  bool chosen() const { return chosen_; }

  // The outcome of a run.
  struct Came {
    RunRecord run;
    std::string words;    // empty if the run is to be asked for again
    bool chosen = false;  // the last of the tuning runs has ended, and the choice is made
  };

  Came tune(std::size_t tuning, const train::Watcher& watcher, Company company) {
    const RunSpec spec = plan_.tuning_run(cell_, tuning);
    Came came{store_.run(spec, tunes_alone(), Keep::summary, watcher, company), ""};
    if (is_to_be_asked_for_again(came.run)) return came;
    came.words = describe(words_of_tuning(tuning), came.run);
    judged_[tuning] = judged_by(came.run);
    unfinished_ += !is_result(came.run);
    if (--left_ > 0 || unfinished_ > 0) return came;
    choose();
    came.chosen = true;
    return came;
  }

  Came train(std::size_t index, const train::Watcher& watcher, Company company) {
    const RunSpec spec = plan_.run(cell_, result_.chosen, index + 1);
    const Keep keep = index == kPicturedSeed && measures_errors(spec) ? Keep::maps : Keep::history;
    Came came{store_.run(spec, trains_alone(), keep, watcher, company), ""};
    if (!is_to_be_asked_for_again(came.run))
      came.words = describe(fmt::format("seed {}", index + 1), came.run);
    return came;
  }

  // Looks up what exists already. Runs that failed are tried again.
  void look() {
    bool all = true;
    for (std::size_t i = 0; i < tunings(); ++i) {
      const RunRecord run = store_.find(plan_.tuning_run(cell_, i), tunes_alone());
      all = all && is_result(run);
      if (is_result(run)) judged_[i] = judged_by(run);
      if (run.status == RunStatus::failed) result_.failures.push_back(run);
      tuned_[i] = is_result(run);
    }
    left_ = static_cast<std::size_t>(std::count(tuned_.begin(), tuned_.end(), false));
    if (!all) return;
    choose();
    for (std::size_t s = 0; s < seeds(); ++s)
      result_.seeds[s] = store_.find(plan_.run(cell_, result_.chosen, s + 1), trains_alone());
  }
  bool was_tuned(std::size_t tuning) const { return tuned_[tuning]; }
  bool was_trained(std::size_t seed) const { return is_result(result_.seeds[seed]); }

  // A candidate is as good as on the worst of its seeds: one that only survives some of them is not chosen.
  void choose() {
    std::vector<double> worst(cell_.candidates.size(), -std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < tunings(); ++i) {
      double& loss = worst[plan_.candidate_of(cell_, i)];
      loss = std::max(loss, judged_[i]);
    }
    const auto best = std::min_element(worst.begin(), worst.end());
    result_.chosen = cell_.candidates[static_cast<std::size_t>(best - worst.begin())];
    if (plan_.tunes(cell_)) {
      result_.edges = at_the_edge(plan_, cell_, result_.chosen);
      result_.judged = std::move(worst);
    }
    chosen_ = true;
  }

 private:
  std::string words_of_tuning(std::size_t tuning) const {
    const std::string settings = words_of(cell_.candidates[plan_.candidate_of(cell_, tuning)]);
    if (plan_.budget->tuning_seeds == 1) return "tuning, " + settings;
    return fmt::format("tuning on seed {}, {}", plan_.seed_of(cell_, tuning), settings);
  }

  std::string describe(const std::string& which, const RunRecord& run) const {
    std::string words = fmt::format("{}: {} with {}, {}: {}", plan_.experiment->name, cell_.problem->name,
                                    cell_.variant->name, which, words_of(run));
    for (const auto& note : run.notes) words += "; " + note;
    return words;
  }

  std::size_t plan_index_;
  const Plan& plan_;
  const PlannedCell& cell_;
  RunStore store_;
  std::vector<bool> tuned_;     // by an earlier call
  std::vector<double> judged_;  // each written by its own task, read by the last
  std::atomic<std::size_t> left_, unfinished_ = 0;
  bool chosen_ = false;
  CellResult result_;
};

using Works = std::vector<std::vector<std::unique_ptr<CellWork>>>;  // by plan

Works works_of(std::span<const Plan> plans, const RunStore& store) {
  Works works;
  for (const auto& plan : plans) {
    auto& cells = works.emplace_back();
    for (const auto& cell : plan.cells)
      cells.push_back(std::make_unique<CellWork>(works.size() - 1, plan, cell, store));
  }
  return works;
}

// Whatever the tuning may choose: another experiment may come first with a run that this one reads the log of.
RunStore store_with_logs(std::span<const Plan> plans, const std::filesystem::path& out) {
  RunStore store = run_store(out);
  for (const auto& plan : plans) {
    if (!plan.experiment->reads_events()) continue;
    for (const auto& cell : plan.cells)
      for (const auto& candidate : cell.candidates)
        for (std::int64_t seed = 1; seed <= plan.budget->seeds; ++seed)
          store.keep_whole_log_of(plan.run(cell, candidate, static_cast<std::uint64_t>(seed)),
                                  plan.trains_alone());
  }
  return store;
}

std::vector<ExperimentResult> results_of(std::span<const Plan> plans, const Works& works) {
  std::vector<ExperimentResult> results;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    results.push_back({&plans[p], {}});
    for (const auto& work : works[p]) results.back().cells.push_back(work->result());
  }
  return results;
}

class Reproduction {
 public:
  Reproduction(std::span<const Plan> plans, const ReproduceOptions& options)
      : options_(options),
        jobs_(options.jobs > 0 ? options.jobs : available_cores()),
        works_(works_of(plans, store_with_logs(plans, options.out))),
        left_(plans, jobs_) {
    watcher_.interrupted = options.interrupted;
    watcher_.stop = options.stop;
  }

  // Runs that must be alone get rounds of their own.
  void run() {
    if (std::filesystem::exists(options_.out / "runs")) look();
    begin_all(false);
    team_.run(jobs_, options_.interrupted);
    begin_all(true);
    team_.run(1, options_.interrupted);
    add_seeds(true, 0, 1);
    team_.run(1, options_.interrupted);
    add_seeds(false, 1, kAll);
    team_.run(jobs_, options_.interrupted);
    add_seeds(true, 1, kAll);
    team_.run(1, options_.interrupted);
    options_.left(left_);
  }

 private:
  using Where = SideBySide::Where;
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  // The first cell of every experiment, then the second ones, …
  template <class Do>
  void in_turn(const Do& act) {
    std::size_t most = 0;
    for (const auto& cells : works_) most = std::max(most, cells.size());
    for (std::size_t i = 0; i < most; ++i)
      for (auto& cells : works_)
        if (i < cells.size()) act(*cells[i]);
  }

  // Runs finished by an earlier call count as done at once.
  void look() {
    in_turn([&](CellWork& work) { team_.add([&work] { work.look(); }); });
    team_.run(jobs_, options_.interrupted);
    in_turn([&](CellWork& work) {
      for (std::size_t i = 0; i < work.tunings(); ++i)
        if (work.was_tuned(i)) left_.ended(work.plan_index(), RunKind::tuning, {});
      for (std::size_t s = 0; s < work.seeds(); ++s)
        if (work.was_trained(s)) left_.ended(work.plan_index(), RunKind::training, {});
    });
  }

  // Those whose tuning runs must be alone, or the others.
  void begin_all(bool alone) {
    if (alone && !options_.times_runs) return;
    in_turn([&](CellWork& work) {
      if (work.tunes_alone() == alone) begin(work);
    });
  }

  // Tunes the settings, and trains the first seed as soon as they are chosen.
  void begin(CellWork& work) {
    bool tuned = true;
    for (std::size_t i = 0; i < work.tunings(); ++i)
      if (!work.was_tuned(i)) {
        add_tuning(work, i, Where::last);
        tuned = false;
      }
    if (!tuned) return;
    if (!work.chosen()) work.choose();
    if (!work.trains_alone()) add_seed(work, 0, Where::last);
  }

  // Those that must be alone, or the others: first all runs of one seed, then all of the next.
  void add_seeds(bool alone, std::size_t first, std::size_t end) {
    if (alone && !options_.times_runs) return;
    std::size_t most = 0;
    in_turn([&](CellWork& work) { most = std::max(most, work.seeds()); });
    for (std::size_t seed = first; seed < std::min(most, end); ++seed)
      in_turn([&](CellWork& work) {
        if (work.trains_alone() == alone && work.chosen() && seed < work.seeds())
          add_seed(work, seed, Where::last);
      });
  }

  void add_tuning(CellWork& work, std::size_t tuning, Where where) {
    team_.add(
        [this, &work, tuning, where] {
          const Stopwatch watch;
          const auto came = work.tune(tuning, watcher_, company(where));
          if (came.words.empty())
            return ask_again(came.run, [&](Where again) { add_tuning(work, tuning, again); });
          say(work, RunKind::tuning, came, watch.seconds());
          if (came.chosen && !work.trains_alone()) add_seed(work, 0, Where::first);
        },
        where);
  }

  void add_seed(CellWork& work, std::size_t seed, Where where) {
    if (work.was_trained(seed)) return;
    team_.add(
        [this, &work, seed, where] {
          const Stopwatch watch;
          const auto came = work.train(seed, watcher_, company(where));
          if (came.words.empty())
            return ask_again(came.run, [&](Where again) { add_seed(work, seed, again); });
          say(work, RunKind::training, came, watch.seconds());
        },
        where);
  }
  Company company(Where where) const {
    return jobs_ == 1 || where == Where::alone ? Company::none : Company::others;
  }

  // A run that another process has is done there, or can be taken over, after the tasks waiting here. One
  // that found no memory is repeated after all of them, by the process that times runs.
  template <class Add>
  void ask_again(const RunRecord& run, const Add& add) const {
    if (run.status == RunStatus::crowded_out) {
      if (options_.times_runs) add(Where::alone);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    add(Where::last);
  }

  void say(const CellWork& work, RunKind kind, const CellWork::Came& came, double seconds) {
    const std::lock_guard lock(saying_);
    if (has_ended(came.run))
      left_.ended(work.plan_index(), kind,
                  came.run.was_there ? std::nullopt : std::optional<double>(seconds));
    const auto seconds_left = left_.seconds();
    options_.say(fmt::format("[{}/{}{}] {}", left_.runs_ended(), left_.runs(),
                             seconds_left ? fmt::format(", {} left", rough_time(*seconds_left)) : "",
                             came.words));
  }

  const ReproduceOptions& options_;
  int jobs_;
  Works works_;
  SideBySide team_;
  train::Watcher watcher_;
  WorkLeft left_;
  std::mutex saying_;
};

}  // namespace

bool ExperimentResult::complete() const {
  return std::all_of(cells.begin(), cells.end(), [](const CellResult& cell) {
    return std::all_of(cell.seeds.begin(), cell.seeds.end(), is_result);
  });
}

std::size_t ExperimentResult::failures() const {
  std::size_t count = 0;
  for (const auto& cell : cells)
    count += cell.failures.size() + static_cast<std::size_t>(std::count_if(
                                        cell.seeds.begin(), cell.seeds.end(), [](const RunRecord& run) {
                                          return run.status == RunStatus::failed;
                                        }));
  return count;
}

RunStore run_store(const std::filesystem::path& out) { return RunStore(out / "runs"); }

Estimate estimate(std::span<const Plan> plans) {
  Estimate e;
  for (const auto& plan : plans) {
    e.runs += plan.runs();
    e.cells += plan.cells.size();
    e.seconds += plan.budget->cost;
    e.known = e.known && plan.budget->cost > 0;
  }
  return e;
}

std::vector<ExperimentResult> reproduce(std::span<const Plan> plans, const ReproduceOptions& options) {
  for (const auto& plan : plans) train::require_device(plan.device);
  Reproduction(plans, options).run();
  return collect(plans, options.out);  // also what earlier calls did and an interrupted one did not get to
}

std::vector<ExperimentResult> collect(std::span<const Plan> plans, const std::filesystem::path& out) {
  const Works works = works_of(plans, run_store(out));
  for (const auto& cells : works)
    for (const auto& work : cells) work->look();
  return results_of(plans, works);
}

}  // namespace lather::experiment
