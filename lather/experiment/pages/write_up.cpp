#include "lather/experiment/pages/write_up.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lather/core/files.hpp"
#include "lather/experiment/pages/events_table.hpp"
#include "lather/experiment/pages/panels.hpp"
#include "lather/experiment/pages/pdf.hpp"

namespace lather::experiment {

namespace {

namespace fs = std::filesystem;

const CellResult* find_cell(const ExperimentResult& result, const std::string& problem,
                            const std::string& variant) {
  for (const auto& cell : result.cells)
    if (cell.cell->problem->name == problem && cell.cell->variant->name == variant) return &cell;
  return nullptr;
}

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

// Problems that have a cell, in the order of the file.
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

std::string short_value(const std::string& text) {
  return text.size() > 1 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
}

// Curves of the seeds as one: geometric mean, smallest and largest at each step all of them have.
PanelCurve join_seeds(const CellResult& cell, const FigureEntry& figure, int method) {
  std::vector<std::vector<CurvePoint>> curves;
  for (const auto& run : cell.seeds)
    if (run.status == RunStatus::done)
      if (auto curve = curve_of(run.folder, figure.quantity, figure.task_metric); !curve.empty())
        curves.push_back(std::move(curve));
  PanelCurve joined{method, {}, {}, {}, {}};
  if (curves.empty()) return joined;
  std::size_t length = curves[0].size();
  for (const auto& curve : curves) length = std::min(length, curve.size());
  for (std::size_t i = 0; i < length; ++i) {
    double sum = 0, low = 1e308, high = 0, x = 0;
    bool drawable = true;
    for (const auto& curve : curves) {
      drawable = drawable && curve[i].value > 0 && std::isfinite(curve[i].seconds);
      sum += std::log(std::max(curve[i].value, 1e-300));
      low = std::min(low, curve[i].value), high = std::max(high, curve[i].value);
      x += (figure.over_seconds ? curve[i].seconds : curve[i].step) / static_cast<double>(curves.size());
    }
    if (!drawable) continue;
    joined.x.push_back(x);
    joined.value.push_back(std::exp(sum / static_cast<double>(curves.size())));
    if (curves.size() > 1) joined.low.push_back(low), joined.high.push_back(high);
  }
  return joined;
}

std::string y_name(Quantity quantity) {
  switch (quantity) {
    case Quantity::residual: return "root mean square residual at held-out points";
    case Quantity::mean_square: return "mean square residual at held-out points";
    case Quantity::loss: return "loss at held-out points";
    case Quantity::l2: return "relative L² error";
    case Quantity::h1: return "relative H¹ error";
    default: return std::string(name_of(quantity));
  }
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

std::string machine_of(const ExperimentResult& result) {
  for (const auto& cell : result.cells)
    for (const auto& run : cell.seeds)
      if (const auto file = run.folder / "environment.json"; fs::exists(file)) {
        const auto json = train::read_json(file);
        const auto word = [&](const char* key) { return json.value(key, ""); };
        const bool on_gpu =
            result.plan->device == Device::cuda && !json.value("gpus", nlohmann::json()).empty();
        const std::string machine = on_gpu ? json["gpus"][0].get<std::string>() : word("cpu");
        return fmt::format("{}; Lather {}, commit {}", machine, word("version"), word("commit"));
      }
  return "no run has ended yet";
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

PanelFigure make_figure(const ExperimentResult& result, const FigureEntry& figure) {
  PanelFigure drawing;
  drawing.title = figure.title.empty() ? result.plan->experiment->title : figure.title;
  drawing.x_name = figure.over_seconds ? "seconds" : "steps";
  drawing.y_name = figure.task_metric.empty() ? y_name(figure.quantity) : figure.task_metric;
  const auto variants = variants_of(result);
  for (const auto* variant : variants) drawing.methods.push_back(variant->label);
  for (const auto* problem : problems_of(result)) {
    auto& panel = drawing.panels.emplace_back(Panel{problem->label, {}});
    for (std::size_t v = 0; v < variants.size(); ++v)
      if (const CellResult* cell = find_cell(result, problem->name, variants[v]->name))
        panel.curves.push_back(join_seeds(*cell, figure, static_cast<int>(v)));
  }
  return drawing;
}

void write_drawing(const fs::path& folder, const std::string& name, const PanelFigure& drawing) {
  const std::string svg = svg_panels(drawing);
  write_file_atomically(folder / (name + ".svg"), svg);
  write_file_atomically(folder / (name + ".pdf"), pdf_of(svg));
}

// The whole and, where there are several, each panel alone.
void write_figure(const ExperimentResult& result, const FigureEntry& figure, const fs::path& folder) {
  const PanelFigure drawing = make_figure(result, figure);
  const std::string name = fmt::format("{}-{}", result.plan->experiment->name, figure.name);
  write_drawing(folder, name, drawing);
  const auto problems = problems_of(result);
  for (std::size_t i = 0; drawing.panels.size() > 1 && i < drawing.panels.size(); ++i) {
    PanelFigure alone = drawing;
    alone.panels = {drawing.panels[i]};
    alone.columns = 1;
    write_drawing(folder, name + "-" + problems[i]->name, alone);
  }
}

void write_experiment(const ExperimentResult& result, const fs::path& folder) {
  fs::create_directories(folder);
  const std::string& name = result.plan->experiment->name;
  write_file_atomically(folder / (name + ".md"), report::to_markdown(values_table(result)) + "\n" +
                                                     report::to_markdown(verdict_table(result)) + "\n" +
                                                     report::to_markdown(settings_table(result)));
  if (const auto events = events_table(result); !events.rows.empty())
    write_file_atomically(folder / (name + "-events.csv"), report::to_csv(events));
  write_file_atomically(folder / (name + ".csv"), report::to_csv(long_table(result)));
  write_file_atomically(folder / (name + ".tex"), report::to_latex(values_table(result)));
  for (const auto& figure : result.plan->experiment->figures) write_figure(result, figure, folder);
}

Document write_page(std::span<const ExperimentResult> results, const std::string& command) {
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
  page.table(summary);
  for (const auto& result : results) {
    const Experiment& experiment = *result.plan->experiment;
    page.heading(experiment.title);
    page.paragraph(experiment.paper.empty()
                       ? ""
                       : fmt::format("In the paper: {}. {}", experiment.paper, experiment.claim));
    page.paragraph(experiment.about);
    page.paragraph(conditions_of(result));
    page.command(fmt::format("lather reproduce {} --budget {}{}", experiment.name, result.plan->budget_name,
                             result.plan->device == Device::cuda ? " --device cuda" : ""));
    page.table(values_table(result));
    if (const auto events = events_table(result); !events.rows.empty()) page.table(events);
    if (const auto verdicts = verdict_table(result); !verdicts.rows.empty()) page.table(verdicts);
    if (const auto settings = settings_table(result); !settings.rows.empty()) page.table(settings);
    for (const auto& note : failures_of(result)) page.paragraph(note);
    for (const auto& figure : experiment.figures)
      page.figure(fmt::format("{}-{}", experiment.name, figure.name), svg_panels(make_figure(result, figure)),
                  figure.title);
  }
  return page;
}

}  // namespace lather::experiment
