// Sweeps and comparisons.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <optional>

#include "lather/batch/compare.hpp"
#include "lather/batch/sweep/sweep_page.hpp"
#include "lather/capi/handles.hpp"
#include "lather/capi/settings.hpp"
#include "lather/core/formats/toml.hpp"
#include "lather/train/run_folder/run_folder.hpp"

namespace lather::capi {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct SweepCallOptions {
  std::int64_t jobs = 0;
  Device device = Device::cpu;
  bool collect = false;
  void fields(FieldVisitor& v) {
    v.integer("jobs", jobs, "trainings at a time; 0: one per core", between(0, 256));
    v.choice("device", device, "", {{"cpu", Device::cpu}, {"cuda", Device::cuda}});
    v.boolean("collect", collect, "train nothing");
  }
};

struct CompareCallOptions {
  std::int64_t jobs = 1;
  bool equal_time = false, last = false;
  void fields(FieldVisitor& v) {
    v.integer("jobs", jobs, "trainings at a time", between(1, 256));
    v.boolean("equal_time", equal_time, "time alone ends a run");
    v.boolean("last", last, "the table shows the last step, not the best one");
  }
};

struct ContestantOptions {
  std::string name, label;
  void fields(FieldVisitor& v) {
    v.text("name", name, "of the optimizer");
    v.text("label", label, "of its runs");
  }
};

// The caller's functions, in the form the library needs.
struct Callers {
  explicit Callers(const lather_runs_watcher* watcher) {
    if (watcher) known = known_part(*watcher, "lather_runs_watcher");
  }
  // A function that throws ends the runs, which are saved.
  void say(const std::string& text) {
    if (!known.message || failed) return;
    try {
      called_back("lather_runs_watcher.message", [&] { known.message(known.user, text.c_str()); });
    } catch (const CallbackFailed& error) {
      failure = error;
      failed = true;
    }
  }
  bool stopped() const {
    return failed || (known.stop && __atomic_load_n(known.stop, __ATOMIC_RELAXED) != 0);
  }
  void require_success() const {
    if (failed) throw *failure;
  }

