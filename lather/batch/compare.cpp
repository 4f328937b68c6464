#include "lather/batch/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>

#include "lather/batch/task_queue.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/train/run_folder/run_folder.hpp"

namespace lather::batch {

namespace {

namespace fs = std::filesystem;

void check_labels(const std::vector<Contestant>& contestants) {
  if (contestants.empty()) throw Error("no optimizers are given");
  std::vector<std::string> labels;
  for (const auto& one : contestants) {
    if (one.label.empty() || one.label.find_first_of("/:. ") != std::string::npos)
      throw Error(fmt::format("'{}' cannot be the label of an optimizer: it names folders", one.label));
    if (std::find(labels.begin(), labels.end(), one.label) != labels.end())
      throw Error(fmt::format("'{0}' is there twice; call one of them something else: other={0}", one.label));
    labels.push_back(one.label);
  }
}

void write_comparison_tables(const report::Table& table, const fs::path& folder) {
  write_file_atomically(folder / "table.md", report::to_markdown(table));
  write_file_atomically(folder / "table.csv", report::to_csv(table));
  write_file_atomically(folder / "table.tex", report::to_latex(table));
}

class ComparisonWork {
 public:
  ComparisonWork(const ComparisonRequest& request, const ComparedRuns& runs, const CompareOptions& options)
      : request_(request), runs_(runs), options_(options), summaries_(runs.size()) {
    for (std::size_t i = 0; i < runs.size(); ++i) summaries_[i].resize(runs[i].size());
  }

  ComparisonResult go() {
    train::create_folder(options_.out);
    const auto stop = [this] { return interrupted_ || options_.interrupted(); };
    const auto each = [this](const auto& visit) {
      for (std::size_t i = 0; i < runs_.size(); ++i)
        for (std::size_t s = 0; s < runs_[i].size(); ++s) visit(i, s);
    };
    if (options_.jobs > 1) {
      TaskQueue team;
      each([&](std::size_t i, std::size_t s) { team.add([this, i, s] { train_one(i, s); }); });
      team.run(options_.jobs, stop);
    } else {  // in this thread, which may be the one allowed to draw on the screen
      each([&](std::size_t i, std::size_t s) {
        if (!stop()) train_one(i, s);
      });
    }
    write();
    ComparisonResult result{groups(), {}, true};
    result.table = report::comparison_table(result.groups, options_.step);
    for (const auto& list : summaries_)
      for (const auto& summary : list) result.complete = result.complete && !summary.is_null();
    return result;
  }

 private:
  void train_one(std::size_t i, std::size_t s) try {
    const auto scope = StopScope::with(options_.stop);
    const auto& [config, folder] = runs_[i][s];
    const fs::path path = options_.out / folder;
    require_found_folder(path);
    auto summary = train::finished_summary(config, path);
    if (summary.is_null()) {
      say(fmt::format("{} with {}, seed {}", config.problem.name, request_.contestants[i].label,
                      config.seed));
      auto session = train::begin_or_resume_session(config, path);
      for (const auto& message : session.messages) say(message);
      const auto outcome = options_.train ? options_.train(session) : trained(session);
      if (outcome.reason == train::EndReason::interrupted) {
        interrupted_ = true;
        return;
      }
      summary = options::to_json(outcome.summary);
    }
    const std::lock_guard lock(mutex_);
    summaries_[i][s] = std::move(summary);
    if (std::none_of(summaries_[i].begin(), summaries_[i].end(),
                     [](const auto& one) { return one.is_null(); }))
      write();
  } catch (const Interrupted&) {
    interrupted_ = true;
  }

  train::Outcome trained(train::Session& session) const {
    train::Watcher watcher;
    watcher.interrupted = options_.interrupted;
    watcher.stop = options_.stop;
    return train::run(*session.trainer, *session.folder, watcher, session.seconds);
  }

  void say(const std::string& words) {
    const std::lock_guard lock(mutex_);
    options_.say(words);
  }

  std::vector<report::RunGroup> groups() const {
    std::vector<report::RunGroup> list;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      report::RunGroup group{request_.contestants[i].label, {}};
      for (const auto& summary : summaries_[i])
        if (!summary.is_null()) group.summaries.push_back(summary);
      if (!group.summaries.empty()) list.push_back(std::move(group));
    }
    return list;
  }

  void write() const {
    if (const auto list = groups(); !list.empty())
      write_comparison_tables(report::comparison_table(list, options_.step), options_.out);
  }

  const ComparisonRequest& request_;
  const ComparedRuns& runs_;
  const CompareOptions& options_;
  std::vector<std::vector<nlohmann::json>> summaries_;  // null: not done
  std::mutex mutex_;
  std::atomic<bool> interrupted_ = false;
};

}  // namespace

ComparedRuns compared_runs(const ComparisonRequest& wanted) {
  check_labels(wanted.contestants);
  if (wanted.seeds.empty()) throw Error("no seeds are given");
  ComparedRuns runs;
  for (const auto& one : wanted.contestants) {
    auto& list = runs.emplace_back();
    train::ConfigRequest request = wanted.request;
    request.optimizer = one.optimizer;
    request.settings.insert(request.settings.end(), one.settings.begin(), one.settings.end());
    for (const auto seed : wanted.seeds) {
      request.seed = seed;
      auto config = train::resolve(request);
      if (wanted.equal_time) train::limit_by_time_only(config);
      list.push_back({std::move(config), fmt::format("{}-{}", one.label, seed)});
    }
  }
  return runs;
}

fs::path comparison_folder(const std::string& chosen, const std::string& problem) {
  fs::path folder =
      chosen.empty() ? train::create_unused_folder("runs", "compare-" + problem) : fs::path(chosen);
  train::create_folder(folder);
  std::string other;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() == "table.md" || is_there(entry.path() / "config.json")) return folder;
    other = entry.path().filename().string();
  }
  if (!other.empty())
    throw Error(fmt::format(
        "the folder '{}' is neither empty nor that of a comparison (it holds '{}'); give another one",
        folder.string(), other));
  return folder;
}

ComparisonResult run_comparison(const ComparisonRequest& request, const ComparedRuns& runs,
                                const CompareOptions& options) {
  return ComparisonWork(request, runs, options).go();
}

}  // namespace lather::batch
