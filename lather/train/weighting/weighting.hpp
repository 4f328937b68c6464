#pragma once
// How the terms of a loss, and the points within a term, are weighed against each other while training. A
// recipe says
//
//   weighting = "gradient-norm"        # fixed, gradient-norm, ntk, balance, self-adaptive; or with options:
//   weighting = {method = "ntk", every = 1000, average = 0.9}
//   causal_tolerance = 1.0             # weights in time, along with any of these but self-adaptive; or with options:
//   causal = {tolerance = 1.0, chunks = 32}

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/core/recurrence.hpp"
#include "lather/core/state.hpp"
#include "lather/pde/objective.hpp"

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
  virtual std::string describe() const = 0;  // one line: the method and where it stands
};

// The keys of a recipe this file reads; others are left to their owners.
std::vector<std::string> weighting_keys();

// Throws Error for unknown names (with the nearest), bad values, and a causal weight without a coordinate for
// the time.
std::unique_ptr<Weighting> make_weighting(const nlohmann::json& recipe, const pde::Problem& problem);

// For `lather list` and the docs: methods by name, with their options.
struct WeightingEntry {
  std::string name, summary;
  std::vector<FieldDescription> options;
};
std::vector<WeightingEntry> weighting_methods();

}  // namespace lather::train
