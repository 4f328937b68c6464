#pragma once
// What the runs logged about basis changes (events.jsonl).

#include <string>
#include <vector>

#include "lather/experiment/reproduce.hpp"

namespace lather::experiment {

// Over all seeds of a cell, without the bases set in the first step, which replace none. Losses after a
// change are relative to the loss before it.
struct Events {
  std::vector<double> rho, gamma, cosine, after_1, after_10, rho_after_10, cosine_after_10;
};
Events read_events(const CellResult& cell);

// The steps in which a basis was replaced, in ascending order, each once.
std::vector<double> steps_of_changes(const RunRecord& run);

constexpr double kSpike = 2;  // times the loss before, after one step
constexpr double kMedian = 0.5, kWorstTenth = 0.9;
// The value that this share of them is at or below; not a number if there are none.
double quantile(std::vector<double> values, double share);
// The share of them above the bound; likewise.
double share_above(double bound, const std::vector<double>& values);
std::string percent_text(double share);  // "6.8 %"; empty if it is not a number

}  // namespace lather::experiment
