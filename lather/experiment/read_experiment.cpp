#include "lather/experiment/experiment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/experiment/matrix_task.hpp"
#include "lather/experiment/plan.hpp"
#include "lather/experiment/table_reader.hpp"

namespace lather::experiment {

namespace {

// Possible outcomes of runs that have no number.
const std::vector<std::string> kResults = {"out of memory", "diverged", "did not reach it"};
const std::vector<std::string> kEventQuantities = {"loss_after_1", "loss_after_10", "doubled_after_1",
                                                   "rho_after_10", "gradient_cosine_after_10"};
const std::vector<std::string> kBudgets = {"quick", "short", "paper"};

// "task.gap" is a task metric of that name.
Quantity quantity_from(const TomlValue& value, const std::string& what, std::string& task_metric) {
  const auto& text = value.as_text(what);
  if (text.text.starts_with("task.")) {
    task_metric = text.text.substr(5);
    return Quantity::task_metric;
  }
  if (const auto found = find_quantity(text.text)) return *found;
  auto names = quantity_names();
  names.emplace_back("task.loss");
  throw Error(text.where, unknown_name_message("quantity", text.text, names));
}

void read_axes(const TomlValue& table, const std::string& path, std::vector<GridAxis>& grid) {
  for (const auto& entry : table.entries) {
    const std::string here = path.empty() ? entry.key : path + "." + entry.key;
    if (entry.value.is_table()) {
      read_axes(entry.value, here, grid);
      continue;
    }
    if (!entry.value.is_array() || entry.value.items.empty())
      throw Error(entry.value.where, fmt::format("grid.{} must be a list of values", here));
    auto& axis = grid.emplace_back(GridAxis{here, {}, entry.where});
    for (const auto& item : entry.value.items) axis.values.push_back(item.to_json().dump());
  }
}

PaperValue paper_value(const TomlValue& value) {
  if (value.is_number()) return {value.real, {}, ""};
  if (value.is_text()) return {{}, {}, value.text.text};
  if (value.is_array() && value.items.size() == 2 && value.items[0].is_number() && value.items[1].is_number())
    return {value.items[0].real, value.items[1].real, ""};
  throw Error(value.where,
              "a value of the paper must be a number, [mean, deviation], or a text such as \"OOM\"");
}

void require_known(const char* what, const std::string& name, const std::vector<std::string>& known,
                   const SourceLocation& where) {
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw Error(where, unknown_name_message(what, name, known));
}

std::vector<std::string> known_texts(TableReader& r, const char* key, const char* what,
                                     const std::vector<std::string>& known) {
  std::vector<std::string> names;
  if (const TomlValue* value = r.find(key))
    for (const auto& [name, where, places] : value->as_texts(r.name_of(key))) {
      require_known(what, name, known, where);
      names.push_back(name);
    }
  return names;
}

// Likewise, each of them once.
std::vector<std::string> distinct_texts(TableReader& r, const char* key, const char* what,
                                        const std::vector<std::string>& known) {
  auto names = known_texts(r, key, what, known);
  for (auto name = names.begin(); name != names.end(); ++name)
    if (std::find(names.begin(), name, *name) != name)
      throw Error(r.where(), fmt::format("{} names '{}' twice", r.name_of(key), *name));
  return names;
}

template <class Entry, class Read>
std::vector<Entry> read_list(TableReader& root, const char* key, bool needed, Read read) {
  std::vector<Entry> list;
  const TomlValue* value = needed ? &root.required(key) : root.find(key);
  if (!value) return list;
  if (!value->is_array() || (needed && value->items.empty()))
    throw Error(value->where, fmt::format("expected [[{}]], a list of tables", key));
  for (const auto& item : value->items) {
    TableReader reader(item, fmt::format("[[{}]]", key));
    list.push_back(read(reader));
    reader.done();
  }
  return list;
}

template <class Entry>
void require_distinct(const std::vector<Entry>& entries, const char* what) {
  for (std::size_t i = 0; i < entries.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (entries[i].name == entries[j].name)
        throw Error(entries[i].where, fmt::format("the {} '{}' is there twice", what, entries[i].name));
}

ProblemEntry read_problem_entry(TableReader& r) {
  ProblemEntry entry;
  entry.where = r.where();
  entry.name = r.required_name("name", "; a file is given by `problem = \"path/to/file.toml\"`");
  const TomlValue* problem = r.find("problem");
  entry.problem = r.text("problem", entry.name);
  entry.task = r.text("task");
  if (!entry.task.empty()) require_known("task", entry.task, task_names(), r.where());
  if (problem && !entry.task.empty())
    throw Error(problem->where, "[[problem]] has a `problem` or a `task`, not both");
  entry.label = r.text("label", entry.name);
  entry.settings = r.settings("settings");
  return entry;
}

VariantEntry read_variant_entry(TableReader& r, const Experiment& e) {
  const auto problems = names_of(e.problems);
  VariantEntry entry;
  entry.where = r.where();
  entry.name = r.required_name("name");
  entry.label = r.text("label", entry.name);
  entry.optimizer = r.text("optimizer", entry.name);
  entry.settings = r.settings("settings");
  if (const TomlValue* grid = r.find("grid"))
    read_axes(grid->as_table("grid of [[variant]]"), "", entry.grid);
  entry.only = distinct_texts(r, "only", "problem", problems);
  if (const TomlValue* instead = r.find("instead"))
    for (const auto& [name, where, value] : instead->as_table("instead of [[variant]]").entries) {
      require_known("problem", name, problems, where);
      if (!e.problem(name).task.empty())
        throw Error(where, fmt::format("'{}' is a matrix problem: no problem file can take its place", name));
      entry.instead[name] = value.as_text("instead." + name).text;
    }
  return entry;
}

MetricEntry read_metric_entry(TableReader& r, const std::vector<std::string>& problems,
                              const std::vector<std::string>& variants) {
  MetricEntry entry;
  entry.where = r.where();
  entry.quantity = quantity_from(r.required("quantity"), "quantity of [[metric]]", entry.task_metric);
  entry.label =
      r.text("label", entry.task_metric.empty() ? std::string(name_of(entry.quantity)) : entry.task_metric);
  entry.step = r.integer("step", 0, 1);
  if (entry.step > 0 && entry.quantity != Quantity::task_metric)
    throw Error(r.where(), "only a task metric is given at a step");
  entry.largest = r.boolean("largest", false);
  if (entry.largest && (entry.quantity != Quantity::task_metric || entry.step > 0))
    throw Error(r.where(), "only a task metric without a step can be the largest of all steps");
  entry.ranked = r.boolean("ranked", true);
  entry.target = r.positive("target");
  if ((entry.quantity == Quantity::seconds_to_target) != (entry.target > 0))
    throw Error(r.where(), "seconds_to_target needs a target, and nothing else has one");
  if (const TomlValue* paper = r.find("paper"))
    for (const auto& row : paper->as_table("paper of [[metric]]").entries) {
      require_known("problem", row.key, problems, row.where);
      for (const auto& cell : row.value.as_table("paper." + row.key).entries) {
        require_known("variant", cell.key, variants, cell.where);
        entry.paper[row.key][cell.key] = paper_value(cell.value);
      }
    }
  return entry;
}

// The index of the metric with this label.
std::size_t metric_index(const std::vector<MetricEntry>& metrics, const std::string& label,
                         const SourceLocation& where) {
  std::vector<std::string> labels;
  for (const auto& metric : metrics) labels.push_back(metric.label);
  if (label.empty()) return 0;
  require_known("metric", label, labels, where);
  return static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

CheckEntry read_check_entry(TableReader& r, const Experiment& e) {
  const auto variants = names_of(e.variants);
  CheckEntry entry;
  entry.says = r.required_text("says");
  entry.question = r.text("question");
  entry.ours = r.boolean("ours", false);
  entry.metric = metric_index(e.metrics, r.text("metric"), r.where());
  entry.problems = distinct_texts(r, "problems", "problem", names_of(e.problems));
  if (entry.problems.empty()) entry.problems = names_of(e.problems);
  entry.variant = r.text("variant");
  if (!entry.variant.empty()) require_known("variant", entry.variant, variants, r.where());
  entry.below = distinct_texts(r, "below", "variant", variants);
  entry.over = r.text("over");
  if (!entry.over.empty()) require_known("variant", entry.over, variants, r.where());
  const TomlValue* range = r.find("range");
  if (range) {
    const auto& items = range->items;
    if (!range->is_array() || items.size() != 2 || !items[0].is_number() || !items[1].is_number() ||
        !(items[0].real < items[1].real))
      throw Error(range->where, "range of [[check]] must be [smallest, largest]");
    entry.low = items[0].real, entry.high = items[1].real;
  }
  entry.events = r.text("events");
  if (!entry.events.empty()) require_known("quantity of events", entry.events, kEventQuantities, r.where());
  entry.result = r.text("result");
  if (!entry.result.empty()) require_known("result", entry.result, kResults, r.where());
  entry.not_tested = r.text("not_tested");
  const int kinds = !entry.below.empty() + !entry.over.empty() + !entry.events.empty() +
                    !entry.result.empty() + !entry.not_tested.empty();
  const bool needs_range = !entry.over.empty() || !entry.events.empty(), alone = kinds == 0 && range;
  if ((kinds != 1 && !alone) || (!alone && needs_range != (range != nullptr)) ||
      entry.variant.empty() == entry.not_tested.empty())
    throw Error(
        r.where(),
        "[[check]] needs a variant and one of `below`, `range`, `over` with `range`, `events` with `range`, "
        "`result`; or, without a variant, `not_tested`");
  if (range && entry.high <= 0 && entry.events != "gradient_cosine_after_10")
    throw Error(range->where, "range of [[check]]: only the cosine of gradients can be negative");
  const bool below_itself =
      std::find(entry.below.begin(), entry.below.end(), entry.variant) != entry.below.end();
  if (below_itself || (!entry.over.empty() && entry.over == entry.variant))
    throw Error(r.where(), fmt::format("[[check]] compares the variant '{}' with itself", entry.variant));
  return entry;
}

// Every row once; in pairs, every pair once, so that one variant can be compared with several.
void require_distinct_rows(const TableReader& r, const TableEntry& table) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < table.variants.size(); i += table.pairs ? 2 : 1) {
    const auto& name = table.variants[i];
    if (table.pairs && name == table.variants[i + 1])
      throw Error(r.where(), fmt::format("[[table]] compares the variant '{}' with itself", name));
    rows.push_back(table.pairs ? name + "' with '" + table.variants[i + 1] : name);
    if (std::find(rows.begin(), rows.end() - 1, rows.back()) != rows.end() - 1)
      throw Error(r.where(), fmt::format("variants of [[table]] has '{}' twice", rows.back()));
  }
}

TableEntry read_table_entry(TableReader& r, const std::vector<std::string>& variants) {
  TableEntry entry;
  entry.title = r.required_text("title");
  entry.about = r.text("about");
  entry.variants = known_texts(r, "variants", "variant", variants);
  entry.pairs = r.boolean("pairs", false);
  if (entry.variants.size() < 2)
    throw Error(r.where(), "variants of [[table]] must name two of them at least");
  if (entry.pairs && entry.variants.size() % 2 != 0)
    throw Error(r.where(), "[[table]] with pairs = true must name an even number of variants");
  require_distinct_rows(r, entry);
  return entry;
}

bool sets(const Settings& settings, const std::string& path) {
  return std::any_of(settings.begin(), settings.end(), [&](const auto& s) { return s.path == path; });
}

FigureEntry read_figure_entry(TableReader& r, const Experiment& e) {
  FigureEntry entry;
  entry.name = r.required_name("name");
  entry.title = r.text("title");
  const TomlValue* quantity = r.find("quantity");
  if (quantity) entry.quantity = quantity_from(*quantity, "quantity of [[figure]]", entry.task_metric);
  const std::vector<Quantity> drawn = {Quantity::residual,      Quantity::mean_square, Quantity::loss,
                                       Quantity::training_loss, Quantity::l2,          Quantity::h1,
                                       Quantity::task_metric};
  if (std::find(drawn.begin(), drawn.end(), entry.quantity) == drawn.end())
    throw Error(r.where(),
                "a figure shows residual, mean_square, loss, training_loss, l2, h1 or a task metric");
  std::vector<std::string> axes = {"steps", "seconds", "changes"};
  for (const auto& problem : e.problems)
    for (const auto& [path, value, where] : problem.settings) axes.push_back(path);
  const std::string over = r.text("over", "steps"), metric = r.text("metric");
  require_known("axis of [[figure]]", over, axes, r.where());
  entry.over_seconds = over == "seconds";
  entry.around_changes = over == "changes";
  if (over != "steps" && over != "seconds" && over != "changes") entry.over_setting = over;
  if (entry.around_changes && (quantity || !metric.empty()))
    throw Error(r.where(), "a figure over changes of bases shows the training loss, and names nothing else");
  if (entry.over_setting.empty() ? !metric.empty() : quantity != nullptr)
    throw Error(r.where(),
                "a figure over steps or seconds shows a `quantity`, one over a setting a `metric`");
  entry.metric = metric_index(e.metrics, metric, r.where());
  entry.variants = known_texts(r, "variants", "variant", names_of(e.variants));
  return entry;
}

// A figure over a setting has one place for each problem.
void require_places(const Experiment& e, const FigureEntry& figure, const Budget& budget) {
  std::map<double, std::string> places;
  for (const auto& problem : e.problems) {
    const auto number = number_set(problem, budget, figure.over_setting);
    if (!number || !(*number > 0))
      throw Error(problem.where,
                  fmt::format("the figure '{}' is over {}: the problem '{}' must set it to a positive number",
                              figure.name, figure.over_setting, problem.name));
    if (const auto [other, is_new] = places.emplace(*number, problem.name); !is_new)
      throw Error(problem.where,
                  fmt::format("the figure '{}' is over {}, but the problems '{}' and '{}' both set it to {}",
                              figure.name, figure.over_setting, other->second, problem.name, *number));
  }
  for (const auto& variant : e.variants) {
    const auto own = budget.variant.find(variant.name);
    if (sets(variant.settings, figure.over_setting) ||
        (own != budget.variant.end() && sets(own->second, figure.over_setting)) ||
        std::any_of(variant.grid.begin(), variant.grid.end(),
                    [&](const GridAxis& axis) { return axis.path == figure.over_setting; }))
      throw Error(variant.where,
                  fmt::format("the figure '{}' is over {}: the variant '{}' must not change it", figure.name,
                              figure.over_setting, variant.name));
  }
}

// A figure over changes of bases needs the loss of every step.
void require_every_step(const Experiment& e, const FigureEntry& figure, const Budget& budget,
                        const SourceLocation& where) {
  std::string recorded;
  for (const auto* settings : {&e.settings, &budget.settings})
    for (const auto& [path, value, place] : *settings)
      if (path == "training.record_every") recorded = value;
  if (recorded != "1")
    throw Error(where,
                fmt::format("the figure '{}' is over changes of bases: `[settings]` or the budget must "
                            "have training.record_every = 1",
                            figure.name));
}

// Without `problems`: all of them.
MapsEntry read_maps(TableReader r, const std::vector<std::string>& problems,
                    const std::vector<std::string>& variants) {
  MapsEntry entry;
  entry.problems = distinct_texts(r, "problems", "problem", problems);
  if (entry.problems.empty()) entry.problems = problems;
  entry.variant = r.required_text("variant");
  require_known("variant", entry.variant, variants, r.where());
  r.done();
  return entry;
}

std::map<std::string, Settings> settings_by_name(TableReader& r, const char* key,
                                                 const std::vector<std::string>& known) {
  std::map<std::string, Settings> all;
  if (const TomlValue* table = r.find(key))
    for (const auto& entry : table->as_table(r.name_of(key)).entries) {
      require_known(key, entry.key, known, entry.where);
      TableReader::flatten(entry.value.as_table(entry.key), "", all[entry.key]);
    }
  return all;
}

// Something is run, and something that is run is trained if its training is limited.
void require_cells(TableReader& r, const Experiment& e, const Budget& budget) {
  bool any = false, trained = false;
  for (const auto& problem : e.problems)
    for (const auto& variant : e.variants)
      if (budget.runs(problem, variant)) any = true, trained = trained || problem.task.empty();
  if (!any)
    throw Error(r.where(), "this budget runs nothing: none of its variants is run on any of its problems");
  if (const TomlValue* limit = r.find("time_limit"); limit && !trained)
    throw Error(limit->where, "time_limit has no effect on matrix problems, and this budget has no others");
}

Budget read_budget(TableReader& r, const Experiment& experiment) {
  Budget budget;
  budget.steps = r.required("steps").as_integer("steps of a budget");
  if (budget.steps < 1) throw Error(r.where(), "a budget needs at least one step");
  budget.tuning_steps = r.integer("tuning_steps", 0, 1);
  budget.tuning_seeds = r.integer("tuning_seeds", 1, 1);
  if (const TomlValue* seeds = r.find("tuning_seeds"); seeds && budget.tuning_steps == 0)
    throw Error(seeds->where, "tuning_seeds has no effect without tuning_steps: nothing is tuned");
  budget.seeds = r.integer("seeds", 1, 1);
  if (budget.seeds >= static_cast<std::int64_t>(kTuningSeed))
    throw Error(r.find("seeds")->where,
                fmt::format("seeds of a budget must be less than {}: settings are chosen on seed {}, which "
                            "must not be reported; got {}",
                            kTuningSeed, kTuningSeed, budget.seeds));
  budget.grid_values = r.integer("grid_values", 0, 1);
  budget.time_limit = r.positive("time_limit");
  budget.cost = r.positive("cost");
  budget.problems = distinct_texts(r, "problems", "problem", names_of(experiment.problems));
  budget.variants = distinct_texts(r, "variants", "variant", names_of(experiment.variants));
  budget.axes = r.texts("axes");
  std::vector<std::string> axes;
  for (const auto& variant : experiment.variants)
    for (const auto& axis : variant.grid) axes.push_back(axis.path);
  for (const auto& path : budget.axes) require_known("axis of a grid", path, axes, r.where());
  budget.settings = r.settings("settings");
  budget.problem = settings_by_name(r, "problem", names_of(experiment.problems));
  budget.variant = settings_by_name(r, "variant", names_of(experiment.variants));
  require_cells(r, experiment, budget);
  return budget;
}

// Keys of the file that only trainings heed.
void require_trainings_for_keys(const TomlValue& root, const Experiment& e) {
  if (!e.only_tasks()) return;
  for (const char* key : {"recipe", "best", "events", "tau", "maps"})
    if (const TomlValue* value = root.find(key))
      throw Error(value->where,
                  fmt::format("{} has no effect on matrix problems, and this experiment has no others", key));
}

// What the experiment's matrix problems measure, without "task.".
std::vector<std::string> task_metrics_of(const Experiment& e) {
  std::vector<std::string> names, tasks;
  for (const auto& problem : e.problems)
    if (!problem.task.empty() && std::find(tasks.begin(), tasks.end(), problem.task) == tasks.end()) {
      tasks.push_back(problem.task);
      for (const auto& name : task_metric_names(problem.task))
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  return names;
}

// Throws Error for what no problem of the experiment measures: its row would be missing.
void require_measured(const Experiment& e, Quantity quantity, const std::string& task_metric,
                      const SourceLocation& where) {
  const bool of_tasks = quantity == Quantity::seconds || quantity == Quantity::seconds_per_1000_steps;
  if (quantity == Quantity::task_metric) {
    const auto names = task_metrics_of(e);
    if (names.empty())
      throw Error(where, fmt::format("task.{} is measured on matrix problems, and this experiment has none: "
                                     "they have a `task`",
                                     task_metric));
    require_known("task metric", task_metric, names, where);
  } else if (!of_tasks && e.only_tasks()) {
    throw Error(where,
                fmt::format("{} is not measured on matrix problems, and this experiment has no others; "
                            "they have seconds, seconds_per_1000_steps and task.NAME with NAME one "
                            "of: {}",
                            name_of(quantity), fmt::join(task_metrics_of(e), ", ")));
  }
}

void require_measured_metrics(const Experiment& e) {
  std::int64_t longest = 0;
  for (const auto& [name, budget] : e.budgets) longest = std::max(longest, budget.steps);
  for (auto metric = e.metrics.begin(); metric != e.metrics.end(); ++metric) {
    require_measured(e, metric->quantity, metric->task_metric, metric->where);
    if (metric->step > longest)
      throw Error(metric->where, fmt::format("no budget has the step {} of this metric; the longest has {}",
                                             metric->step, longest));
    if (std::any_of(e.metrics.begin(), metric, [&](const auto& m) { return m.label == metric->label; }))
      throw Error(metric->where, fmt::format("the metric '{}' is there twice: give one of them another label",
                                             metric->label));
  }
}

// Figures measure something, and no two files have one name.
void require_distinct_files(const TomlValue& root, const Experiment& e) {
  const TomlValue* figures = root.find("figure");
  for (std::size_t i = 0; i < e.figures.size(); ++i)
    require_measured(e, e.figures[i].quantity, e.figures[i].task_metric, figures->items[i].where);
  std::map<std::string, std::string> seen;
  for (const auto& file : output_files(e)) {
    const auto [other, is_new] = seen.emplace(file.name, file.what);
    if (is_new) continue;
    const SourceLocation& where =
        file.figure ? figures->items[static_cast<std::size_t>(file.figure - e.figures.data())].where
                    : root.where;
    throw Error(where, fmt::format("{} and {} would both be written to {}: give one of them another name",
                                   other->second, file.what, file.name));
  }
}

}  // namespace

Experiment read_experiment(const TomlValue& root) {
  TableReader r(root, "an experiment file");
  Experiment e;
  e.name = r.required_name("name");
  if (e.name == "all" || e.name == "index" || e.name == "reproduction")
    throw Error(root.find("name")->where,
                fmt::format("an experiment cannot be named '{}': {}", e.name,
                            e.name == "all" ? "`lather reproduce all` means all of them"
                                            : "the page about all experiments is"));
  e.title = r.required_text("title");
  e.paper = r.text("paper");
  e.claim = r.text("claim");
  e.about = r.text("about");
  e.conclusion = r.text("conclusion");
  e.recipe = r.text("recipe", e.recipe);
  e.best = r.boolean("best", false);
  e.events = r.boolean("events", false);
  e.tau = r.boolean("tau", false);
  e.settings = r.settings("settings");
  e.problems = read_list<ProblemEntry>(r, "problem", true, read_problem_entry);
  require_distinct(e.problems, "problem");
  const auto problems = names_of(e.problems);
  e.variants =
      read_list<VariantEntry>(r, "variant", true, [&](TableReader& v) { return read_variant_entry(v, e); });
  require_distinct(e.variants, "variant");
  const auto variants = names_of(e.variants);
  e.metrics = read_list<MetricEntry>(
      r, "metric", true, [&](TableReader& m) { return read_metric_entry(m, problems, variants); });
  e.checks = read_list<CheckEntry>(r, "check", false, [&](TableReader& c) { return read_check_entry(c, e); });
  e.tables =
      read_list<TableEntry>(r, "table", false, [&](TableReader& t) { return read_table_entry(t, variants); });
  e.figures =
      read_list<FigureEntry>(r, "figure", false, [&](TableReader& f) { return read_figure_entry(f, e); });
  if (const TomlValue* maps = r.find("maps"))
    e.maps = read_maps(TableReader(*maps, "[maps]"), problems, variants);
  const TomlValue& budgets = r.required("budget").as_table("[budget]");
  if (budgets.entries.empty())
    throw Error(budgets.where,
                fmt::format("[budget] is empty: it needs one of {}", fmt::join(kBudgets, ", ")));
  for (const auto& [name, where, value] : budgets.entries) {
    require_known("budget", name, kBudgets, where);
    TableReader b(value, fmt::format("[budget.{}]", name));
    e.budgets[name] = read_budget(b, e);
    b.done();
    for (const auto& figure : e.figures) {
      if (!figure.over_setting.empty()) require_places(e, figure, e.budgets[name]);
      if (figure.around_changes) require_every_step(e, figure, e.budgets[name], where);
    }
  }
  r.done();
  require_trainings_for_keys(root, e);
  require_measured_metrics(e);
  require_distinct_files(root, e);
  return e;
}

bool is_experiment(const TomlValue& root) { return root.find("variant") != nullptr; }

Experiment read_experiment_file(const std::filesystem::path& file) {
  return read_experiment(parse_toml(read_file(file), file.string()));
}

}  // namespace lather::experiment
