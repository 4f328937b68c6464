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
#include "lather/experiment/pages/summary.hpp"
#include "lather/experiment/pages/tau_table.hpp"

namespace lather::experiment {

namespace {

namespace fs = std::filesystem;

// As the runs recorded it: they may have come from several machines and commits.
struct Origin {
  std::set<std::string> machines, versions, commits;
  bool gpu = false;  // one of them at least is of a GPU
};

Origin origin_of(const ExperimentResult& result) {
  Origin origin;
  for (const auto& cell : result.cells)
    for (const auto& run : cell.seeds)
      if (const auto file = run.folder / "environment.json"; !run.folder.empty() && is_there(file)) {
        const auto json = nlohmann::json::parse(read_found_file(file), nullptr, false);
        if (!json.is_object()) continue;  // damaged
        const bool on_gpu = result.plan->device == Device::cuda && cell.cell->problem->task.empty() &&
                            !json.value("gpus", nlohmann::json()).empty();
        origin.gpu = origin.gpu || on_gpu;
        origin.machines.insert(on_gpu ? json["gpus"][0].get<std::string>() : json.value("cpu", ""));
        origin.versions.insert(json.value("version", ""));
        origin.commits.insert(json.value("commit", ""));
      }
  return origin;
}

std::string machine_of(const ExperimentResult& result) {
  const auto [machines, versions, commits, gpu] = origin_of(result);
  if (machines.empty()) return "no run has ended yet";
  return fmt::format("{}; Lather {}, commit{} {}", fmt::join(machines, ", "), fmt::join(versions, ", "),
                     commits.size() == 1 ? "" : "s", fmt::join(commits, ", "));
}

std::string command_of(const ExperimentResult& result) {
  return fmt::format("lather reproduce {} --budget {}{}", result.plan->experiment->name,
                     result.plan->budget_name, origin_of(result).gpu ? " --device cuda" : "");
}

std::string conditions_of(const ExperimentResult& result) {
  const Budget& budget = *result.plan->budget;
  std::string text = fmt::format("Budget `{}`: {} steps, {} seed{}", result.plan->budget_name, budget.steps,
                                 budget.seeds, budget.seeds == 1 ? "" : "s");
  if (budget.time_limit > 0) text += fmt::format(", at most {:g} s a run", budget.time_limit);
  if (budget.tuning_steps > 0)
    text += "; settings chosen by the " + tuning_measure(*result.plan->experiment, budget);
  std::vector<std::string> changed;
  for (const auto* list : {&result.plan->experiment->settings, &budget.settings})
    for (const auto& [path, value, where] : *list)
      changed.push_back(fmt::format("`{}` = {}", path, short_value(value)));
  if (!changed.empty()) text += fmt::format("; {}", fmt::join(changed, ", "));
  if (!budget.problem.empty())
    text += fmt::format("; settings of individual problems are in `experiments/{}.toml`",
                        result.plan->experiment->name);
  return fmt::format("{}. Values are those of the {} step. Machine: {}.", text,
                     result.plan->experiment->best ? "best held-out" : "last", machine_of(result));
}

std::vector<std::string> failures_of(const ExperimentResult& result) {
  std::vector<std::string> notes;
  for (const auto& cell : result.cells) {
    const auto note = [&](const RunRecord& run, const char* kind) {
      notes.push_back(fmt::format("{} with {}{}: {}", cell.cell->problem->label, cell.cell->variant->label,
                                  kind, run.message));
    };
    for (const auto& run : cell.failures) note(run, ", tuning");
    for (const auto& run : cell.seeds)
      if (run.status == RunStatus::failed || run.status == RunStatus::out_of_memory) note(run, "");
  }
  std::sort(notes.begin(), notes.end());
  notes.erase(std::unique(notes.begin(), notes.end()), notes.end());
  return notes;
}

// What the paper says, how it was run, tables and pictures.
void add_section(Document& page, const ExperimentResult& result, MapsOnPage& drawn) {
  const Experiment& experiment = *result.plan->experiment;
  page.paragraph(experiment.paper.empty()
                     ? ""
                     : fmt::format("In the paper: {}. {}", experiment.paper, experiment.claim));
  if (!experiment.conclusion.empty() && result.complete())
    page.paragraph(fmt::format("What follows: {}", experiment.conclusion));
  page.paragraph(experiment.about);
  page.paragraph(conditions_of(result));
  page.command(command_of(result));
  if (const auto checks = checks_table(result); !checks.rows.empty()) page.table(checks);
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
  const FieldMaps maps = make_field_maps(result, drawn);
  for (const auto& map : maps.figures) page.figure(map.name, map.svg, map.caption);
  for (const auto& note : maps.notes) page.paragraph(note);
}

void add_explanations(Document& page) {
  page.heading("How to read this page");
  page.paragraph(
      "**Values** are taken after the last step, residuals and losses at held-out points (where points are "
      "fixed, a method may fit them and little else: such sections also have the loss at the training "
      "points, which is probably what the paper prints). They are mean ± standard error over seeds (the "
      "paper's ± is a standard deviation, in its table "
      "of logistic regression a standard error). Where the largest seed is more than ten times the smallest, "
      "a mean says nothing, and the median and the range "
      "are given. \"Diverged\": not a number at the end, or a held-out loss more than ten times that "
      "before the first step; such seeds are counted, not averaged. \"Not solved\": the relative L² error is "
      "above 0.5, or an unknown ends more than a tenth from its known value, so the residual beside it "
      "belongs to something other than the solution (errors are not measured where time "
      "is, nor on problems whose file in `experiments/` says `training.reference = false`). \"Cut off by the "
      "time limit\": at fewer steps than the budget has. \"Ratio\" is ours divided by the paper's; the "
      "paper's values depend on budgets and normalizations that it does not state, so a ratio shows the "
      "distance and "
      "does not compare methods. The paper's \"residual\" is taken as a mean square.");
  page.paragraph(
      "**Verdicts** compare values of the same problem and seed. \"0.5 times SOAP\" is the geometric mean of "
      "their ratios; it is given for the strongest rival, or the strongest of those that the seeds cannot "
      "tell from the method. A claim holds where its method is ahead of all "
      "that it names with 95 % confidence (Student's t of the logarithms of these ratios), and does not hold "
      "where it is behind one of them with the same confidence. Otherwise the seeds cannot tell: three of "
      "them show only differences that are large or very regular. A method with more seeds that diverged, "
      "did not solve the problem, ran out of memory or missed a target than another (\"without a value\") is "
      "behind it, which is a rule, not a test. \"One seed\": whoever has the smaller value is ahead. \"No "
      "method solves it here\": the "
      "best relative L² error is above 0.5, and the order of residuals says little. A claim that names a "
      "factor (\"a third of the time\") holds where the whole interval around ours lies in the range printed "
      "beside it, does not hold where all of it lies outside; otherwise the seeds cannot tell. A claim "
      "marked \"ours\" is one of the paper's under conditions that it does "
      "not have: other points, targets, problems or schedules. These rules, "
      "and the ranges printed beside some verdicts, were set after runs of the budget `short` had been "
      "seen.");
  page.paragraph(
      "**SS-eSOAP** is the preset `ss-esoap`. It differs from the paper's formulas where these depend on the "
      "units of the loss or contradict each other, above all in the metric of tau and in where epsilon "
      "stands "
      "(docs/optimizers.md, \"What the paper of SS-eSOAP leaves open\"). The paper's metric is an arm of its "
      "own in the section on self-scaling, and its preset `ss-esoap-paper` runs on the matrix problems.");
  page.paragraph(
      "**Problems and networks**: the paper states no depths, points or precision for its main tables, and "
      "widths for three experiments only. Ours are named in every section; the budget `paper` has PirateNets "
      "of three blocks of width 256 and 100,000 steps, which is our choice, taken from the code of "
      "PirateNets. Gray-Scott starts with v = exp(...): with 1 - exp(...), which the paper prints, nothing "
      "happens. For Burgers the paper defines the viscous equation and gives an ansatz that belongs to a "
      "self-similar one; ours is the viscous one, with its conditions in the ansatz. Gray-Scott and "
      "Ginzburg-Landau have a PirateNet here, where one figure of the paper has a multilayer perceptron.");
  page.paragraph(
      "**Tuning** tries a grid on a seed that is not reported, or on several, where a section says so. "
      "\"Edge\": the best value is the first or last "
      "that was tried, so the search was not finished. The paper's grids also have beta2, momentum and "
      "update frequencies; budgets below `paper` try the learning rate only, unless a section says "
      "otherwise.");
  page.paragraph(
      "**What no run tests**: the paper's table of operations per iteration and the columns on computation, "
      "mini-batches and deep networks of its comparison of methods are orders of growth and properties, not "
      "measurements. What a step takes and what is stored, over the width, is measured in the sections on "
      "seconds per 1,000 steps and on storage. A network of ten million parameters (\"Scalability\" in the "
      "comparison with Adam) was not trained.");
}

// An experiment that corresponds to nothing in the paper has its own kind of page.
Document study_page(const ExperimentResult& result, const std::string& command) {
  Document page(result.plan->experiment->title);
  page.paragraph(fmt::format(
      "Written by `{}`{}. Values are mean ± standard error over seeds; median and range where the largest is "
      "more than ten times the smallest. \"Over\" another row: the geometric mean, over problems and seeds, "
      "of the values divided by those of the other row with the same problem and "
      "seed, and the 95 % interval around it (Student's t). Better or worse: 1 is outside of this interval. "
      "There are {} such comparisons: in so many, some fall outside by chance.",
      command, result.complete() ? "" : ", before all runs had ended",
      comparisons_in(*result.plan->experiment)));
  MapsOnPage drawn;
  add_section(page, result, drawn);
  return page;
}

}  // namespace

std::vector<std::string> write_experiment(const ExperimentResult& result, const fs::path& folder) {
  fs::create_directories(folder);
  const std::string& name = result.plan->experiment->name;
  std::vector<std::string> tables;
  for (const auto& table :
       {values_table(result), checks_table(result), verdict_table(result), settings_table(result)})
    if (!table.rows.empty()) tables.push_back(report::to_markdown(table));
  for (const auto& entry : result.plan->experiment->tables)
    if (const auto table = comparison_table(result, entry); !table.rows.empty())
      tables.push_back(fmt::format("{}\n\n{}", entry.title, report::to_markdown(table)));
  write_file_atomically(folder / (name + ".md"), fmt::format("{}", fmt::join(tables, "\n")));
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
  page.paragraph(fmt::format("Written by `{}`.", command));
  if (std::any_of(results.begin(), results.end(),
                  [](const auto& result) { return result.plan->budget_name == "quick"; }))
    page.paragraph(
        "The budget `quick` shows that everything runs. It is too short, and its networks are too small, to "
        "say much about the paper.");
  else if (std::any_of(results.begin(), results.end(),
                       [](const auto& result) { return result.plan->budget_name != "paper"; }))
    page.paragraph(
        "Budgets below `paper` train smaller networks for far fewer steps than the paper. They test whether "
        "its rankings appear under equal conditions at that size. What does not hold here may hold in long "
        "runs of large networks: docs/paper-size.md has SOAP and SS-eSOAP on three problems, 100,000 steps "
        "each.");
  page.heading("Summary");
  add_summary(page, results);
  add_explanations(page);
  MapsOnPage drawn;
  for (const auto& result : results) {
    page.heading(result.plan->experiment->title);
    add_section(page, result, drawn);
  }
  return page;
}

}  // namespace lather::experiment
