#include "lather/experiment/pages/write_up.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "lather/core/files.hpp"
#include "lather/experiment/pages/comparisons.hpp"
#include "lather/experiment/pages/events_table.hpp"
#include "lather/experiment/pages/field_maps.hpp"
#include "lather/experiment/pages/figures.hpp"
#include "lather/experiment/pages/tau_table.hpp"

namespace lather::experiment {

namespace {

namespace fs = std::filesystem;

const PaperValue* find_paper(const MetricEntry& metric, const std::string& problem,
                             const std::string& variant) {
  const auto row = metric.paper.find(problem);
  if (row == metric.paper.end()) return nullptr;
  const auto cell = row->second.find(variant);
  return cell == row->second.end() ? nullptr : &cell->second;
}

std::string ratio_text(const Measured& measured, const PaperValue* paper) {
  if (!paper || !paper->value || !measured.is_known() || measured.values.size() < std::size_t(measured.seeds))
    return "";
  return fmt::format("{:.2g}", measured.mean() / *paper->value);
}

std::string short_value(const std::string& text) {
  return text.size() > 1 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
}

struct Tally {
  int holds = 0, within_error = 0, fails = 0, untested = 0, pairs = 0, agreeing = 0;
  std::string text() const {
    std::vector<std::string> parts;
    if (holds > 0) parts.push_back(fmt::format("holds {}", holds));
    if (within_error > 0) parts.push_back(fmt::format("level {}", within_error));
    if (fails > 0) parts.push_back(fmt::format("does not hold {}", fails));
    if (untested > 0) parts.push_back(fmt::format("not tested {}", untested));
    return parts.empty() ? "no ranking" : fmt::format("{}", fmt::join(parts, ", "));
  }
};

Tally tally_of(const ExperimentResult& result) {
  Tally tally;
  for (const auto& metric : result.plan->experiment->metrics) {
    if (!metric.ranked || metric.paper.empty()) continue;
    for (const auto& [problem, row] : metric.paper) {
      const Verdict verdict = judge(result, metric, problem);
      tally.holds += verdict.kind == Verdict::Kind::holds;
      tally.within_error += verdict.kind == Verdict::Kind::within_error;
      tally.fails += verdict.kind == Verdict::Kind::fails;
      tally.untested += verdict.kind == Verdict::Kind::untested;
      tally.pairs += verdict.pairs;
      tally.agreeing += verdict.agreeing;
    }
  }
  return tally;
}

// As the runs recorded it: they may have come from several machines and commits.
std::string machine_of(const ExperimentResult& result) {
  std::set<std::string> machines, versions, commits;
  for (const auto& cell : result.cells)
    for (const auto& run : cell.seeds)
      if (const auto file = run.folder / "environment.json"; !run.folder.empty() && fs::exists(file)) {
        const auto json = train::read_json(file);
        const bool on_gpu =
            result.plan->device == Device::cuda && !json.value("gpus", nlohmann::json()).empty();
        machines.insert(on_gpu ? json["gpus"][0].get<std::string>() : json.value("cpu", ""));
        versions.insert(json.value("version", ""));
        commits.insert(json.value("commit", ""));
      }
  if (machines.empty()) return "no run has ended yet";
  return fmt::format("{}; Lather {}, commit{} {}", fmt::join(machines, ", "), fmt::join(versions, ", "),
                     commits.size() == 1 ? "" : "s", fmt::join(commits, ", "));
}

std::string conditions_of(const ExperimentResult& result) {
  const Budget& budget = *result.plan->budget;
  std::string text = fmt::format("Budget `{}`: {} steps, {} seed{}", result.plan->budget_name, budget.steps,
                                 budget.seeds, budget.seeds == 1 ? "" : "s");
  if (budget.tuning_steps > 0)
    text +=
        fmt::format("; settings chosen by the held-out loss after {} steps on a seed that is not reported",
                    budget.tuning_steps);
  std::vector<std::string> changed;
  for (const auto* list : {&result.plan->experiment->settings, &budget.settings})
    for (const auto& [path, value] : *list)
      changed.push_back(fmt::format("`{}` = {}", path, short_value(value)));
  if (!changed.empty()) text += fmt::format("; {}", fmt::join(changed, ", "));
  return fmt::format("{}. Figures are those of the {} step. Machine: {}.", text,
                     result.plan->experiment->best ? "best held-out" : "last", machine_of(result));
}

std::vector<std::string> failures_of(const ExperimentResult& result) {
  std::vector<std::string> notes;
  for (const auto& cell : result.cells)
    for (const auto& run : cell.seeds)
      if (run.status == RunStatus::failed || run.status == RunStatus::out_of_memory)
        notes.push_back(
            fmt::format("{} with {}: {}", cell.cell->problem->label, cell.cell->variant->label, run.message));
  std::sort(notes.begin(), notes.end());
  notes.erase(std::unique(notes.begin(), notes.end()), notes.end());
  return notes;
}

}  // namespace

report::Table values_table(const ExperimentResult& result) {
  report::Table table;
  const auto variants = variants_of(result);
  table.header = {"problem", ""};
  for (const auto* variant : variants) table.header.push_back(variant->label);
  for (const auto* problem : problems_of(result))
    for (const auto& metric : result.plan->experiment->metrics) {
      std::vector<report::Cell> ours{{problem->label, {}}, {metric.label, {}}},
          paper{{"", {}}, {"paper", {}}}, ratio{{"", {}}, {"ratio", {}}};
      bool printed = false;
      for (const auto* variant : variants) {
        const CellResult* cell = find_cell(result, problem->name, variant->name);
        const PaperValue* value = find_paper(metric, problem->name, variant->name);
        const Measured measured = cell ? measure(result, metric, *cell) : Measured{};
        printed = printed || value;
        ours.push_back({cell ? measured.text() : "", {}});
        paper.push_back({value ? text_of(*value) : "", {}});
        ratio.push_back({ratio_text(measured, value), {}});
      }
      table.rows.push_back(std::move(ours));
      if (!printed) continue;
      table.rows.push_back(std::move(paper));
      table.rows.push_back(std::move(ratio));
    }
  return table;
}

report::Table long_table(const ExperimentResult& result) {
  report::Table table;
  table.header = {"experiment",     "budget", "problem", "variant", "quantity",        "mean",
                  "standard_error", "seeds",  "result",  "paper",   "paper_deviation", "ratio"};
  for (const auto& cell : result.cells)
    for (const auto& metric : result.plan->experiment->metrics) {
      const auto& problem = cell.cell->problem->name;
      const auto& variant = cell.cell->variant->name;
      const Measured m = measure(result, metric, cell);
      const PaperValue* paper = find_paper(metric, problem, variant);
      const auto number = [](std::optional<double> v) { return v ? fmt::format("{}", *v) : std::string(); };
      std::vector<report::Cell> row;
      for (const std::string& text :
           {result.plan->experiment->name, result.plan->budget_name, problem, variant,
            metric.task_metric.empty()
                ? std::string(name_of(metric.quantity))
                : "task." + metric.task_metric + (metric.step > 0 ? fmt::format("@{}", metric.step) : ""),
            m.is_known() ? number(m.mean()) : std::string(),
            m.is_known() ? number(m.standard_error()) : std::string(), std::to_string(m.values.size()),
            m.text(), paper ? (paper->value ? number(paper->value) : paper->text) : std::string(),
            paper ? number(paper->deviation) : std::string(), ratio_text(m, paper)})
        row.push_back({text, {}});
      table.rows.push_back(std::move(row));
    }
  return table;
}

report::Table verdict_table(const ExperimentResult& result) {
  report::Table table;
  table.header = {"problem", "metric", "the paper's ranking", "pairs in its order"};
  for (const auto& metric : result.plan->experiment->metrics) {
    if (!metric.ranked) continue;
    for (const auto& problem : result.plan->experiment->problems) {
      if (!metric.paper.contains(problem.name)) continue;
      const Verdict verdict = judge(result, metric, problem.name);
      table.rows.push_back(
          {{problem.label, {}},
           {metric.label, {}},
           {verdict.words, {}},
           {verdict.pairs > 0 ? fmt::format("{} of {}", verdict.agreeing, verdict.pairs) : "", {}}});
    }
  }
  return table;
}

report::Table settings_table(const ExperimentResult& result) {
  report::Table table;
  table.header = {"problem", "variant", "chosen", "best at the edge of the grid"};
  for (const auto& cell : result.cells) {
    if (!result.plan->tunes(*cell.cell) || cell.chosen.empty()) continue;
    std::vector<std::string> chosen;
    for (const auto& [path, value] : cell.chosen)
      chosen.push_back(fmt::format("{} = {}", path, short_value(value)));
    table.rows.push_back({{cell.cell->problem->label, {}},
                          {cell.cell->variant->label, {}},
                          {fmt::format("{}", fmt::join(chosen, ", ")), {}},
                          {fmt::format("{}", fmt::join(cell.edges, ", ")), {}}});
  }
  return table;
}

namespace {

// What the paper says, how it was run, tables and pictures.
void add_section(Document& page, const ExperimentResult& result) {
  const Experiment& experiment = *result.plan->experiment;
  page.paragraph(experiment.paper.empty()
                     ? ""
                     : fmt::format("In the paper: {}. {}", experiment.paper, experiment.claim));
  if (!experiment.conclusion.empty()) page.paragraph(fmt::format("What follows: {}", experiment.conclusion));
  page.paragraph(experiment.about);
  page.paragraph(conditions_of(result));
  page.command(fmt::format("lather reproduce {} --budget {}{}", experiment.name, result.plan->budget_name,
                           result.plan->device == Device::cuda ? " --device cuda" : ""));
  if (experiment.tables.empty()) page.table(values_table(result));
  if (const auto events = events_table(result); !events.rows.empty()) page.table(events);
  if (const auto verdicts = verdict_table(result); !verdicts.rows.empty()) page.table(verdicts);
  for (const auto& sentence : findings(result)) page.paragraph(sentence);
  for (const auto& entry : experiment.tables) {
    page.subheading(entry.title);
    page.paragraph(entry.about);
    page.table(comparison_table(result, entry));
  }
  if (const auto settings = settings_table(result); !settings.rows.empty()) {
    if (!experiment.tables.empty()) page.subheading("Settings that tuning chose");
    page.table(settings);
  }
  if (const auto tau = tau_table(result); !tau.rows.empty()) {
    page.paragraph("How large tau was, in shares of the steps of all layers that had a secant:");
    page.table(tau);
  }
  for (const auto& note : failures_of(result)) page.paragraph(note);
  if (const GridMap map = make_grid_map(result); !map.panels.empty())
    page.figure(experiment.name + "-grid", svg_grid_map(map), "What tuning tried: " + map.title);
  for (const auto& figure : experiment.figures)
    page.figure(fmt::format("{}-{}", experiment.name, figure.name), svg_panels(make_figure(result, figure)),
                figure.title);
  const FieldMaps maps = make_field_maps(result);
  for (const auto& map : maps.figures) page.figure(map.name, map.svg, map.caption);
  for (const auto& note : maps.notes) page.paragraph(note);
}

report::Table summary_table(std::span<const ExperimentResult> results) {
  report::Table summary;
  summary.header = {"experiment", "the paper says", "problems and metrics where its leader leads",
                    "pairs of methods in its order"};
  for (const auto& result : results) {
    const Tally tally = tally_of(result);
    summary.rows.push_back(
        {{result.plan->experiment->title, {}},
         {result.plan->experiment->claim, {}},
         {tally.text() + (result.complete() ? "" : " (runs are missing)"), {}},
         {tally.pairs > 0 ? fmt::format("{} of {}", tally.agreeing, tally.pairs) : "", {}}});
  }
  return summary;
}

// An experiment that stands for nothing in the paper has a page of its own.
Document study_page(const ExperimentResult& result, const std::string& command) {
  Document page(result.plan->experiment->title);
  page.paragraph(fmt::format(
      "Written by `{}`{}. Values are mean ± standard error over seeds. \"Over\" another row: the geometric "
      "mean, "
      "over problems and seeds, of the values divided by those of the other row with the same problem and "
      "seed, and the range of two standard errors around it. Better or worse: 1 is outside of this range. "
      "There are {} such comparisons: in so many, some fall outside by chance.",
      command, result.complete() ? "" : ", before all runs had ended",
      comparisons_in(*result.plan->experiment)));
  add_section(page, result);
  return page;
}

}  // namespace

std::vector<std::string> write_experiment(const ExperimentResult& result, const fs::path& folder) {
  fs::create_directories(folder);
  const std::string& name = result.plan->experiment->name;
  std::string tables = report::to_markdown(values_table(result)) + "\n" +
                       report::to_markdown(verdict_table(result)) + "\n" +
                       report::to_markdown(settings_table(result));
  for (const auto& entry : result.plan->experiment->tables)
    tables += fmt::format("\n{}\n\n{}", entry.title, report::to_markdown(comparison_table(result, entry)));
  write_file_atomically(folder / (name + ".md"), tables);
  if (const auto events = events_table(result); !events.rows.empty())
    write_file_atomically(folder / (name + "-events.csv"), report::to_csv(events));
  if (const auto tau = tau_table(result); !tau.rows.empty())
    write_file_atomically(folder / (name + "-tau.csv"), report::to_csv(tau));
  write_file_atomically(folder / (name + ".csv"), report::to_csv(long_table(result)));
  write_file_atomically(folder / (name + ".tex"), report::to_latex(values_table(result)));
  return write_figures(result, folder);
}

Document write_page(std::span<const ExperimentResult> results, const std::string& command) {
  if (results.size() == 1 && results[0].plan->experiment->is_study()) return study_page(results[0], command);
  Document page("Reproduction of \"Self-Scaled Adaptive Preconditioning for Physics-Informed Learning\"");
  page.paragraph(
      fmt::format("Written by `{}`. Values are mean ± standard error over seeds; \"ratio\" is ours divided "
                  "by the paper's. The "
                  "paper's absolute values depend on budgets and normalizations that it does not state; what "
                  "can be compared is the "
                  "order of the methods. \"Level\": the paper's leader is within two standard errors of "
                  "ours. The paper's "
                  "\"residual\" is taken as a mean square.",
                  command));
  if (std::any_of(results.begin(), results.end(),
                  [](const auto& result) { return result.plan->budget_name == "quick"; }))
    page.paragraph(
        "The budget `quick` shows that everything runs. It is too short, and its networks are too small, to "
        "say much about "
        "the paper.");
  page.table(summary_table(results));
  for (const auto& result : results) {
    page.heading(result.plan->experiment->title);
    add_section(page, result);
  }
  return page;
}

}  // namespace lather::experiment
