#include "lather/train/stages/continuation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/core/error.hpp"

namespace lather::train {

void ContinuationOptions::validate() const {
  if (parameter.empty()) throw Error("continuation: parameter is missing");
  if (values.empty()) throw Error("continuation: values is missing");
  if (!steps.empty() && steps.size() != values.size())
    throw Error(fmt::format("continuation: {} numbers of steps for {} values", steps.size(), values.size()));
  if (std::any_of(steps.begin(), steps.end(), [](double s) { return !(s > 0); }))
    throw Error("continuation: every number of steps must be positive");
}

Continuation::Continuation(const ContinuationOptions& options, Build build)
    : options_(options), build_(std::move(build)) {}

void Continuation::halve(int stage) {
  auto& [parameter, values, steps, warm_noise] = options_;
  values.insert(values.begin() + stage, (values[stage - 1] + values[stage]) / 2);
  if (!steps.empty()) steps.insert(steps.begin() + stage, steps[stage]);
}

void Continuation::state(StateVisitor& v) {
  v.array("continuation_values", options_.values);
  v.array("continuation_shares", options_.steps);
}

pde::Override parameter_override(const std::string& parameter, double value) {
  return {"parameters." + parameter, fmt::format("{:.17g}", value)};
}

}  // namespace lather::train
