#include "lather/experiment/pages/tau_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "lather/experiment/run_store.hpp"

namespace lather::experiment {

namespace {

using Json = nlohmann::json;

// The summary's tenths of [0, 1], merged into readable columns.
struct TauParts {
  const char* name;
  std::size_t begin, end;
};
constexpr std::array<TauParts, 5> kTauParts{{{"tau below 0.3", 0, 3},
                                             {"0.3 to 0.6", 3, 6},
                                             {"0.6 to 0.9", 6, 9},
                                             {"0.9 to 1", 9, 10},
                                             {"above 1", 10, 11}}};

struct TauShares {
  double steps = 0, at_one = 0, at_least = 0, no_curvature = 0;
  std::array<double, kTauParts.size()> parts{};
};

// Weighted by steps: layers differ in how many of their steps had a secant.
void add_tau(const Json& summary, TauShares& shares) {
  const auto found = summary.is_object() ? summary.find("tau") : summary.end();
  if (!summary.is_object() || found == summary.end()) return;
  for (const auto& [layer, tau] : found->items()) {
    const double steps = tau.value("steps", 0.0);
    shares.steps += steps;
    shares.at_one += steps * tau.value("at_one", 0.0);
    shares.at_least += steps * tau.value("at_least", 0.0);
    shares.no_curvature += steps * tau.value("no_curvature", 0.0);
    const auto parts = tau.value("parts", std::vector<double>{});
    for (std::size_t c = 0; c < kTauParts.size(); ++c)
      for (std::size_t i = kTauParts[c].begin; i < std::min(kTauParts[c].end, parts.size()); ++i)
        shares.parts[c] += steps * parts[i];
  }
}

}  // namespace

report::Table tau_table(const ExperimentResult& result) {
  report::Table table;
  table.header = {"problem", "variant", "tau = 1", "tau = tau_min", "c ≤ 0"};
  for (const auto& part : kTauParts) table.header.emplace_back(part.name);
  if (!result.plan->experiment->tau) return table;
  for (const auto& cell : result.cells) {
    TauShares shares;
    for (const auto& run : cell.seeds) add_tau(read_summary(run), shares);
    if (shares.steps == 0) continue;
    const auto percent = [&](double sum) {
      return report::Cell{fmt::format("{:.1f} %", 100 * sum / shares.steps), {}};
    };
    std::vector<report::Cell> row{{result.plan->problem_label(*cell.cell->problem), {}},
                                  {cell.cell->variant->label, {}},
                                  percent(shares.at_one),
                                  percent(shares.at_least),
                                  percent(shares.no_curvature)};
    for (const double part : shares.parts) row.push_back(percent(part));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace lather::experiment
