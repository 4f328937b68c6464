#pragma once
// Several parameter vectors in one batch, against one by one: on the CPU and on the GPU.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "lather/core/rng.hpp"
#include "lather/pde/objective.hpp"

namespace lather::pde::test {

// The same bits, or NaN in both places.
inline bool same_numbers(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(double)) != 0 && !(std::isnan(a[i]) && std::isnan(b[i])))
      return false;
  return true;
}

// More vectors than an engine takes at a time, one of them without a value.
inline void expect_batches_to_be_one_by_one(PinnObjective& objective, std::span<const double> x) {
  constexpr std::size_t kTrials = 11, kBroken = 4;
  const std::size_t n = objective.size(), m = objective.residual_count();
  std::vector<double> xs, expected, expected_r(kTrials * m), last_losses;
  for (std::size_t k = 0; k < kTrials; ++k)
    for (std::size_t i = 0; i < n; ++i)
      xs.push_back(x[i] + 0.01 * static_cast<double>(k) * Random(k, 7).normal(i));
  xs[kBroken * n] = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t k = 0; k < kTrials; ++k) {
    const auto trial = std::span<const double>(xs).subspan(k * n, n);
    objective.residuals(trial, std::span(expected_r).subspan(k * m, m));
    expected.push_back(objective.value(trial));
  }
  last_losses.assign(objective.term_losses().begin(), objective.term_losses().end());
  EXPECT_TRUE(std::isnan(expected[kBroken]));
  for (std::size_t k = 0; k < kTrials; ++k) EXPECT_TRUE(k == kBroken || std::isfinite(expected[k])) << k;

  for (const std::size_t count : {kTrials, std::size_t{3}, std::size_t{2}, std::size_t{1}}) {
    const std::size_t first = kTrials - count;  // the last one is always included
    const auto trials = std::span<const double>(xs).subspan(first * n);
    std::vector<double> values(count), r(count * m);
    objective.residuals_at(trials, r);
    EXPECT_TRUE(same_numbers(r, std::span(expected_r).subspan(first * m))) << count << " trials";
    objective.values(trials, values);
    EXPECT_TRUE(same_numbers(values, std::span(expected).subspan(first))) << count << " trials";
    EXPECT_TRUE(same_numbers(objective.term_losses(), last_losses)) << count << " trials";
  }
}

}  // namespace lather::pde::test
