#include "lather/report/run_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace lather::report {

namespace {

// Everything the numbers of a run depend on, but for its seed.
std::string settings_key(const RunData& run) {
  if (!run.config.is_object())
    return fmt::format("{} on {}", run.optimizer.empty() ? run.name : run.optimizer, problem_name(run));
  nlohmann::json config = run.config;
  for (const char* key : {"seed", "threads", "stop", "lather"}) config.erase(key);
  return config.dump();
}

std::string without_seed(const std::string& name) {
  const auto end = name.find_last_not_of("0123456789");
  const bool seed = end != name.npos && end > 0 && end + 1 < name.size() && name[end] == '-';
  return seed ? name.substr(0, end) : name;
}

}  // namespace

std::string problem_name(const RunData& run) {
  for (const auto* json : {&run.summary, &run.config}) {
    if (!json->is_object() || !json->contains("problem")) continue;
    const auto& problem = (*json)["problem"];
    if (problem.is_string()) return problem.get<std::string>();
    if (problem.is_object() && problem.contains("name") && problem["name"].is_string())
      return problem["name"].get<std::string>();
  }
  return "unknown problem";
}

std::vector<std::string> problem_names(const std::vector<RunData>& runs) {
  std::vector<std::string> problems;
  for (const auto& run : runs)
    if (const auto name = problem_name(run);
        std::find(problems.begin(), problems.end(), name) == problems.end())
      problems.push_back(name);
  return problems;
}

std::vector<std::string> method_names(const std::vector<RunData>& runs) {
  std::vector<std::string> keys, names;
  for (const auto& run : runs) keys.push_back(settings_key(run));
  std::set<std::pair<std::string, std::string>> taken;  // problem, name
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& run = runs[i];
    const auto first = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), keys[i]) - keys.begin());
    if (first < i) {
      names.push_back(names[first]);
      continue;
    }
    const std::string problem = problem_name(run);
    bool alone = !run.optimizer.empty();
    for (std::size_t j = 0; j < runs.size(); ++j)
      alone = alone &&
              (keys[j] == keys[i] || runs[j].optimizer != run.optimizer || problem_name(runs[j]) != problem);
    std::string name = alone ? run.optimizer : runs.size() == 1 ? run.name : without_seed(run.name);
    if (taken.contains({problem, name})) name = run.name;
    for (int n = 2; taken.contains({problem, name}); ++n) name = fmt::format("{} ({})", run.name, n);
    taken.insert({problem, name});
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> group_names(const std::vector<RunData>& runs) {
  auto names = method_names(runs);
  if (problem_names(runs).size() > 1)
    for (std::size_t i = 0; i < runs.size(); ++i)
      names[i] = fmt::format("{} on {}", names[i], problem_name(runs[i]));
  return names;
}

}  // namespace lather::report
