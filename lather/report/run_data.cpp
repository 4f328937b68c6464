#include "lather/report/run_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/report/export/csv.hpp"
#include "lather/train/run_folder/run_folder.hpp"

namespace lather::report {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;
using Notes = std::vector<std::string>;

template <class AnyJson>
double number_or_nan(const AnyJson& json) {
  return json.is_number() ? json.template get<double>() : kUnknown;
}

template <class AnyJson>
void append(AnyJson& array, double value) {
  array.push_back(std::isfinite(value) ? AnyJson(six_digits(value)) : AnyJson(nullptr));
}

Json read_json_or_note(const fs::path& file, const char* consequence, Notes& notes) {
  const auto note = [&](const std::string& what) {
    notes.push_back(fmt::format("{}; {}", what, consequence));
  };
  if (!is_there(file)) {
    note(fmt::format("{} is missing", file.filename().string()));
    return nullptr;
  }
  try {
    Json json = train::read_json(file);
    if (json.is_object()) return json;
    note(fmt::format("{} is damaged: an object was expected", file.filename().string()));
  } catch (const Error& error) {
    note(error.what());
  }
  return nullptr;
}

// The objects of a file with one per line. A last line cut short by a kill is as good as not written.
std::vector<OrderedJson> read_lines(const fs::path& file, Notes& notes) {
  std::vector<OrderedJson> lines;
  if (!is_there(file)) return lines;
  int damaged = 0;
  try {
    std::istringstream stream(read_found_file(file));
    for (std::string line; std::getline(stream, line);) {
      auto json = OrderedJson::parse(line, nullptr, false);
      if (json.is_object() && json.contains("step") && json["step"].is_number())
        lines.push_back(std::move(json));
      else
        ++damaged;
    }
  } catch (const Error& error) {
    notes.push_back(error.what());
  }
  if (damaged > 0)
    notes.push_back(fmt::format("{}: {} damaged line{} left out", file.filename().string(), damaged,
                                damaged == 1 ? "" : "s"));
  return lines;
}

void thin_out(std::vector<OrderedJson>& rows, std::size_t most, const char* file, Notes& notes) {
  std::vector<bool> looked;
  for (const auto& row : rows) looked.push_back(row.contains("residual"));
  const auto kept = evenly_kept(looked, most);
  const std::size_t before = rows.size();
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i] != i) rows[i] = std::move(rows[kept[i]]);
  rows.resize(kept.size());
  if (kept.size() < before)
    notes.push_back(fmt::format("{}: {} of {} lines are on this page", file, kept.size(), before));
}

std::map<double, double> read_seconds(const fs::path& file, Notes& notes) {
  std::map<double, double> seconds;
  if (!is_there(file)) {
    notes.push_back("timing.csv is missing; there is no wall clock for this run");
    return seconds;
  }
  try {
    const auto table = parse_csv(read_found_file(file), file.filename().string());
    if (table.names != std::vector<std::string>{"step", "seconds"})
      throw Error("timing.csv: expected the columns step,seconds");
    for (std::size_t i = 0; i < table.rows(); ++i) seconds[table.columns[0][i]] = table.columns[1][i];
  } catch (const Error& error) {
    notes.push_back(fmt::format("{}; there is no wall clock for this run", error.what()));
  }
  return seconds;
}

OrderedJson read_history(const fs::path& run, std::size_t most, Notes& notes) {
  auto rows = read_lines(run / "history.jsonl", notes);
  if (rows.empty()) notes.push_back("history.jsonl is missing or empty; there are no curves");
  thin_out(rows, most, "history.jsonl", notes);
  const auto seconds = read_seconds(run / "timing.csv", notes);
  OrderedJson columns = {{"step", OrderedJson::array()}, {"seconds", OrderedJson::array()}};
  for (const auto& row : rows)
    for (const auto& [name, value] : row.items())
      if (name != "message" && !columns.contains(name)) columns[name] = OrderedJson::array();
  for (const auto& row : rows) {
    const auto at = seconds.find(row["step"].get<double>());
    for (auto& [name, column] : columns.items()) {
      if (name == "step")
        column.push_back(row["step"]);
      else if (name == "seconds")
        append(column, at == seconds.end() ? kUnknown : at->second);
      else
        append(column, row.contains(name) ? number_or_nan(row[name]) : kUnknown);
    }
  }
  return columns;
}

