#include "lather/batch/sweep/run_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "lather/batch/task_queue.hpp"
#include "lather/core/device.hpp"
#include "lather/core/error.hpp"
#include "lather/core/threads.hpp"

namespace lather::batch {

namespace {

constexpr double kWorst = std::numeric_limits<double>::infinity();

// Where a run pauses: at the first validation at or after a step, or after a number of seconds.
struct Goal {
  double step = kWorst, seconds = kWorst;
  bool whole = false;  // it does not pause
};

bool runs_by_time(const Sweep& sweep) { return sweep.seconds > 0 && sweep.steps == 0; }

Goal goal_of(const Sweep& sweep, const train::Config& config, std::int64_t round, std::int64_t rounds) {
  if (round + 1 == rounds) return {kWorst, kWorst, true};
  const double share = share_of_round(sweep, round);
  if (runs_by_time(sweep)) return {kWorst, share * sweep.seconds, false};
  const auto every = static_cast<double>(config.record.validate_every);
  return {std::ceil(share * static_cast<double>(config.stop.steps) / every) * every, kWorst, false};
}

// The metric at the last validation up to the goal; infinite if there was none.
double value_at(const std::vector<CurvePoint>& curve, const Goal& goal) {
  double value = kWorst;
  for (const auto& point : curve)
    if (point.step <= goal.step && point.seconds <= goal.seconds) value = point.value;
  return std::isfinite(value) ? value : kWorst;
}

bool reached(const std::vector<CurvePoint>& curve, const Goal& goal) {
  return !goal.whole && std::any_of(curve.begin(), curve.end(), [&](const CurvePoint& point) {
    return point.step >= goal.step || point.seconds >= goal.seconds;
  });
}

// Geometric mean: the metrics are errors, and one seed must not outweigh the rest by being worse.
double score_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::isfinite(value) ? std::log(std::max(value, 1e-300)) : kWorst;
  return values.empty() ? kWorst : std::exp(sum / static_cast<double>(values.size()));
}

class SweepWork {
 public:
  SweepWork(const Sweep& sweep, const SweepOptions& options)
      : sweep_(sweep), options_(options), store_(options.out / "runs") {
    result_.rounds = sweep.search == Search::halving ? sweep.rounds : 1;
    for (auto& point : sweep_points(sweep)) {
      PointResult entry;
      entry.point = std::move(point);
      entry.runs.resize(sweep.seeds.size());
      entry.values.assign(sweep.seeds.size(), kWorst);
      result_.points.push_back(std::move(entry));
      configs_.emplace_back();
      for (const auto seed : sweep.seeds)  // mistakes show before time is spent
        configs_.back().push_back(sweep_run(sweep, result_.points.back().point, seed, options.device));
    }
  }

  SweepResult go(bool train) {
    std::vector<std::size_t> alive(result_.points.size());
    for (std::size_t i = 0; i < alive.size(); ++i) alive[i] = i;
    for (std::int64_t round = 0; round < result_.rounds; ++round) {
      for (const auto i : alive) result_.points[i].round = round;
      count_ = alive.size() * sweep_.seeds.size();
      ended_ = 0;
      if (train) train_all(alive, round);
      for (const auto i : alive) look(i, round);
      std::stable_sort(alive.begin(), alive.end(), [&](std::size_t a, std::size_t b) {
        return result_.points[a].score < result_.points[b].score;
      });
      result_.complete =
          std::all_of(alive.begin(), alive.end(), [&](std::size_t i) { return result_.points[i].finished; });
      if (!result_.complete) break;
      const auto factor = static_cast<std::size_t>(sweep_.factor);
      if (round + 1 < result_.rounds) alive.resize((alive.size() + factor - 1) / factor);
    }
    std::stable_sort(result_.points.begin(), result_.points.end(), [](const auto& a, const auto& b) {
      return a.round != b.round ? a.round > b.round : a.score < b.score;
    });
    return std::move(result_);
  }

 private:
  void train_all(const std::vector<std::size_t>& alive, std::int64_t round) {
    TaskQueue team;
    for (std::size_t s = 0; s < sweep_.seeds.size(); ++s)
      for (const auto i : alive)
        team.add([this, &team, i, s, round] {
          if (train_one(i, s, round, Company::others).status != RunStatus::crowded_out) return;
          team.add([this, i, s, round] { train_one(i, s, round, Company::none); }, TaskQueue::Where::alone);
        });
    team.run(options_.jobs > 0 ? options_.jobs : available_cores(), options_.interrupted);
  }

