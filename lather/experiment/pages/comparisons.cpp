#include "lather/experiment/pages/comparisons.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lather::experiment {

namespace {

// The variant that a row is compared with; its own variant: no comparison.
const std::string& compared_with(const TableEntry& entry, std::size_t row) {
  return entry.variants[entry.pairs ? row - row % 2 : 0];
}

std::vector<report::Cell> row_of(const ExperimentResult& result, const TableEntry& entry,
                                 const MetricEntry& metric, std::size_t row) {
  const auto& variant = entry.variants[row];
  std::vector<report::Cell> cells{{metric.label, {}}, {result.plan->experiment->variant(variant).label, {}}};
  for (const auto* problem : problems_of(result)) {
    const CellResult* cell = find_cell(result, problem->name, variant);
    cells.push_back({cell ? measure(result, metric, *cell).text() : "", {}});
  }
  const auto& other = compared_with(entry, row);
  if (!metric.ranked || other == variant) {
    cells.insert(cells.end(), {{"", {}}, {"", {}}});
    return cells;
  }
  const Ratio ratio = ratio_between(result, metric, variant, other);
  cells.push_back({ratio.text(), {}});
  cells.push_back({std::string(name_of(ratio.kind())), {}});
  return cells;
}

// A method without tau has no share of steps with tau = 1.
bool says_something(const std::vector<report::Cell>& row) {
  return std::any_of(row.begin() + 2, row.end() - 2,
                     [](const report::Cell& cell) { return !cell.text.empty() && cell.text != "–"; });
}

// "better: a (0.8), b (0.9); level: c (1.1)"
std::string sorted_words(const ExperimentResult& result, const TableEntry& entry, const MetricEntry& metric) {
  std::vector<std::string> parts;
  for (const auto kind :
       {Ratio::Kind::better, Ratio::Kind::level, Ratio::Kind::worse, Ratio::Kind::unknown}) {
    std::vector<std::string> arms;
    for (std::size_t row = 0; row < entry.variants.size(); ++row) {
      const auto& other = compared_with(entry, row);
      if (other == entry.variants[row]) continue;
      const Ratio ratio = ratio_between(result, metric, entry.variants[row], other);
      if (ratio.kind() == kind)
        arms.push_back(fmt::format("{} ({})", result.plan->experiment->variant(entry.variants[row]).label,
                                   ratio.pairs > 0 ? factor_text(ratio.factor) : "–"));
    }
    if (!arms.empty()) parts.push_back(fmt::format("{}: {}", name_of(kind), fmt::join(arms, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Labels of the variants that are better than what they are compared with in every ranked metric.
std::vector<std::string> better_in_all(const ExperimentResult& result,
                                       const std::vector<const MetricEntry*>& ranked) {
  const Experiment& experiment = *result.plan->experiment;
  std::vector<std::string> labels;
  for (const auto& entry : experiment.tables) {
    if (entry.pairs) continue;
    for (std::size_t row = 1; row < entry.variants.size(); ++row)
      if (std::all_of(ranked.begin(), ranked.end(), [&](const MetricEntry* metric) {
            return ratio_between(result, *metric, entry.variants[row], entry.variants[0]).kind() ==
                   Ratio::Kind::better;
          }))
        labels.push_back(fmt::format("{} ({})", experiment.variant(entry.variants[row]).label, entry.title));
  }
  return labels;
}

}  // namespace

report::Table comparison_table(const ExperimentResult& result, const TableEntry& entry) {
  report::Table table;
  table.header = {"", ""};
  for (const auto* problem : problems_of(result))
    table.header.push_back(result.plan->problem_label(*problem));
  table.header.emplace_back(entry.pairs ? "over the row above" : "over the first row");
  table.header.emplace_back("");
  for (const auto& metric : result.plan->experiment->metrics)
    for (std::size_t row = 0; row < entry.variants.size(); ++row)
      if (auto cells = row_of(result, entry, metric, row); says_something(cells))
        table.rows.push_back(std::move(cells));
  return table;
}

int comparisons_in(const Experiment& experiment) {
  const auto ranked = std::count_if(experiment.metrics.begin(), experiment.metrics.end(),
                                    [](const MetricEntry& metric) { return metric.ranked; });
  std::size_t rows = 0;
  for (const auto& entry : experiment.tables)
    rows += entry.pairs ? entry.variants.size() / 2 : entry.variants.size() - 1;
  return static_cast<int>(rows) * static_cast<int>(ranked);
}

std::vector<std::string> findings(const ExperimentResult& result) {
  const Experiment& experiment = *result.plan->experiment;
  std::vector<std::string> sentences;
  std::vector<const MetricEntry*> ranked;
  std::vector<std::string> names;
  for (const auto& metric : experiment.metrics)
    if (metric.ranked) ranked.push_back(&metric), names.push_back(metric.label);
  if (experiment.tables.empty() || ranked.empty()) return sentences;
  for (const auto& entry : experiment.tables)
    for (const auto* metric : ranked)
      sentences.push_back(
          fmt::format("{}, {}: {}.", entry.title, metric->label, sorted_words(result, entry, *metric)));
  const auto better = better_in_all(result, ranked);
  sentences.push_back(fmt::format("Better than the first row of their table in every ranked metric ({}): {}.",
                                  fmt::join(names, ", "),
                                  better.empty() ? "none" : fmt::format("{}", fmt::join(better, ", "))));
  return sentences;
}

}  // namespace lather::experiment