OrderedJson read_diagnostics(const fs::path& run, std::size_t most, Notes& notes) {
  auto rows = most > 0 ? read_lines(run / "diagnostics.jsonl", notes) : std::vector<OrderedJson>();
  OrderedJson result = {{"step", OrderedJson::array()}, {"blocks", OrderedJson::object()}};
  std::map<std::string, double> changes;
  for (auto& row : rows) {
    if (!row.contains("blocks") || !row["blocks"].is_object()) row["blocks"] = OrderedJson::object();
    for (auto& [block, quantities] : row["blocks"].items()) {
      if (!quantities.is_object()) quantities = OrderedJson::object();
      if (quantities.contains("basis_changed")) {
        if (number_or_nan(quantities["basis_changed"]) > 0) ++changes[block];
        quantities["basis_changed"] = changes[block];
      }
      for (const auto& [quantity, value] : quantities.items())
        result["blocks"][block][quantity] = OrderedJson::array();
    }
  }
  thin_out(rows, most, "diagnostics.jsonl", notes);
  for (const auto& row : rows) {
    result["step"].push_back(row["step"]);
    for (auto& [block, quantities] : result["blocks"].items()) {
      const auto& blocks = row["blocks"];
      for (auto& [quantity, column] : quantities.items())
        append(column, blocks.contains(block) && blocks[block].contains(quantity)
                           ? number_or_nan(blocks[block][quantity])
                           : kUnknown);
    }
  }
  return result;
}

Json read_fields(const fs::path& run, Notes& notes) {
  Json fields = read_json_or_note(run / "fields.json", "there are no maps", notes);
  if (fields.is_null()) return fields;
  try {
    return checked_fields(fields);
  } catch (const Error& error) {
    notes.push_back(fmt::format("{}; there are no maps", error.what()));
    return nullptr;
  }
}

std::string optimizer_of(const Json& config, const Json& summary) {
  if (config.is_object() && config.contains("optimizer") && config["optimizer"].is_object())
    if (const auto& name = config["optimizer"].value("name", Json()); name.is_string())
      return name.get<std::string>();
  if (summary.is_object())
    if (const auto& name = summary.value("optimizer", Json()); name.is_string())
      return name.get<std::string>();
  return "";
}

}  // namespace

double six_digits(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

bool has_diverged(const Json& summary) {
  constexpr double kBlowUp = 10;
  if (!summary.is_object()) return false;
  const Json end = summary.value("final", Json());
  return summary.value("reason", Json()) == "non_finite" ||
         (end.is_object() && number_or_nan(end.value("validation_loss", Json())) >
                                 kBlowUp * number_or_nan(summary.value("starting_loss", Json())));
}

bool is_run(const fs::path& folder) {
  return is_there(folder / "config.json") || is_there(folder / "history.jsonl") ||
         is_there(folder / "summary.json");
}

std::vector<std::size_t> evenly_kept(const std::vector<bool>& looked, std::size_t most) {
  std::size_t counts[2] = {0, 0}, seen[2] = {0, 0};
  for (const bool kind : looked) ++counts[kind];
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < looked.size(); ++i) {
    const bool kind = looked[i];
    const std::size_t every = (counts[kind] + most - 1) / most;
    if (seen[kind]++ % every == 0 || i + 1 == looked.size()) kept.push_back(i);
  }
  return kept;
}