  RunRecord train_one(std::size_t i, std::size_t s, std::int64_t round, Company company) {
    const auto& config = configs_[i][s];
    const Goal goal = goal_of(sweep_, config, round, result_.rounds);
    RunRecord run = store_.find(config);
    if (!has_ended(run) && !reached(curve_of(run.folder, sweep_.metric), goal)) {
      bool paused = false;  // set by the training thread
      train::Watcher watcher;
      watcher.progress = [&](const train::Progress& p) {
        const bool looked = p.metrics && p.metrics->step == p.step;
        paused = looked && (static_cast<double>(p.step) >= goal.step || p.seconds >= goal.seconds);
      };
      watcher.interrupted = [&] { return paused || options_.interrupted(); };
      watcher.stop = options_.stop;
      run = store_.run(config, sweep_.keep, watcher, company);
    }
    if (run.status != RunStatus::crowded_out) say(i, s, run, goal);
    return run;
  }

  void look(std::size_t i, std::int64_t round) {
    PointResult& point = result_.points[i];
    point.finished = true;
    for (std::size_t s = 0; s < sweep_.seeds.size(); ++s) {
      const Goal goal = goal_of(sweep_, configs_[i][s], round, result_.rounds);
      RunRecord& run = point.runs[s] = store_.find(configs_[i][s]);
      const auto curve = curve_of(run.folder, sweep_.metric);
      if (s == 0) point.curve = curve;
      point.finished = point.finished && (has_ended(run) || reached(curve, goal));
      point.values[s] = goal.whole ? last_value(run, curve) : value_at(curve, goal);
      if (diverged(run)) point.values[s] = kWorst;
    }
    point.score = score_of(point.values);
  }

  static bool diverged(const RunRecord& run) {
    if (run.status == RunStatus::failed || run.status == RunStatus::out_of_memory) return true;
    const auto summary = read_summary(run);
    return summary.is_object() && summary.value("reason", "") == "non_finite";
  }

  // For a run that has ended, the value at its best step, which is its result.
  double last_value(const RunRecord& run, const std::vector<CurvePoint>& curve) const {
    if (run.status != RunStatus::done) return value_at(curve, {});
    const double value = value_at_best(run.folder, sweep_.metric);
    return std::isfinite(value) ? value : kWorst;
  }

  void say(std::size_t i, std::size_t s, const RunRecord& run, const Goal& goal) {
    const auto curve = curve_of(run.folder, sweep_.metric);
    std::string words = run.status == RunStatus::failed          ? "failed: " + run.message
                        : run.status == RunStatus::out_of_memory ? "out of memory"
                        : has_ended(run)                         ? run.message
                        : reached(curve, goal)                   ? "round done"
                                                                 : "interrupted, to be resumed";
    if (has_ended(run) || reached(curve, goal))
      words += fmt::format(", {} {:.3g}", name_of(sweep_.metric),
                           goal.whole ? last_value(run, curve) : value_at(curve, goal));
    const std::lock_guard lock(saying_);
    options_.say(fmt::format("[{}/{}] {}, seed {}: {}", ++ended_, count_, result_.points[i].point.label,
                             sweep_.seeds[s], words));
  }

  const Sweep& sweep_;
  const SweepOptions& options_;
  RunStore store_;
  std::vector<std::vector<train::Config>> configs_;  // by point, by seed
  SweepResult result_;
  std::mutex saying_;
  std::size_t count_ = 0, ended_ = 0;
};

}  // namespace

double share_of_round(const Sweep& sweep, std::int64_t round) {
  const std::int64_t rounds = sweep.search == Search::halving ? sweep.rounds : 1;
  return std::pow(static_cast<double>(sweep.factor), static_cast<double>(round + 1 - rounds));
}

std::filesystem::path sweep_folder(const std::string& chosen, const Sweep& sweep) {
  namespace fs = std::filesystem;
  fs::path folder = chosen.empty() ? fs::path("runs") / ("sweep-" + sweep.name) : fs::path(chosen);
  if (!fs::exists(folder)) return folder;
  if (!fs::is_directory(folder))
    throw Error(fmt::format("'{}' is a file; expected a folder", folder.string()));
  if (fs::exists(folder / "table.md") || fs::exists(folder / "runs")) return folder;
  for (const auto& entry : fs::directory_iterator(folder))
    throw Error(
        fmt::format("the folder '{}' is neither empty nor that of a sweep (it holds '{}'); give another one",
                    folder.string(), entry.path().filename().string()));
  return folder;
}

SweepResult run_sweep(const Sweep& sweep, const SweepOptions& options) {
  train::require_device(options.device);
  return SweepWork(sweep, options).go(true);
}

SweepResult collect_sweep(const Sweep& sweep, const std::filesystem::path& out, Device device) {
  SweepOptions options;
  options.out = out;
  options.device = device;
  return SweepWork(sweep, options).go(false);
}

}  // namespace lather::batch
