#include "lather/experiment/pages/events_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lather/core/files.hpp"

namespace lather::experiment {

namespace {

using Json = nlohmann::json;

struct Events {
  std::vector<double> rho, gamma, cosine, after_1, after_10;  // losses relative to that before
};

void read_events(const std::filesystem::path& file, Events& events) {
  if (!std::filesystem::exists(file)) return;
  std::istringstream lines(read_file(file));
  for (std::string text; std::getline(lines, text);) {
    const Json e = Json::parse(text, nullptr, false);
    if (!e.is_object()) continue;
    const auto number = [&](const char* key) {
      const auto found = e.find(key);
      return found != e.end() && found->is_number() ? found->get<double>() : -1;
    };
    events.rho.push_back(std::max(number("rho_left"), number("rho_right")));
    events.gamma.push_back(number("gamma"));
    events.cosine.push_back(number("gradient_cosine"));
    const double loss = number("loss");
    if (loss > 0 && number("loss_after_1") >= 0) events.after_1.push_back(number("loss_after_1") / loss);
    if (loss > 0 && number("loss_after_10") >= 0) events.after_10.push_back(number("loss_after_10") / loss);
  }
}

std::string quantile(std::vector<double> values, double share) {
  if (values.empty()) return "";
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return fmt::format("{:.3g}", values[at]);
}

}  // namespace

report::Table events_table(const ExperimentResult& result) {
  report::Table table;
  table.header = {"problem",
                  "variant",
                  "changes of bases",
                  "off-diagonal ratio before",
                  "gamma",
                  "cosine of gradients",
                  "loss after 1 step / before",
                  "… worst tenth",
                  "loss after 10 steps / before",
                  "… worst tenth"};
  if (!result.plan->experiment->events) return table;
  for (const auto& cell : result.cells) {
    Events events;
    for (const auto& run : cell.seeds) read_events(run.folder / "events.jsonl", events);
    if (events.rho.empty()) continue;
    std::vector<report::Cell> row;
    for (const std::string& text :
         {cell.cell->problem->label, cell.cell->variant->label, std::to_string(events.rho.size()),
          quantile(events.rho, 0.5), quantile(events.gamma, 0.5), quantile(events.cosine, 0.5),
          quantile(events.after_1, 0.5), quantile(events.after_1, 0.9), quantile(events.after_10, 0.5),
          quantile(events.after_10, 0.9)})
      row.push_back({text, {}});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace lather::experiment
