#pragma once
// How the terms of a loss, and the points within a term, are
// weighed against each other while training. A recipe says
//
//   weighting = "gradient-norm"        # fixed, gradient-norm, ntk, balance, self-adaptive; or with options:
//   weighting = {method = "ntk", every = 1000, average = 0.9}
//   causal_tolerance = 1.0             # weights in time, with any of these but self-adaptive; with options:
//   causal = {tolerance = 1.0, chunks = 32}

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lather/core/recurrence.hpp"
#include "lather/core/state.hpp"
#include "lather/pde/objective.hpp"
#include "lather/train/weighting/weighting_options.hpp"

namespace lather::train {

class Weighting {
 public:
  virtual ~Weighting() = default;

  // To be called before every step, after the points were updated. True if weights changed. After reading a
  // state the saved weights are installed, which does not count as a change.
  virtual bool update(std::int64_t step, pde::PinnObjective& objective, std::span<const double> x) = 0;
  // The first step after `step` before which weights may change; kNever: they stay.
  virtual std::int64_t next_change(std::int64_t step) const = 0;
  virtual void state(StateVisitor& visitor) = 0;
  virtual std::string describe() const = 0;  // one line: the method and its current state
};

// `causal`: weights in time, in addition to those of `weighting`. Throws Error for combinations that make no
// sense and for causal weights without a time coordinate.
std::unique_ptr<Weighting> make_weighting(const WeightingOptions& options,
                                          const std::optional<CausalOptions>& causal,
                                          const pde::Problem& problem);

}  // namespace lather::train
