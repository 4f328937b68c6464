#include "lather/train/stages/continuation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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

std::int64_t Continuation::steps(int stage, std::int64_t total) const {
  const auto share = [&](int i) { return options_.steps.empty() ? 1.0 : options_.steps[i]; };
  double all = 0, before = 0;
  for (int i = 0; i < count(); ++i) all += share(i);
  for (int i = 0; i < stage; ++i) before += share(i);
  const auto place = [&](double sum) { return std::llround(static_cast<double>(total) * sum / all); };
  return place(before + share(stage)) - place(before);
}

pde::Override parameter_override(const std::string& parameter, double value) {
  return {"parameters." + parameter, fmt::format("{:.17g}", value)};
}

}  // namespace lather::train
