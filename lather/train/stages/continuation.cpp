#include "lather/train/stages/continuation.hpp"

#include <fmt/format.h>

#include "lather/core/error.hpp"

namespace lather::train {

void ContinuationOptions::validate() const {
  if (parameter.empty()) throw Error("continuation: parameter is missing");
  if (values.empty()) throw Error("continuation: values is missing");
  require_shares(steps, values.size(), "continuation", "values");
}

Continuation::Continuation(const ContinuationOptions& options, Build build)
    : options_(options), build_(std::move(build)) {}

void Continuation::halve(int stage) {
  auto& [parameter, values, steps, warm_noise] = options_;
  values.insert(values.begin() + stage, (values[stage - 1] + values[stage]) / 2);
  halve_share(steps, stage);
}

void Continuation::state(StateVisitor& v) {
  v.array("continuation_values", options_.values);
  v.array("continuation_shares", options_.steps);
}

pde::Override parameter_override(const std::string& parameter, double value) {
  return {"parameters." + parameter, fmt::format("{:.17g}", value)};
}

}  // namespace lather::train
