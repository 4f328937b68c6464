#include "lather/batch/sweep/sweep_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lather/core/files.hpp"
#include "lather/core/version.hpp"
#include "lather/report/html_report.hpp"
#include "lather/report/run_data.hpp"
#include "lather/train/run_folder/run_folder.hpp"

namespace lather::batch {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostCurves = 20;

OrderedJson number_or_null(double value) {
  return std::isfinite(value) ? OrderedJson(report::six_digits(value)) : OrderedJson(nullptr);
}

// Paths for which any point has a value, in the order of the file.
std::vector<std::string> paths_of(const SweepResult& result) {
  std::vector<std::string> paths;
  for (const auto& entry : result.points)
    for (const auto& [path, value, where] : entry.point.values)
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  return paths;
}

std::string value_at_path(const PointResult& entry, const std::string& path) {
  for (const auto& setting : entry.point.values)
    if (setting.path == path) return setting.value;
  return "";
}

double seconds_of(const PointResult& entry) {
  double seconds = 0;
  for (const auto& run : entry.runs)
    if (is_there(run.folder / "summary.json"))
      seconds += train::read_json(run.folder / "summary.json").value("seconds", 0.0);
  return seconds;
}

std::string state_of(const PointResult& entry, const SweepResult& result) {
  for (const auto& run : entry.runs)
    if (run.status == RunStatus::failed || run.status == RunStatus::out_of_memory)
      return "failed: " + run.message;
  if (!entry.finished) return "not finished";
  if (entry.round + 1 < result.rounds) return fmt::format("left out after round {}", entry.round + 1);
  return entry.runs.size() == 1 ? entry.runs[0].message : "done";
}

OrderedJson point_json(const PointResult& entry, const SweepResult& result,
                       const std::filesystem::path& folder, bool with_curve, const Sweep& sweep) {
  OrderedJson values = OrderedJson::object();
  for (const auto& [path, value, where] : entry.point.values) {
    const auto parsed = OrderedJson::parse(value, nullptr, false);
    values[path] = parsed.is_discarded() ? OrderedJson(value) : parsed;
  }
  OrderedJson runs = OrderedJson::array();
  for (std::size_t s = 0; s < entry.runs.size(); ++s) {
    std::error_code status;
    const auto time = std::filesystem::last_write_time(entry.runs[s].folder / "summary.json", status);
    runs.push_back(
        {{"seed", sweep.seeds[s]},
         {"value", number_or_null(entry.values[s])},
         {"folder", entry.runs[s].folder.lexically_relative(folder).string()},
         {"ended", status ? OrderedJson(nullptr) : OrderedJson(time.time_since_epoch().count() / 1000000)}});
  }
  OrderedJson json{{"label", entry.point.label},
                   {"optimizer", sweep.optimizers[entry.point.optimizer].label},
                   {"values", values},
                   {"score", number_or_null(entry.score)},
                   {"round", entry.round + 1},
                   {"state", state_of(entry, result)},
                   {"seconds", number_or_null(seconds_of(entry))},
                   {"runs", runs}};
  if (!with_curve) return json;
  OrderedJson curve{
      {"step", OrderedJson::array()}, {"seconds", OrderedJson::array()}, {"value", OrderedJson::array()}};
  for (const auto& point : entry.curve) {
    curve["step"].push_back(point.step);
    curve["seconds"].push_back(number_or_null(point.seconds));
    curve["value"].push_back(number_or_null(point.value));
  }
  json["curve"] = curve;
  return json;
}

}  // namespace

report::Table sweep_table(const Sweep& sweep, const SweepResult& result) {
  report::Table table{{"rank"}, {}};
  const auto paths = paths_of(result);
  const bool several = sweep.optimizers.size() > 1;
  if (several) table.header.push_back("optimizer");
  for (const auto& path : paths) table.header.push_back(path);
  for (const auto* name : {"", "seconds", "state"})
    table.header.push_back(*name ? std::string(name) : std::string(name_of(sweep.metric)));
  int rank = 0;
  for (const auto& entry : result.points) {
    std::vector<report::Cell> row{{std::to_string(++rank), {}}};
    if (several) row.push_back({sweep.optimizers[entry.point.optimizer].label, {}});
    for (const auto& path : paths) row.push_back({value_at_path(entry, path), {}});
    row.push_back({std::isfinite(entry.score) ? fmt::format("{:.3e}", entry.score) : "-", {}});
    row.push_back({fmt::format("{:.1f}", seconds_of(entry)), {}});
    row.push_back({state_of(entry, result), {}});
    table.rows.push_back(std::move(row));
  }
  return table;
}

void write_sweep(const Sweep& sweep, const SweepResult& result, const std::filesystem::path& folder) {
  train::create_folder(folder);
  const auto table = sweep_table(sweep, result);
  write_file_atomically(folder / "table.md", report::to_markdown(table));
  write_file_atomically(folder / "table.csv", report::to_csv(table));
  OrderedJson points = OrderedJson::array();
  for (const auto& entry : result.points)
    points.push_back(point_json(entry, result, folder, points.size() < kMostCurves, sweep));
  const OrderedJson data{{"lather", version()},
                         {"title", sweep.name},
                         {"problem", std::filesystem::path(sweep.problem).stem().string()},
                         {"metric", name_of(sweep.metric)},
                         {"search", name_of(sweep.search)},
                         {"seeds", sweep.seeds.size()},
                         {"rounds", result.rounds},
                         {"complete", result.complete},
                         {"axes", paths_of(result)},
                         {"optimizers", sweep.optimizers.size()},
                         {"points", points}};
  write_file_atomically(folder / "index.html", report::sweep_page(sweep.name, data));
}

}  // namespace lather::batch
