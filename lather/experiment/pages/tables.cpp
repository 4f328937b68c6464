#include "lather/experiment/pages/tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "lather/experiment/verdicts/verdict.hpp"

namespace lather::experiment {

namespace {

// With more columns than this a table does not fit on a page, and variants become rows.
constexpr std::size_t kMostColumns = 8;

const PaperValue* find_paper(const MetricEntry& metric, const std::string& problem,
                             const std::string& variant) {
  const auto row = metric.paper.find(problem);
  if (row == metric.paper.end()) return nullptr;
  const auto cell = row->second.find(variant);
  return cell == row->second.end() ? nullptr : &cell->second;
}

std::string ratio_text(const Measured& measured, const PaperValue* paper) {
  if (!paper || !paper->value || *paper->value == 0 || !measured.is_known() ||
      measured.values.size() < std::size_t(measured.seeds))
    return "";
  return fmt::format("{:.2g}", measured.centre() / *paper->value);
}

bool says_nothing(const std::vector<report::Cell>& row) {
  return std::all_of(row.begin() + 2, row.end(),
                     [](const report::Cell& cell) { return cell.text.empty() || cell.text == "–"; });
}

bool has_paper_values(const Experiment& experiment) {
  return std::any_of(experiment.metrics.begin(), experiment.metrics.end(),
                     [](const MetricEntry& metric) { return !metric.paper.empty(); });
}

// A row for each variant, a column for each problem and metric.
report::Table variants_as_rows(const ExperimentResult& result) {
  report::Table table;
  table.header = {"variant"};
  for (const auto* problem : problems_of(result))
    for (const auto& metric : result.plan->experiment->metrics)
      table.header.push_back(fmt::format("{}: {}", result.plan->problem_label(*problem), metric.label));
  for (const auto* variant : variants_of(result)) {
    auto& row = table.rows.emplace_back(std::vector<report::Cell>{{variant->label, {}}});
    for (const auto* problem : problems_of(result))
      for (const auto& metric : result.plan->experiment->metrics) {
        const CellResult* cell = find_cell(result, problem->name, variant->name);
        row.push_back({cell ? measure(result, metric, *cell).text() : "", {}});
      }
  }
  return table;
}

// The settings searched in any of the cells.
std::set<std::string> searched_paths(const ExperimentResult& result) {
  std::set<std::string> paths;
  for (const auto& cell : result.cells)
    if (result.plan->tunes(*cell.cell))
      for (const auto& [path, value, where] : cell.chosen) paths.insert(path);
  return paths;
}

// "0.01 (edge)", or with its name if several settings are searched.
std::string chosen_text(const CellResult& cell, bool with_names) {
  std::vector<std::string> parts;
  for (const auto& [path, value, where] : cell.chosen) {
    const bool edge = std::find(cell.edges.begin(), cell.edges.end(), path) != cell.edges.end();
    parts.push_back(fmt::format("{}{}{}", with_names ? path.substr(path.rfind('.') + 1) + " " : "",
                                short_value(value), edge ? " (edge)" : ""));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// "task.loss@300", "mean_square"
std::string quantity_text(const MetricEntry& metric) {
  if (metric.task_metric.empty()) return std::string(name_of(metric.quantity));
  return fmt::format("task.{}{}", metric.task_metric,
                     metric.step > 0 ? fmt::format("@{}", metric.step) : std::string());
}

}  // namespace

std::string short_value(const std::string& text) {
  return text.size() > 1 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
}

report::Table values_table(const ExperimentResult& result) {
  report::Table table;
  const auto variants = variants_of(result);
  if (variants.size() > kMostColumns && !has_paper_values(*result.plan->experiment))
    return variants_as_rows(result);
  table.header = {"problem", ""};
  for (const auto* variant : variants) table.header.push_back(variant->label);
  for (const auto* problem : problems_of(result))
    for (const auto& metric : result.plan->experiment->metrics) {
      std::vector<report::Cell> ours{{result.plan->problem_label(*problem), {}}, {metric.label, {}}},
          paper{{"", {}}, {"paper", {}}}, ratio{{"", {}}, {"ratio", {}}};
      for (const auto* variant : variants) {
        const CellResult* cell = find_cell(result, problem->name, variant->name);
        const PaperValue* value = find_paper(metric, problem->name, variant->name);
        const Measured measured = cell ? measure(result, metric, *cell) : Measured{};
        ours.push_back({cell ? measured.text() : "", {}});
        paper.push_back({value ? text_of(*value) : "", {}});
        ratio.push_back({ratio_text(measured, value), {}});
      }
      if (says_nothing(ours) && says_nothing(paper)) continue;
      table.rows.push_back(std::move(ours));
      if (!says_nothing(paper)) table.rows.push_back(std::move(paper));
      if (!says_nothing(ratio)) table.rows.push_back(std::move(ratio));
    }
  return table;
}

report::Table runs_table(std::span<const ExperimentResult> results) {
  report::Table table;
  table.header = {"experiment", "budget", "problem", "variant", "seed",
                  "quantity",   "metric", "value",   "result"};
  for (const auto& result : results)
    for (const auto& cell : result.cells)
      for (std::size_t s = 0; s < cell.seeds.size(); ++s) {
        CellResult alone = cell;
        alone.seeds = {cell.seeds[s]};
        for (const auto& metric : result.plan->experiment->metrics) {
          const Measured m = measure(result, metric, alone);
          std::vector<report::Cell> row;
          for (const std::string& text :
               {result.plan->experiment->name, result.plan->budget_name, cell.cell->problem->name,
                cell.cell->variant->name, std::to_string(s + 1), quantity_text(metric), metric.label,
                m.is_known() ? fmt::format("{}", m.mean()) : std::string(), m.text()})
            row.push_back({text, {}});
          table.rows.push_back(std::move(row));
        }
      }
  return table;
}

report::Table long_table(const ExperimentResult& result) {
  report::Table table;
  table.header = {"experiment", "budget",         "problem",         "variant", "quantity", "metric",
                  "mean",       "standard_error", "median",          "min",     "max",      "seeds",
                  "result",     "paper",          "paper_deviation", "ratio"};
  for (const auto& cell : result.cells)
    for (const auto& metric : result.plan->experiment->metrics) {
      const auto& problem = cell.cell->problem->name;
      const auto& variant = cell.cell->variant->name;
      const Measured m = measure(result, metric, cell);
      const PaperValue* paper = find_paper(metric, problem, variant);
      const auto number = [](std::optional<double> v) { return v ? fmt::format("{}", *v) : std::string(); };
      const auto known = [&](auto value) { return m.is_known() ? number(value()) : std::string(); };
      std::vector<report::Cell> row;
      for (const std::string& text :
           {result.plan->experiment->name, result.plan->budget_name, problem, variant, quantity_text(metric),
            metric.label, known([&] { return m.mean(); }), known([&] { return m.standard_error(); }),
            known([&] { return m.median(); }),
            known([&] { return *std::min_element(m.values.begin(), m.values.end()); }),
            known([&] { return *std::max_element(m.values.begin(), m.values.end()); }),
            std::to_string(m.values.size()), m.text(),
            paper ? (paper->value ? number(paper->value) : paper->text) : std::string(),
            paper ? number(paper->deviation) : std::string(), ratio_text(m, paper)})
        row.push_back({text, {}});
      table.rows.push_back(std::move(row));
    }
  return table;
}

report::Table verdict_table(const ExperimentResult& result) {
  report::Table table;
  table.header = {"problem", "metric", "the paper's ranking", "pairs of methods"};
  for (const auto& metric : result.plan->experiment->metrics) {
    if (!metric.ranked) continue;
    for (const auto& problem : result.plan->experiment->problems) {
      if (!metric.paper.contains(problem.name)) continue;
      const Verdict verdict = judge(result, metric, problem.name);
      table.rows.push_back({{result.plan->problem_label(problem), {}},
                            {metric.label, {}},
                            {verdict.words, {}},
                            {verdict.pairs_text(), {}}});
    }
  }
  return table;
}

report::Table checks_table(const ExperimentResult& result) {
  report::Table table;
  table.header = {"claim", "here", "where, and by what factor"};
  for (const auto& check : result.plan->experiment->checks) {
    const CheckVerdict verdict = judge(result, check);
    table.rows.push_back({{words_of(check), {}}, {verdict.text(), {}}, {verdict.evidence, {}}});
  }
  return table;
}

report::Table settings_table(const ExperimentResult& result) {
  report::Table table;
  const auto paths = searched_paths(result);
  if (paths.empty()) return table;
  const auto problems = problems_of(result);
  table.header = {fmt::format("chosen by tuning: {}", fmt::join(paths, ", "))};
  for (const auto* problem : problems) table.header.push_back(result.plan->problem_label(*problem));
  for (const auto* variant : variants_of(result)) {
    std::vector<report::Cell> row{{variant->label, {}}};
    for (const auto* problem : problems) {
      const CellResult* cell = find_cell(result, problem->name, variant->name);
      const bool tuned = cell && result.plan->tunes(*cell->cell);
      row.push_back({tuned ? chosen_text(*cell, paths.size() > 1) : "", {}});
    }
    if (std::any_of(row.begin() + 1, row.end(), [](const auto& cell) { return !cell.text.empty(); }))
      table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace lather::experiment
