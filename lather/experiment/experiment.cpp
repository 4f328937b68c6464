#include "lather/experiment/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/experiment/matrix_task.hpp"
#include "lather/experiment/table_reader.hpp"

namespace lather::experiment {

namespace {

constexpr std::array<std::pair<std::string_view, Quantity>, 13> kQuantities{{
    {"residual", Quantity::residual},
    {"mean_square", Quantity::mean_square},
    {"loss", Quantity::loss},
    {"l2", Quantity::l2},
    {"h1", Quantity::h1},
    {"seconds", Quantity::seconds},
    {"seconds_to_target", Quantity::seconds_to_target},
    {"seconds_per_1000_steps", Quantity::seconds_per_1000_steps},
    {"memory", Quantity::memory},
    {"basis_share", Quantity::basis_share},
    {"tau_at_one", Quantity::tau_at_one},
    {"tau_at_least", Quantity::tau_at_least},
    {"storage", Quantity::storage},
}};

// Possible outcomes of runs that have no number.
const std::vector<std::string> kResults = {"out of memory", "diverged", "did not reach it"};
const std::vector<std::string> kEventQuantities = {"loss_after_1", "loss_after_10", "rho_after_10",
                                                   "gradient_cosine_after_10"};
const std::vector<std::string> kBudgets = {"quick", "short", "paper"};

// "task.gap" is a task metric of that name.
Quantity quantity_from(const TomlValue& value, const std::string& what, std::string& task_metric) {
  const auto& text = value.as_text(what);
  if (text.text.starts_with("task.")) {
    task_metric = text.text.substr(5);
    return Quantity::task_metric;
  }
  std::vector<std::string> names;
  for (const auto& [name, quantity] : kQuantities) {
    if (text.text == name) return quantity;
    names.emplace_back(name);
  }
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
    auto& axis = grid.emplace_back(GridAxis{here, {}});
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

template <class Entries>
std::vector<std::string> names_of(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  return names;
}

void require_known(const char* what, const std::string& name, const std::vector<std::string>& known,
                   const SourceLocation& where) {
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw Error(where, unknown_name_message(what, name, known));
}

std::vector<std::string> known_texts(TableReader& r, const char* key, const char* what,
                                     const std::vector<std::string>& known) {
  auto names = r.texts(key);
  for (const auto& name : names) require_known(what, name, known, r.where());
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
  entry.name = r.required_text("name");
  entry.problem = r.text("problem", entry.name);
  entry.task = r.text("task");
  if (!entry.task.empty()) require_known("task", entry.task, task_names(), r.where());
  entry.label = r.text("label", entry.name);
  entry.settings = r.settings("settings");
  return entry;
}

VariantEntry read_variant_entry(TableReader& r, const std::vector<std::string>& problems) {
  VariantEntry entry;
  entry.where = r.where();
  entry.name = r.required_text("name");
  entry.label = r.text("label", entry.name);
  entry.optimizer = r.text("optimizer", entry.name);
  entry.settings = r.settings("settings");
  if (const TomlValue* grid = r.find("grid"))
    read_axes(grid->as_table("grid of [[variant]]"), "", entry.grid);
  entry.only = known_texts(r, "only", "problem", problems);
  if (const TomlValue* instead = r.find("instead"))
    for (const auto& [name, where, value] : instead->as_table("instead of [[variant]]").entries) {
      require_known("problem", name, problems, where);
      entry.instead[name] = value.as_text("instead." + name).text;
    }
  return entry;
}

MetricEntry read_metric_entry(TableReader& r, const std::vector<std::string>& problems,
                              const std::vector<std::string>& variants) {
  MetricEntry entry;
  entry.quantity = quantity_from(r.required("quantity"), "quantity of [[metric]]", entry.task_metric);
  entry.label =
      r.text("label", entry.task_metric.empty() ? std::string(name_of(entry.quantity)) : entry.task_metric);
  entry.step = r.integer("step", 0, 1);
  if (entry.step > 0 && entry.quantity != Quantity::task_metric)
    throw Error(r.where(), "only a task metric is given at a step");
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
  entry.metric = metric_index(e.metrics, r.text("metric"), r.where());
  entry.problems = known_texts(r, "problems", "problem", names_of(e.problems));
  if (entry.problems.empty()) entry.problems = names_of(e.problems);
  entry.variant = r.text("variant");
  if (!entry.variant.empty()) require_known("variant", entry.variant, variants, r.where());
  entry.below = known_texts(r, "below", "variant", variants);
  entry.over = r.text("over");
  if (!entry.over.empty()) require_known("variant", entry.over, variants, r.where());
  if (const TomlValue* range = r.find("range")) {
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
  const bool ranged = !entry.over.empty() || !entry.events.empty();
  if (kinds != 1 || ranged != (entry.high > 0) || entry.variant.empty() == entry.not_tested.empty())
    throw Error(
        r.where(),
        "[[check]] needs a variant and one of `below`, `over` with `range`, `events` with `range`, `result`; "
        "or, without a variant, `not_tested`");
  return entry;
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
  return entry;
}

FigureEntry read_figure_entry(TableReader& r, const std::vector<std::string>& variants) {
  FigureEntry entry;
  entry.name = r.required_text("name");
  entry.title = r.text("title");
  if (const TomlValue* quantity = r.find("quantity"))
    entry.quantity = quantity_from(*quantity, "quantity of [[figure]]", entry.task_metric);
  const std::vector<Quantity> drawn = {Quantity::residual, Quantity::mean_square, Quantity::loss,
                                       Quantity::l2,       Quantity::h1,          Quantity::task_metric};
  if (std::find(drawn.begin(), drawn.end(), entry.quantity) == drawn.end())
    throw Error(r.where(), "a figure shows residual, mean_square, loss, l2, h1 or a task metric");
  const std::string over = r.text("over", "steps");
  if (over != "steps" && over != "seconds")
    throw Error(r.where(), unknown_name_message("axis of [[figure]]", over,
                                                std::vector<std::string>{"steps", "seconds"}));
  entry.over_seconds = over == "seconds";
  entry.variants = known_texts(r, "variants", "variant", variants);
  return entry;
}

// Without `problems`: all of them.
MapsEntry read_maps(TableReader r, const std::vector<std::string>& problems,
                    const std::vector<std::string>& variants) {
  MapsEntry entry;
  entry.problems = known_texts(r, "problems", "problem", problems);
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

Budget read_budget(TableReader& r, const Experiment& experiment) {
  Budget budget;
  budget.steps = r.required("steps").as_integer("steps of a budget");
  if (budget.steps < 1) throw Error(r.where(), "a budget needs at least one step");
  budget.tuning_steps = r.integer("tuning_steps", 0, 1);
  budget.seeds = r.integer("seeds", 1, 1);
  budget.grid_values = r.integer("grid_values", 0, 1);
  budget.time_limit = r.positive("time_limit");
  budget.cost = r.positive("cost");
  budget.problems = known_texts(r, "problems", "problem", names_of(experiment.problems));
  budget.variants = known_texts(r, "variants", "variant", names_of(experiment.variants));
  budget.axes = r.texts("axes");
  std::vector<std::string> axes;
  for (const auto& variant : experiment.variants)
    for (const auto& axis : variant.grid) axes.push_back(axis.path);
  for (const auto& path : budget.axes) require_known("axis of a grid", path, axes, r.where());
  budget.settings = r.settings("settings");
  budget.problem = settings_by_name(r, "problem", names_of(experiment.problems));
  budget.variant = settings_by_name(r, "variant", names_of(experiment.variants));
  return budget;
}

template <class Entry>
const Entry& find_entry(const std::vector<Entry>& entries, const std::string& name, const char* what) {
  for (const auto& entry : entries)
    if (entry.name == name) return entry;
  throw Error(unknown_name_message(what, name, names_of(entries)));
}

}  // namespace

std::string_view name_of(Quantity quantity) {
  for (const auto& [name, value] : kQuantities)
    if (value == quantity) return name;
  return "";
}

bool is_timed(Quantity quantity) {
  return quantity == Quantity::seconds || quantity == Quantity::seconds_to_target ||
         quantity == Quantity::seconds_per_1000_steps || quantity == Quantity::memory;
}

bool is_of_the_solution(Quantity quantity) {
  return quantity == Quantity::residual || quantity == Quantity::mean_square || quantity == Quantity::loss ||
         quantity == Quantity::l2 || quantity == Quantity::h1;
}

bool MapsEntry::shows(const std::string& problem) const {
  return std::find(problems.begin(), problems.end(), problem) != problems.end();
}

bool Experiment::is_study() const {
  return paper.empty() &&
         std::all_of(metrics.begin(), metrics.end(), [](const auto& m) { return m.paper.empty(); });
}

bool Experiment::reads_events() const {
  return events || std::any_of(checks.begin(), checks.end(), [](const auto& c) { return !c.events.empty(); });
}

bool Experiment::timed() const {
  return std::any_of(metrics.begin(), metrics.end(), [](const auto& m) { return is_timed(m.quantity); });
}

const Budget& Experiment::budget(const std::string& wanted) const {
  if (const auto found = budgets.find(wanted); found != budgets.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, budget] : budgets) names.push_back(known);
  throw Error(unknown_name_message("budget of the experiment " + name, wanted, names));
}

const ProblemEntry& Experiment::problem(const std::string& wanted) const {
  return find_entry(problems, wanted, "problem");
}

const VariantEntry& Experiment::variant(const std::string& wanted) const {
  return find_entry(variants, wanted, "variant");
}

Experiment read_experiment(const TomlValue& root) {
  TableReader r(root, "an experiment file");
  Experiment e;
  e.name = r.required_text("name");
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
  e.variants = read_list<VariantEntry>(r, "variant", true,
                                       [&](TableReader& v) { return read_variant_entry(v, problems); });
  require_distinct(e.variants, "variant");
  const auto variants = names_of(e.variants);
  e.metrics = read_list<MetricEntry>(
      r, "metric", true, [&](TableReader& m) { return read_metric_entry(m, problems, variants); });
  e.checks = read_list<CheckEntry>(r, "check", false, [&](TableReader& c) { return read_check_entry(c, e); });
  e.tables =
      read_list<TableEntry>(r, "table", false, [&](TableReader& t) { return read_table_entry(t, variants); });
  e.figures = read_list<FigureEntry>(r, "figure", false,
                                     [&](TableReader& f) { return read_figure_entry(f, variants); });
  if (const TomlValue* maps = r.find("maps"))
    e.maps = read_maps(TableReader(*maps, "[maps]"), problems, variants);
  for (const auto& [name, where, value] : r.required("budget").as_table("[budget]").entries) {
    require_known("budget", name, kBudgets, where);
    TableReader b(value, fmt::format("[budget.{}]", name));
    e.budgets[name] = read_budget(b, e);
    b.done();
  }
  r.done();
  return e;
}

bool is_experiment(const TomlValue& root) { return root.find("variant") != nullptr; }

Experiment read_experiment_file(const std::filesystem::path& file) {
  return read_experiment(parse_toml(read_file(file), file.string()));
}

}  // namespace lather::experiment
