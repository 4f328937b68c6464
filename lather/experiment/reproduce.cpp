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
#include <thread>

#include "lather/core/device.hpp"
#include "lather/core/error.hpp"
#include "lather/core/threads.hpp"
#include "lather/experiment/side_by_side.hpp"

namespace lather::experiment {

namespace {

using Json = nlohmann::json;

bool has_ended(const RunRecord& run) {
  return run.status != RunStatus::missing && run.status != RunStatus::interrupted &&
         run.status != RunStatus::elsewhere;
}

// The held-out loss at the last step: what settings are chosen by. Not a number: worse than any.
double judged_by(const RunRecord& run) {
  const Json summary = read_summary(run);
  if (!summary.is_object() || summary.value("reason", "") == "non_finite")
    return std::numeric_limits<double>::infinity();
  const Json& loss = summary["final"]["validation_loss"];
  const double value = loss.is_number() ? loss.get<double>() : std::numeric_limits<double>::infinity();
  return std::isfinite(value) ? value : std::numeric_limits<double>::infinity();
}

// Then there are maps of it, for whichever experiment asks: they share runs.
bool measures_errors(const RunSpec& spec) {
  const auto* config = std::get_if<train::Config>(&spec);
  return config && config->record.reference;
}

std::string words_of(const Settings& settings) {
  std::vector<std::string> words;
  for (const auto& [path, value] : settings) words.push_back(path.substr(path.rfind('.') + 1) + " " + value);
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string words_of(const RunRecord& run) {
  switch (run.status) {
    case RunStatus::missing: return "not begun";
    case RunStatus::interrupted: return "interrupted, to be resumed";
    case RunStatus::elsewhere: return "another process has it";
    case RunStatus::out_of_memory: return "out of memory: " + run.message;
    case RunStatus::failed: return "failed: " + run.message;
    case RunStatus::done: break;
  }
  const Json summary = read_summary(run);
  const bool task = summary["final"].contains("task");
  const Json& value = summary["final"][task ? "validation_loss" : "residual"];
  return fmt::format("{}, {} {}, {:.1f} s", summary.value("reason", ""), task ? "loss" : "residual",
                     value.is_number() ? fmt::format("{:.2e}", value.get<double>()) : "not a number",
                     summary.value("seconds", 0.0));
}

// One cell on its way: tuning runs, then the choice, then the reported runs.
class CellWork {
 public:
  CellWork(const Plan& plan, const PlannedCell& cell, const RunStore& store)
      : plan_(plan), cell_(cell), store_(store), left_(cell.candidates.size()) {
    judged_.assign(cell.candidates.size(), std::numeric_limits<double>::infinity());
    result_.cell = &cell;
    result_.seeds.resize(static_cast<std::size_t>(plan.budget->seeds));
  }

  bool tunes() const { return plan_.tunes(cell_); }
  bool timed() const { return plan_.experiment->timed(); }
  std::size_t candidates() const { return cell_.candidates.size(); }
  std::size_t seeds() const { return result_.seeds.size(); }
  const CellResult& result() const { return result_; }
  bool chosen() const { return chosen_; }

  // What became of a run: `words` are empty where another process has it, and it is to be asked for again.
  // The last of the candidates to end makes the choice; true: it was made by this call.
  bool tune(std::size_t candidate, const train::Watcher& watcher, std::string& words) {
    const auto& settings = cell_.candidates[candidate];
    const RunRecord run = store_.run(plan_.tuning_run(cell_, settings), false, Keep::summary, watcher);
    if (run.status == RunStatus::elsewhere) return false;
    words = describe(fmt::format("tuning, {}", words_of(settings)), run);
    judged_[candidate] = judged_by(run);
    unfinished_ += !has_ended(run);
    if (--left_ > 0 || unfinished_ > 0) return false;
    choose();
    return true;
  }

  void train(std::size_t index, const train::Watcher& watcher, std::string& words) {
    const RunSpec spec = plan_.run(cell_, result_.chosen, index + 1);
    const Keep keep = index == kPicturedSeed && measures_errors(spec) ? Keep::maps : Keep::history;
    result_.seeds[index] = store_.run(spec, timed(), keep, watcher);
    if (result_.seeds[index].status == RunStatus::elsewhere) return;
    words = describe(fmt::format("seed {}", index + 1), result_.seeds[index]);
  }

  // What is there already.
  void look() {
    if (tunes()) {
      for (std::size_t i = 0; i < candidates(); ++i) {
        const RunRecord run = store_.find(plan_.tuning_run(cell_, cell_.candidates[i]), false);
        if (!has_ended(run)) return;
        judged_[i] = judged_by(run);
      }
    }
    choose();
    for (std::size_t s = 0; s < seeds(); ++s)
      result_.seeds[s] = store_.find(plan_.run(cell_, result_.chosen, s + 1), timed());
  }

  void choose() {
    const auto best = std::min_element(judged_.begin(), judged_.end());
    result_.chosen = cell_.candidates[static_cast<std::size_t>(best - judged_.begin())];
    if (tunes()) result_.edges = at_the_edge(plan_, cell_, result_.chosen);
    if (tunes()) result_.judged = judged_;
    chosen_ = true;
  }

 private:
  std::string describe(const std::string& which, const RunRecord& run) const {
    return fmt::format("{}: {} with {}, {}: {}", plan_.experiment->name, cell_.problem->name,
                       cell_.variant->name, which, words_of(run));
  }

  const Plan& plan_;
  const PlannedCell& cell_;
  RunStore store_;
  std::vector<double> judged_;  // each written by its own task, read by the last
  std::atomic<std::size_t> left_, unfinished_ = 0;
  bool chosen_ = false;
  CellResult result_;
};

using Works = std::vector<std::vector<std::unique_ptr<CellWork>>>;  // by plan

Works works_of(std::span<const Plan> plans, const RunStore& store) {
  Works works;
  for (const auto& plan : plans) {
    works.emplace_back();
    for (const auto& cell : plan.cells) works.back().push_back(std::make_unique<CellWork>(plan, cell, store));
  }
  return works;
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
      : plans_(plans), options_(options), works_(works_of(plans, run_store(options.out))) {
    for (const auto& plan : plans) runs_ += plan.runs();
    watcher_.interrupted = options.interrupted;
  }

  void run() {
    const int jobs = options_.jobs > 0 ? options_.jobs : available_cores();
    for (auto& cells : works_)
      for (auto& work : cells) begin(*work);
    team_.run(jobs, options_.interrupted);
    for (auto& cells : works_)  // timed runs stand alone
      for (auto& work : cells)
        if (work->timed() && work->chosen() && options_.times_runs) add_training(*work);
    team_.run(1, options_.interrupted);
  }

 private:
  void begin(CellWork& work) {
    if (!work.tunes()) {
      work.choose();
      if (!work.timed()) add_training(work);
      return;
    }
    for (std::size_t i = 0; i < work.candidates(); ++i) add_tuning(work, i);
  }

  void add_tuning(CellWork& work, std::size_t candidate) {
    team_.add([this, &work, candidate] {
      std::string words;
      const bool chosen = work.tune(candidate, watcher_, words);
      if (words.empty()) return ask_again([&] { add_tuning(work, candidate); });
      say(words);
      if (chosen && !work.timed()) add_training(work);
    });
  }

  void add_training(CellWork& work) {
    for (std::size_t s = work.seeds(); s-- > 0;)
      add_seed(work, s, work.timed() ? SideBySide::Where::last : SideBySide::Where::first);
  }
  void add_seed(CellWork& work, std::size_t seed, SideBySide::Where where) {
    team_.add(
        [this, &work, seed] {
          std::string words;
          work.train(seed, watcher_, words);
          if (words.empty()) return ask_again([&] { add_seed(work, seed, SideBySide::Where::last); });
          say(words);
        },
        where);
  }
  // Another process has the run: after those that wait here, it is done there, or can be taken up.
  template <class Add>
  static void ask_again(const Add& add) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    add();
  }

  void say(const std::string& words) {
    const std::lock_guard lock(saying_);
    options_.say(fmt::format("[{}/{}] {}", ++ended_, runs_, words));
  }

  std::span<const Plan> plans_;
  const ReproduceOptions& options_;
  Works works_;
  SideBySide team_;
  train::Watcher watcher_;
  std::mutex saying_;
  std::size_t runs_ = 0, ended_ = 0;
};

}  // namespace

bool ExperimentResult::complete() const {
  return std::all_of(cells.begin(), cells.end(), [](const CellResult& cell) {
    return std::all_of(cell.seeds.begin(), cell.seeds.end(), has_ended);
  });
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
  return collect(plans, options.out);  // also what earlier calls did, and an interrupted one did not come to
}

std::vector<ExperimentResult> collect(std::span<const Plan> plans, const std::filesystem::path& out) {
  const Works works = works_of(plans, run_store(out));
  for (const auto& cells : works)
    for (const auto& work : cells) work->look();
  return results_of(plans, works);
}

}  // namespace lather::experiment