Json checked_fields(const Json& fields) {
  const auto fail = [](const std::string& what) {
    throw Error(fmt::format("fields.json is damaged: {}", what));
  };
  for (const char* key : {"coordinates", "axes", "arrays"})
    if (!fields.contains(key)) fail(fmt::format("'{}' is missing", key));
  if (!fields["axes"].is_array() || !fields["coordinates"].is_array() ||
      fields["axes"].size() != fields["coordinates"].size())
    fail("expected one axis per coordinate");
  Json result = {{"step", fields.value("step", Json(nullptr))},
                 {"coordinates", Json::array()},
                 {"axes", Json::array()},
                 {"arrays", Json::object()}};
  const auto numbers = [&](const Json& values, const std::string& name) {
    if (!values.is_array()) fail(fmt::format("'{}' is not a list", name));
    Json list = Json::array();
    for (const auto& value : values) append(list, number_or_nan(value));
    return list;
  };
  std::size_t points = 1;
  for (std::size_t k = 0; k < fields["axes"].size(); ++k) {
    const Json& name = fields["coordinates"][k];
    if (!name.is_string()) fail("a coordinate has no name");
    result["coordinates"].push_back(name);
    result["axes"].push_back(numbers(fields["axes"][k], name.get<std::string>()));
    points *= result["axes"].back().size();
  }
  for (const char* kind : {"arrays", "physical"}) {
    if (!fields.contains(kind)) continue;
    if (!fields[kind].is_object()) fail(fmt::format("'{}' is not an object", kind));
    for (const auto& [name, values] : fields[kind].items()) {
      Json list = numbers(values, name);
      if (list.size() != points)
        fail(fmt::format("'{}' has {} values, expected {}", name, list.size(), points));
      result[kind][name] = std::move(list);
    }
  }
  if (!fields.contains("outline")) return result;
  // Lines of points [x, y].
  result["outline"] = Json::array();
  if (!fields["outline"].is_array()) fail("'outline' is not a list");
  for (const auto& line : fields["outline"]) {
    if (!line.is_array()) fail("a line of 'outline' is not a list");
    Json points_of_line = Json::array();
    for (const auto& point : line) {
      Json pair = numbers(point, "outline");
      if (pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number())
        fail("a point of 'outline' is no pair");
      points_of_line.push_back(std::move(pair));
    }
    result["outline"].push_back(std::move(points_of_line));
  }
  return result;
}

PageLimits limits_for(std::size_t runs) {
  constexpr std::size_t kAllHistoryRows = 24000, kAllDiagnosticRows = 12000;
  PageLimits limits;
  limits.history_rows =
      std::clamp<std::size_t>(kAllHistoryRows / std::max<std::size_t>(1, runs), 100, kMostHistoryRows);
  limits.diagnostic_rows =
      std::clamp<std::size_t>(kAllDiagnosticRows / std::max<std::size_t>(1, runs), 100, kMostDiagnosticRows);
  return limits;
}

Json read_data_points(const fs::path& run) {
  constexpr std::uint64_t kMostBytes = 64 << 20;
  Json sets = Json::array();
  if (!is_found_folder(run / "data")) return sets;
  for (const fs::path& file : entries_of_found_folder(run / "data")) {
    if (file.extension() != ".csv") continue;
    try {
      const auto table = parse_csv(read_found_file(file, kMostBytes), file.filename().string());
      const std::size_t every = (table.rows() + kMostDataRows - 1) / kMostDataRows;
      Json columns = Json::object();
      for (std::size_t k = 0; k < table.names.size(); ++k) {
        Json list = Json::array();
        for (std::size_t i = 0; i < table.rows(); i += every) append(list, table.columns[k][i]);
        columns[table.names[k]] = std::move(list);
      }
      sets.push_back({{"name", file.stem().string()}, {"columns", std::move(columns)}});
    } catch (const Error&) {  // a map without its data points is still a map
    }
  }
  return sets;
}

RunData read_run_data(const fs::path& run, const PageLimits& limits) {
  RunData data;
  const fs::path folder = fs::absolute(run).lexically_normal();
  data.name = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  data.config = read_json_or_note(run / "config.json", "the settings are not shown", data.notes);
  data.summary = read_json_or_note(run / "summary.json",
                                   "the run has not ended, or was killed: its figures are not in the tables",
                                   data.notes);
  data.environment = read_json_or_note(run / "environment.json", "the environment is not shown", data.notes);
  data.history = read_history(run, limits.history_rows, data.notes);
  data.diagnostics = read_diagnostics(run, limits.detailed ? limits.diagnostic_rows : 0, data.notes);
  if (limits.detailed) data.fields = read_fields(run, data.notes);
  if (limits.detailed) data.data = read_data_points(run);
  data.optimizer = optimizer_of(data.config, data.summary);
  return data;
}

}  // namespace lather::report
