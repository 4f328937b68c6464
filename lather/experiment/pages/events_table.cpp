#include "lather/experiment/pages/events_table.hpp"

#include <fmt/format.h>

#include <cmath>

#include "lather/experiment/verdicts/events.hpp"

namespace lather::experiment {

namespace {

std::string quantile_text(const std::vector<double>& values, double share) {
  const double value = quantile(values, share);
  return std::isnan(value) ? "" : fmt::format("{:.3g}", value);
}

}  // namespace

report::Table events_table(const ExperimentResult& result) {
  report::Table table;
  table.header = {"problem",
                  "variant",
                  "changes of bases",
                  "off-diagonal ratio before",
                  "off-diagonal ratio 10 steps later",
                  "cosine of gradients",
                  "cosine of gradients 10 steps later",
                  "gamma",
                  "loss after 1 step / before",
                  "loss after 1 step / before, worst tenth",
                  "loss more than doubled after 1 step",
                  "loss after 10 steps / before",
                  "loss after 10 steps / before, worst tenth"};
  if (!result.plan->experiment->events) return table;
  for (const auto& cell : result.cells) {
    const Events events = read_events(cell);
    if (events.rho.empty()) continue;
    std::vector<report::Cell> row;
    for (const std::string& text :
         {result.plan->problem_label(*cell.cell->problem), cell.cell->variant->label,
          std::to_string(events.rho.size()), quantile_text(events.rho, 0.5),
          quantile_text(events.rho_after_10, 0.5), quantile_text(events.cosine, 0.5),
          quantile_text(events.cosine_after_10, 0.5), quantile_text(events.gamma, 0.5),
          quantile_text(events.after_1, 0.5), quantile_text(events.after_1, 0.9),
          percent_text(share_above(kSpike, events.after_1)), quantile_text(events.after_10, 0.5),
          quantile_text(events.after_10, 0.9)})
      row.push_back({text, {}});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace lather::experiment
