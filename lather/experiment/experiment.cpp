#include "lather/experiment/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"

namespace lather::experiment {

namespace {

template <class Entry>
const Entry& find_entry(const std::vector<Entry>& entries, const std::string& name, const char* what) {
  for (const auto& entry : entries)
    if (entry.name == name) return entry;
  throw Error(unknown_name_message(what, name, names_of(entries)));
}

}  // namespace

bool MapsEntry::shows(const std::string& problem) const {
  return std::find(problems.begin(), problems.end(), problem) != problems.end();
}

bool is_wanted(const std::vector<std::string>& list, const std::string& name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

bool Budget::runs(const ProblemEntry& problem, const VariantEntry& variant) const {
  return is_wanted(problems, problem.name) && is_wanted(variants, variant.name) &&
         is_wanted(variant.only, problem.name);
}

std::optional<double> number_set(const ProblemEntry& problem, const Budget& budget, const std::string& path) {
  Settings settings = problem.settings;
  if (const auto instead = budget.problem.find(problem.name); instead != budget.problem.end())
    settings.insert(settings.end(), instead->second.begin(), instead->second.end());
  std::optional<double> number;
  for (const auto& [own, value, where] : settings) {
    if (own != path) continue;
    const auto json = nlohmann::json::parse(value);
    number = json.is_number() ? std::optional(json.get<double>()) : std::nullopt;
  }
  return number;
}

bool Experiment::is_study() const {
  return paper.empty() &&
         std::all_of(metrics.begin(), metrics.end(), [](const auto& m) { return m.paper.empty(); });
}

bool Experiment::reads_events() const {
  return events ||
         std::any_of(checks.begin(), checks.end(), [](const auto& c) { return !c.events.empty(); }) ||
         std::any_of(figures.begin(), figures.end(), [](const auto& f) { return f.around_changes; });
}

bool Experiment::only_tasks() const {
  return std::none_of(problems.begin(), problems.end(), [](const auto& p) { return p.task.empty(); });
}

std::string tuning_measure(const Experiment& experiment, const Budget& budget) {
  const char* loss =
      experiment.only_tasks() ? "loss" : "held-out loss";  // matrix problems hold no points out
  if (budget.tuning_seeds == 1)
    return fmt::format("{} after {} steps on a seed that is not reported", loss, budget.tuning_steps);
  return fmt::format("largest {} after {} steps on {} seeds that are not reported", loss, budget.tuning_steps,
                     budget.tuning_seeds);
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

std::vector<OutputFile> output_files(const Experiment& e) {
  std::vector<OutputFile> files = {{e.name + ".csv", "the table of values"},
                                   {e.name + "-grid.svg", "the map of what tuning tried"}};
  if (e.events) files.push_back({e.name + "-events.csv", "the table of events"});
  if (e.tau) files.push_back({e.name + "-tau.csv", "the table of tau"});
  for (const auto& problem : e.maps.problems)
    for (const auto& variant : e.variants)
      files.push_back({fmt::format("{}-maps-{}-{}.svg", e.name, problem, variant.name),
                       fmt::format("the maps of '{}' with '{}'", problem, variant.name)});
  for (const auto& figure : e.figures) {
    const std::string name = e.name + "-" + figure.name, what = fmt::format("the figure '{}'", figure.name);
    files.push_back({name + ".svg", what, &figure});
    if (e.problems.size() == 1) continue;
    for (const auto& problem : e.problems)
      files.push_back({fmt::format("{}-{}.svg", name, problem.name),
                       fmt::format("the panel '{}' of {}", problem.name, what), &figure});
  }
  return files;
}

}  // namespace lather::experiment
