#include "commands/task/results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"

namespace lather::command::matrix {

namespace fs = std::filesystem;

namespace {

constexpr int kWidth = 20;

struct Summary {
  double mean, standard_error;
};
Summary summarize(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / n;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return {mean, n > 1 ? std::sqrt(squares / (n - 1) / n) : 0};
}

using Curves = std::vector<experiment::TaskCurve>;

std::string show_at(const Curves& curves, std::int64_t step, std::size_t metric) {
  std::vector<double> values;
  for (const auto& curve : curves) values.push_back(curve.points.at(step).metrics[metric]);
  const auto [mean, standard_error] = summarize(values);
  return fmt::format("{:.2e} ± {:.1e}", mean, standard_error);
}

std::string count(std::int64_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string title_of(const TaskResults& r) {
  const bool complete = r.runs_ended() == r.runs();
  std::string text;
  if (!complete) {
    text = fmt::format("Incomplete: {} of {} have ended (", r.runs_ended(), count(r.runs(), "run"));
    for (const auto& name : r.optimizers) {
      const auto found = r.curves.find(name);
      text += fmt::format("{}{} {}", name == r.optimizers.front() ? "" : ", ", name,
                          found == r.curves.end() ? 0 : found->second.size());
    }
    text += ").\n";
  }
  return text + fmt::format("{} of the {} task, mean ± standard error over {}\nPaper: {}\n\n",
                            r.metrics[r.judged], r.task,
                            complete ? count(r.seeds, "seed") : "the seeds that have ended", r.data.citation);
}

std::string curves_of(const TaskResults& r) {
  std::string csv = fmt::format("optimizer,seed,step,{}\n", fmt::join(r.metrics, ","));
  for (const auto& name : r.optimizers) {
    const auto found = r.curves.find(name);
    if (found == r.curves.end()) continue;
    for (std::size_t seed = 0; seed < found->second.size(); ++seed)
      for (const auto& [step, point] : found->second[seed].points)
        csv += fmt::format("{},{},{},{}\n", name, seed, step, fmt::join(point.metrics, ","));
  }
  return csv;
}

std::string settings_of(const TaskResults& r) {
  nlohmann::json optimizers = nlohmann::json::object();
  for (const auto& [name, spec] : r.specs) optimizers[name] = options::to_json(spec);
  return nlohmann::json{{"task", r.task},
                        {"size", r.size},
                        {"steps", r.steps},
                        {"seeds", r.seeds},
                        {"complete", r.runs_ended() == r.runs()},
                        {"optimizers", optimizers}}
             .dump(2) +
         "\n";
}

}  // namespace

std::int64_t TaskResults::runs_ended() const {
  std::int64_t ended = 0;
  for (const auto& [name, list] : curves) ended += static_cast<std::int64_t>(list.size());
  return ended;
}

std::vector<std::int64_t> table_steps(std::int64_t steps) {
  constexpr int kColumns = 5;
  std::vector<std::int64_t> columns;
  for (int k = 1; k <= kColumns; ++k)
    if (const std::int64_t step = k * steps / kColumns; step > (columns.empty() ? 0 : columns.back()))
      columns.push_back(step);
  return columns;
}

std::string table_of(const TaskResults& r) {
  const auto columns = table_steps(r.steps);
  std::string text = title_of(r) + fmt::format("| {:<24} |", "steps");
  for (const auto step : columns) text += fmt::format(" {:<{}} |", step, kWidth);
  text += fmt::format("\n|{:-<26}|", "");
  for (std::size_t i = 0; i < columns.size(); ++i) text += fmt::format("{:-<{}}|", "", kWidth + 2);
  for (const auto& name : r.optimizers) {
    const auto found = r.curves.find(name);
    if (found == r.curves.end()) continue;
    text += fmt::format("\n| {:<24} |", name);
    for (const auto step : columns)
      text += fmt::format(" {:<{}} |", show_at(found->second, step, r.judged), kWidth);
    const auto paper = r.data.paper.find(name);
    if (r.size != "paper" || paper == r.data.paper.end()) continue;
    text += fmt::format("\n| {:<24} |", name + " (paper)");
    for (const auto step : columns) {
      const auto value = paper->second.find(step);
      text += fmt::format(" {:<{}} |", value == paper->second.end() ? "-" : value->second, kWidth);
    }
  }
  text += fmt::format("\n\nAt the last step\n\n| {:<24} |", "optimizer");
  for (const auto& metric : r.metrics) text += fmt::format(" {:<{}} |", metric, kWidth + 4);
  text += fmt::format(" seconds per seed |\n|{:-<26}|", "");
  for (std::size_t i = 0; i < r.metrics.size(); ++i) text += fmt::format("{:-<{}}|", "", kWidth + 6);
  text += fmt::format("{:-<18}|", "");
  for (const auto& name : r.optimizers) {
    const auto found = r.curves.find(name);
    if (found == r.curves.end()) continue;
    text += fmt::format("\n| {:<24} |", name);
    for (std::size_t i = 0; i < r.metrics.size(); ++i)
      text += fmt::format(" {:<{}} |", show_at(found->second, r.steps, i), kWidth + 4);
    double seconds = 0;
    for (const auto& curve : found->second) seconds += curve.seconds;
    text += fmt::format(" {:<16.1f} |", seconds / static_cast<double>(found->second.size()));
  }
  return text + "\n";
}

void require_writable(const fs::path& folder) {
  std::error_code status;
  fs::create_directories(folder, status);
  if (status)
    throw Error(fmt::format("--out: cannot create the folder '{}': {}", folder.string(), status.message()));
  const fs::path probe = folder / ".lather-can-write-here";
  try {
    write_file_atomically(probe, "\n");
  } catch (const Error& error) {
    throw Error("--out: " + error.message());
  }
  fs::remove(probe, status);
}

void write_results(const TaskResults& results, const fs::path& folder) {
  write_file_atomically(folder / "curves.csv", curves_of(results));
  write_file_atomically(folder / "table.md", table_of(results));
  write_file_atomically(folder / "settings.json", settings_of(results));
}

}  // namespace lather::command::matrix
