#include "lather/batch/run_curve.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "lather/core/files.hpp"
#include "lather/core/formats/csv.hpp"
#include "lather/train/run_folder/run_folder.hpp"

namespace lather::batch {

namespace {

using Json = nlohmann::json;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::map<double, double> seconds_by_step(const std::filesystem::path& run) {
  std::map<double, double> seconds;
  if (!is_there(run / "timing.csv")) return seconds;
  for (const auto& row : parse_csv(read_found_file(run / "timing.csv"), "timing.csv", CsvNumbers::any).rows)
    seconds[row[0]] = row[1];
  return seconds;
}

// The largest number in the columns that hold it.
double value_in_line(const Json& line, Quantity quantity) {
  double worst = kUnknown;
  for (const auto& [key, value] : line.items())
    if (is_recorded_in(quantity, key) && value.is_number() && !(worst >= value.get<double>()))
      worst = value.get<double>();
  return value_from(quantity, worst);
}

// A summary has its columns as members, those of the fields in a table of their own.
double value_in_metrics(const Json& metrics, Quantity quantity) {
  Json line = Json::object();
  for (const auto& [key, value] : metrics.items()) {
    if (value.is_number()) line[key == "training_loss" ? "loss" : key] = value;
    if (!value.is_object()) continue;
    for (const auto& [field, error] : value.items()) line[key + "." + field] = error;
  }
  return value_in_line(line, quantity);
}

}  // namespace

std::vector<CurvePoint> curve_of(const std::filesystem::path& run, Quantity quantity) {
  std::vector<CurvePoint> curve;
  if (!is_there(run / "history.jsonl")) return curve;
  const auto seconds = seconds_by_step(run);
  std::istringstream lines(read_found_file(run / "history.jsonl"));
  for (std::string text; std::getline(lines, text);) {
    const Json line = Json::parse(text, nullptr, false);
    if (!line.is_object() || !line.contains("step")) continue;  // cut short by a kill
    const double step = line["step"].get<double>(), value = value_in_line(line, quantity);
    if (!std::isfinite(value)) continue;
    const auto at = seconds.find(step);
    curve.push_back({step, at == seconds.end() ? kInfinity : at->second, value});
  }
  return curve;
}

double value_at_best(const std::filesystem::path& run, Quantity quantity) {
  const Json summary = train::read_json(run / "summary.json");
  return summary.contains("best") ? value_in_metrics(summary["best"], quantity) : kUnknown;
}

}  // namespace lather::batch
