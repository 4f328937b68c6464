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

pde::Override parameter_override(const std::string& parameter, double value) {
  return {"parameters." + parameter, fmt::format("{:.17g}", value)};
}

}  // namespace lather::train
