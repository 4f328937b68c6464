#include "lather/experiment/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lather/core/files.hpp"
#include "lather/core/formats/csv.hpp"
#include "lather/report/run_data.hpp"

namespace lather::experiment {

namespace {

using Json = nlohmann::json;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kGigabyte = 1e9;

double number_in(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && found != json.end() && found->is_number()
             ? found->get<double>()
             : std::numeric_limits<double>::quiet_NaN();
}

// The worst over all fields.
double worst_in(const Json& metrics, const char* key) {
  double worst = std::numeric_limits<double>::quiet_NaN();
  if (metrics.is_object() && metrics.contains(key))
    for (const auto& [field, value] : metrics[key].items())
      if (value.is_number() && !(worst >= value.get<double>())) worst = value.get<double>();
  return worst;
}

// Of a summary; empty if it is not there.
Json part_of(const Json& summary, const char* key) { return summary.value(key, Json::object()); }

double seconds_to(double target, const std::filesystem::path& run) {
  for (const auto& point : curve_of(run, Quantity::mean_square))
    if (point.value <= target) return point.seconds;
  return kInfinity;
}

double task_value(const MetricEntry& metric, const Json& metrics, const std::filesystem::path& run) {
  if (metric.largest) {
    double largest = std::numeric_limits<double>::quiet_NaN();
    for (const auto& point : curve_of(run, metric.quantity, metric.task_metric))
      largest = std::fmax(largest, point.value);
    return largest;
  }
  if (metric.step == 0)
    return metrics.contains("task") ? number_in(metrics["task"], metric.task_metric.c_str())
                                    : std::numeric_limits<double>::quiet_NaN();
  for (const auto& point : curve_of(run, metric.quantity, metric.task_metric))
    if (point.step == static_cast<double>(metric.step)) return point.value;
  return std::numeric_limits<double>::quiet_NaN();
}

// Mean over the layers, weighted by how often each had a secant.
double tau_share(const Json& summary, const char* key) {
  double steps = 0, sum = 0;
  if (summary.contains("tau"))
    for (const auto& [layer, tau] : summary["tau"].items()) {
      steps += number_in(tau, "steps");
      sum += number_in(tau, "steps") * number_in(tau, key);
    }
  return sum / steps;
}

double value_in(const MetricEntry& metric, const Json& summary, const std::filesystem::path& run, bool best) {
  const Json metrics = part_of(summary, best ? "best" : "final");
  switch (metric.quantity) {
    case Quantity::residual: return number_in(metrics, "residual");
    case Quantity::mean_square: return std::pow(number_in(metrics, "residual"), 2);
    case Quantity::loss: return number_in(metrics, "validation_loss");
    case Quantity::training_loss: return number_in(metrics, "training_loss");
    case Quantity::l2: return worst_in(metrics, "l2");
    case Quantity::h1: return worst_in(metrics, "h1");
    case Quantity::seconds: return number_in(summary, "seconds");
    case Quantity::seconds_to_target: return seconds_to(metric.target, run);
    case Quantity::seconds_per_1000_steps: return 1000 / number_in(summary, "steps_per_second");
    case Quantity::memory: {
      const double device = number_in(summary, "peak_device_bytes");
      return (device > 0 ? device : number_in(summary, "peak_host_bytes")) / kGigabyte;
    }
    case Quantity::basis_share:
      return number_in(summary, "basis_updates") /
             (number_in(summary, "step") * number_in(summary, "matrices"));
    case Quantity::tau_at_one: return tau_share(summary, "at_one");
    case Quantity::tau_at_least: return tau_share(summary, "at_least");
    case Quantity::storage:
      return number_in(summary, "optimizer_bytes") / sizeof(double) / number_in(summary, "parameters");
    case Quantity::task_metric: return task_value(metric, metrics, run);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::map<double, double> seconds_by_step(const std::filesystem::path& run) {
  std::map<double, double> seconds;
  if (!is_there(run / "timing.csv")) return seconds;
  for (const auto& row : parse_csv(read_found_file(run / "timing.csv"), "timing.csv", CsvNumbers::any).rows)
    seconds[row[0]] = row[1];
  return seconds;
}

double value_in_line(const Json& line, Quantity quantity, const std::string& task_metric) {
  if (quantity == Quantity::task_metric) return number_in(line, ("task." + task_metric).c_str());
  double worst = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [key, value] : line.items())
    if (is_recorded_in(quantity, key) && value.is_number() && !(worst >= value.get<double>()))
      worst = value.get<double>();
  return value_from(quantity, worst);
}

// How far an unknown is from its known value, relative, at worst; 0 if none is known.
double worst_unknown(const Json& summary, bool best) {
  double worst = 0;
  const Json unknowns = part_of(summary, "unknowns");
  for (const auto& [name, unknown] : unknowns.items()) {
    const double found = number_in(unknown, best ? "value" : "last"), known = number_in(unknown, "known");
    worst = std::max(worst, std::abs(found / known - 1));  // as it was if one is not a number
  }
  return worst;
}

// False also where errors are not measured, or the quantity says itself how far off the solution is.
bool is_unsolved(const ExperimentResult& result, const MetricEntry& metric, const Json& summary) {
  if (!is_residual(metric.quantity)) return false;
  const bool best = result.plan->experiment->best;
  return worst_in(part_of(summary, best ? "best" : "final"), "l2") > kUnsolved ||
         worst_unknown(summary, best) > kOtherUnknown;
}

// What the steps that a run did not take would have changed.
bool is_of_the_end(Quantity quantity) {
  return is_of_the_solution(quantity) || quantity == Quantity::seconds || quantity == Quantity::task_metric;
}

// Not a number also if the run has diverged.
double reported_value(const ExperimentResult& result, const MetricEntry& metric, const Json& summary,
                      const std::filesystem::path& run) {
  const bool best = result.plan->experiment->best;
  if (!best && is_of_the_end(metric.quantity) && report::has_diverged(summary))
    return std::numeric_limits<double>::quiet_NaN();
  return value_in(metric, summary, run, best);
}

}  // namespace

const CellResult* find_cell(const ExperimentResult& result, const std::string& problem,
                            const std::string& variant) {
  for (const auto& cell : result.cells)
    if (cell.cell->problem->name == problem && cell.cell->variant->name == variant) return &cell;
  return nullptr;
}

std::vector<const ProblemEntry*> problems_of(const ExperimentResult& result) {
  std::vector<const ProblemEntry*> problems;
  for (const auto& cell : result.cells)
    if (std::find(problems.begin(), problems.end(), cell.cell->problem) == problems.end())
      problems.push_back(cell.cell->problem);
  return problems;
}

std::vector<const VariantEntry*> variants_of(const ExperimentResult& result) {
  std::vector<const VariantEntry*> variants;
  for (const auto& variant : result.plan->experiment->variants)
    if (std::any_of(result.cells.begin(), result.cells.end(),
                    [&](const auto& cell) { return cell.cell->variant == &variant; }))
      variants.push_back(&variant);
  return variants;
}

double Measured::mean() const {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double Measured::standard_error() const {
  const auto n = static_cast<double>(values.size());
  if (n < 2) return 0;
  double squares = 0;
  for (const double v : values) squares += (v - mean()) * (v - mean());
  return std::sqrt(squares / (n - 1) / n);
}

double Measured::median() const {
  auto sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// From here on a mean is dominated by its largest value and a standard error says nothing.
constexpr double kWideSpread = 10;

bool Measured::is_spread() const {
  if (values.size() < 2) return false;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *low > 0 && *high > kWideSpread * *low;
}

double Measured::centre() const { return is_spread() ? median() : mean(); }

std::optional<double> Measured::rank_value() const {
  if (pending > 0 || failed > 0 || !is_tested()) return {};
  if (static_cast<int>(values.size()) != seeds || unsolved > 0) return kInfinity;
  double logarithms = 0;
  for (const double v : values) {
    if (!(v > 0)) return mean();
    logarithms += std::log(v);
  }
  return std::exp(logarithms / static_cast<double>(values.size()));
}

std::string Measured::text() const {
  std::vector<std::string> notes;
  const auto note = [&](int count, const char* words) {
    if (count > 0) notes.push_back(count == seeds ? words : fmt::format("{} of {} {}", count, seeds, words));
  };
  note(out_of_memory, "out of memory");
  note(diverged, "diverged");
  note(unsolved, "not solved");
  note(cut_off, "cut off by the time limit");
  note(without, "did not reach it");
  if (absent < seeds) note(absent, "without a value");  // else it is not recorded at all
  note(failed, "failed");
  note(pending, "not run");
  std::string text;
  if (is_spread()) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    text = values.size() == 2  // their median is their mean
               ? fmt::format("{:.2e} and {:.2e}", *low, *high)
               : fmt::format("median {:.2e} ({:.1e} … {:.1e})", median(), *low, *high);
  } else if (is_known()) {
    text = values.size() > 1 ? fmt::format("{:.2e} ± {:.1e}", mean(), standard_error())
                             : fmt::format("{:.2e}", mean());
  }
  for (const auto& words : notes) text += (text.empty() ? "" : "; ") + words;
  return text.empty() ? "–" : text;
}

double value_of(const RunRecord& run, Quantity quantity, bool best) {
  const Json summary = read_summary(run);
  MetricEntry metric;
  metric.quantity = quantity;
  return summary.is_object() ? value_in(metric, summary, run.folder, best)
                             : std::numeric_limits<double>::quiet_NaN();
}

Measured measure(const ExperimentResult& result, const MetricEntry& metric, const CellResult& cell) {
  Measured measured;
  measured.seeds = static_cast<int>(cell.seeds.size());
  for (const auto& run : cell.seeds) {
    if (!has_ended(run)) ++measured.pending;
    if (run.status == RunStatus::out_of_memory) ++measured.out_of_memory;
    if (run.status == RunStatus::failed) ++measured.failed;
    const Json summary = read_summary(run);
    if (!summary.is_object()) continue;
    const double value = reported_value(result, metric, summary, run.folder);
    if (is_of_the_end(metric.quantity)) measured.cut_off += summary.value("reason", "") == "time";
    if (std::isfinite(value)) {
      measured.values.push_back(value);
      measured.unsolved += is_unsolved(result, metric, summary);
    } else if (metric.quantity == Quantity::seconds_to_target) {
      ++measured.without;
    } else if (report::has_diverged(summary)) {
      ++measured.diverged;
    } else {
      ++measured.absent;
    }
  }
  return measured;
}

std::vector<double> values_by_seed(const ExperimentResult& result, const MetricEntry& metric,
                                   const CellResult& cell) {
  std::vector<double> values;
  for (const auto& run : cell.seeds) {
    const Json summary = read_summary(run);
    values.push_back(summary.is_object() && !is_unsolved(result, metric, summary)
                         ? reported_value(result, metric, summary, run.folder)
                         : std::numeric_limits<double>::quiet_NaN());
  }
  return values;
}

bool has_diverged(const RunRecord& run) {
  const Json summary = read_summary(run);
  return report::has_diverged(summary);
}

std::vector<CurvePoint> curve_of(const std::filesystem::path& run, Quantity quantity,
                                 const std::string& task_metric) {
  std::vector<CurvePoint> curve;
  if (!is_there(run / "history.jsonl")) return curve;
  const auto seconds = seconds_by_step(run);
  std::istringstream lines(read_found_file(run / "history.jsonl"));
  for (std::string text; std::getline(lines, text);) {
    const Json line = Json::parse(text, nullptr, false);
    if (!line.is_object()) continue;  // cut short by a kill
    const double step = number_in(line, "step"), value = value_in_line(line, quantity, task_metric);
    if (!std::isfinite(value)) continue;
    const auto at = seconds.find(step);
    curve.push_back({step, at == seconds.end() ? kInfinity : at->second, value});
  }
  return curve;
}

std::string text_of(const PaperValue& value) {
  if (!value.value) return value.text;
  return value.deviation ? fmt::format("{:.2e} ± {:.1e}", *value.value, *value.deviation)
                         : fmt::format("{:.2e}", *value.value);
}

}  // namespace lather::experiment
