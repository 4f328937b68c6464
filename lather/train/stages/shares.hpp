#pragma once
// Shares of stages in the steps and the time, as given by an option: one number each, or none: equal ones.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lather/core/error.hpp"

namespace lather::train {

inline double share_of(const std::vector<double>& shares, int stage) {
  return shares.empty() ? 1.0 : shares[stage];
}

// A stage is cut in two; each half gets the stage's share.
inline void halve_share(std::vector<double>& shares, int stage) {
  if (!shares.empty()) shares.insert(shares.begin() + stage, shares[stage]);
}

// `table` and `stages`: "continuation" and "values", "time_windows" and "windows".
inline void require_shares(const std::vector<double>& shares, std::size_t count, const std::string& table,
                           const std::string& stages) {
  if (!shares.empty() && shares.size() != count)
    throw Error(fmt::format("{}: {} numbers of steps for {} {}", table, shares.size(), count, stages));
  if (std::any_of(shares.begin(), shares.end(), [](double s) { return !(s > 0); }))
    throw Error(fmt::format("{}: every number of steps must be positive", table));
}

}  // namespace lather::train