  lather_runs_watcher known{};
  std::optional<CallbackFailed> failure;  // written once, by the one thread that speaks
  std::atomic<bool> failed = false;
};

Json points_json(const batch::Sweep& sweep, const batch::SweepResult& result) {
  Json points = Json::array();
  for (const auto& entry : result.points) {
    Json values = Json::object(), runs = Json::array();
    for (const auto& [path, value, where] : entry.point.values) values[path] = value;
    for (const auto& run : entry.runs) runs.push_back(run.folder.string());
    points.push_back({{"label", entry.point.label},
                      {"optimizer", sweep.optimizers[entry.point.optimizer].label},
                      {"values", values},
                      {"score", std::isfinite(entry.score) ? Json(entry.score) : Json(nullptr)},
                      {"round", entry.round},
                      {"finished", entry.finished},
                      {"runs", runs}});
  }
  return points;
}

Json sweep_result(const lather_problem* problem, const char* text, const char* folder,
                  const char* options_text, Callers& callers) {
  const auto wanted = options::from_json<SweepCallOptions>("options", parse_object(options_text, "options"));
  batch::GivenProblem given;
  if (problem) given = {problem->source.file, problem->source.text};
  const auto sweep = batch::read_sweep(parse_toml(required_text(text, "sweep"), "sweep"),
                                       problem ? problem->source.name : "sweep", problem ? &given : nullptr);
  batch::SweepOptions options;
  options.out = batch::sweep_folder(folder ? folder : "", sweep);
  options.jobs = static_cast<int>(wanted.jobs);
  options.device = wanted.device;
  options.say = [&](const std::string& words) { callers.say(words); };
  Stop stop(interrupts_of_this_thread(), callers.known.stop);
  options.stop = &stop;
  options.interrupted = [&] { return callers.stopped() || stop.asked(); };
  const auto to_its_end = StopScope::only(nullptr);  // but for the runs
  const auto result = wanted.collect ? batch::collect_sweep(sweep, options.out, options.device)
                                     : batch::run_sweep(sweep, options);
  if (!result.complete && stop.asked()) heed_interrupt();
  callers.require_success();
  batch::write_sweep(sweep, result, options.out);
  return {{"complete", result.complete},
          {"folder", options.out.string()},
          {"page", (options.out / "index.html").string()},
          {"table", report::to_markdown(batch::sweep_table(sweep, result))},
          {"metric", name_of(sweep.metric)},
          {"points", points_json(sweep, result)}};
}

std::vector<batch::Contestant> read_contestants(const char* text) {
  const Json list = train::parse_json(required_text(text, "optimizers"), "optimizers");
  if (!list.is_array() || list.empty())
    throw Error("optimizers: expected a list with at least one optimizer");
  std::vector<batch::Contestant> contestants;
  for (Json item : list) {
    if (!item.is_object()) throw Error("optimizers: expected objects with name, label and set");
    batch::Settings settings;
    if (const auto changes = item.find("set"); changes != item.end()) {
      settings = read_changes(*changes);
      item.erase(changes);
    }
    const auto one = options::from_json<ContestantOptions>("optimizers", item);
    contestants.push_back({one.label.empty() ? one.name : one.label, one.name, std::move(settings)});
  }
  return contestants;
}

std::vector<std::uint64_t> take_seeds(Json& json) {
  std::vector<std::uint64_t> seeds{0, 1, 2};
  const auto found = json.find("seeds");
  if (found == json.end()) return seeds;
  seeds.clear();
  if (!found->is_array()) throw Error("options: seeds: expected a list");
  for (const auto& seed : *found) {
    if (!seed.is_number_unsigned()) throw Error("options: seeds: expected whole numbers, at least 0");
    seeds.push_back(seed.get<std::uint64_t>());
  }
  json.erase(found);
  return seeds;
}

Json comparison_result(const lather_problem& problem, const char* optimizers, const char* settings,
                       const char* folder, const char* options_text, Callers& callers) {
  Json json = parse_object(options_text, "options");
  batch::ComparisonRequest request;
  request.seeds = take_seeds(json);
  const auto wanted = options::from_json<CompareCallOptions>("options", json);
  request.request = read_settings(settings, problem.source);
  if (wanted.jobs > 1 && request.request.threads == 0) request.request.threads = 1;
  request.contestants = read_contestants(optimizers);
  request.equal_time = wanted.equal_time;
  const auto runs = batch::compared_runs(request);
  batch::CompareOptions options;
  options.out = batch::comparison_folder(folder ? folder : "", problem.source.name);
  options.jobs = static_cast<int>(wanted.jobs);
  options.step = wanted.last ? report::ShownStep::last : report::ShownStep::best;
  options.say = [&](const std::string& words) { callers.say(words); };
  Stop stop(interrupts_of_this_thread(), callers.known.stop);
  options.stop = &stop;
  options.interrupted = [&] { return callers.stopped() || stop.asked(); };
  const auto to_its_end = StopScope::only(nullptr);  // but for the runs
  const auto result = batch::run_comparison(request, runs, options);
  if (!result.complete && stop.asked()) heed_interrupt();
  callers.require_success();
  Json groups = Json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    groups.push_back({{"name", request.contestants[i].label}, {"runs", Json::array()}});
    for (const auto& run : runs[i]) groups.back()["runs"].push_back((options.out / run.folder).string());
  }
  return {{"complete", result.complete},
          {"folder", options.out.string()},
          {"table", report::to_markdown(result.table)},
          {"groups", groups}};
}

}  // namespace

extern "C" {

std::int32_t lather_sweep(const lather_problem* problem, const char* sweep, const char* folder,
                          const char* options, const lather_runs_watcher* watcher, const char** result) {
  return guarded([&] {
    required(result, "the pointer for the result");
    Callers callers(watcher);
    std::optional<In<const lather_problem>> given;
    if (problem) given.emplace(problem, "problem", Use::share);
    give_json(result, sweep_result(problem, sweep, folder, options, callers));
  });
}

std::int32_t lather_compare(const lather_problem* problem, const char* optimizers, const char* settings,
                            const char* folder, const char* options, const lather_runs_watcher* watcher,
                            const char** result) {
  return guarded([&] {
    required(result, "the pointer for the result");
    Callers callers(watcher);
    const In given(problem, "problem", Use::share);
    give_json(result, comparison_result(*given, optimizers, settings, folder, options, callers));
  });
}

}  // extern "C"

}  // namespace lather::capi
