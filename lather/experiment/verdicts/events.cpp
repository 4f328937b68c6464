#include "lather/experiment/verdicts/events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "lather/core/files.hpp"

namespace lather::experiment {

namespace {

// It replaces none. Logs of earlier versions state a cosine even in the first step.
bool is_first_basis(const nlohmann::json& event) {
  const auto step = event.find("step");
  return !event.contains("gradient_cosine") || (step != event.end() && *step == 1);
}

// Calls visit(event) for every change of basis in the log of a run, if it has one.
template <class Visitor>
void for_each_change(const RunRecord& run, const Visitor& visit) {
  const auto file = run.folder / "events.jsonl";
  if (!is_there(file)) return;
  std::istringstream lines(read_found_file(file));
  for (std::string text; std::getline(lines, text);)
    if (const auto event = nlohmann::json::parse(text, nullptr, false);
        event.is_object() && !is_first_basis(event))
      visit(event);
}

void add_events(const RunRecord& run, Events& events) {
  for_each_change(run, [&](const nlohmann::json& e) {
    // Infinity is written as a word; what is not known is left out.
    const auto number = [&](const char* key) -> std::optional<double> {
      const auto found = e.find(key);
      if (found == e.end()) return {};
      return found->is_number() ? found->get<double>() : std::numeric_limits<double>::infinity();
    };
    const auto add = [](std::vector<double>& values, std::optional<double> value) {
      if (value) values.push_back(*value);
    };
    add(events.rho, std::max(number("rho_left"), number("rho_right")));
    add(events.gamma, number("gamma"));
    add(events.cosine, number("gradient_cosine"));
    add(events.rho_after_10, number("rho_after_10"));
    add(events.cosine_after_10, number("gradient_cosine_after_10"));
    const auto loss = number("loss");
    if (!loss || !(*loss > 0) || std::isinf(*loss)) return;
    if (const auto after = number("loss_after_1")) events.after_1.push_back(*after / *loss);
    if (const auto after = number("loss_after_10")) events.after_10.push_back(*after / *loss);
  });
}

}  // namespace

Events read_events(const CellResult& cell) {
  Events events;
  for (const auto& run : cell.seeds) add_events(run, events);
  return events;
}

std::vector<double> steps_of_changes(const RunRecord& run) {
  std::set<double> steps;
  for_each_change(run, [&](const nlohmann::json& event) {
    if (const auto step = event.find("step"); step != event.end() && step->is_number())
      steps.insert(step->get<double>());
  });
  return {steps.begin(), steps.end()};
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  // The smallest value that this share of them does not exceed.
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const std::size_t at = std::clamp<std::size_t>(rank, 1, values.size()) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

double share_above(double bound, const std::vector<double>& values) {
  const auto above = std::count_if(values.begin(), values.end(), [&](double v) { return v > bound; });
  return static_cast<double>(above) / static_cast<double>(values.size());
}

std::string percent_text(double share) {
  return std::isnan(share) ? "" : fmt::format("{:.2g} %", 100 * share);
}

}  // namespace lather::experiment
