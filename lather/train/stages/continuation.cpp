#include "lather/train/stages/continuation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lather/core/error.hpp"

namespace lather::train {

std::optional<ContinuationOptions> continuation_options(const nlohmann::json& recipe) {
  if (!recipe.contains("continuation")) return {};
  const auto& table = recipe["continuation"];
  if (!table.is_object())
    throw Error("continuation: expected a table such as {parameter = \"Re\", values = [100, 400]}, got " +
                table.dump());
  ContinuationOptions options;
  options::set_all(options, "continuation", table);
  if (options.parameter.empty()) throw Error("continuation: parameter is missing");
  if (options.values.empty()) throw Error("continuation: values is missing");
  if (!options.steps.empty() && options.steps.size() != options.values.size())
    throw Error(fmt::format("continuation: {} numbers of steps for {} values", options.steps.size(),
                            options.values.size()));
  if (std::any_of(options.steps.begin(), options.steps.end(), [](double s) { return !(s > 0); }))
    throw Error("continuation: every number of steps must be positive");
  return options;
}

Continuation::Continuation(const ContinuationOptions& options, Build build)
    : options_(options), build_(std::move(build)) {}

Continuation::Continuation(const ContinuationOptions& options, const std::filesystem::path& file,
                           std::vector<pde::Override> overrides)
    : Continuation(options, [file = (require_parameter(read_toml(file.string()), options.parameter), file),
                             overrides = std::move(overrides), parameter = options.parameter](double value) {
        auto all = overrides;
        all.push_back(parameter_override(parameter, value));
        return pde::read_problem_file(file, all);
      }) {}

void require_parameter(const TomlValue& problem_file, const std::string& parameter) {
  std::vector<std::string> names;
  if (const TomlValue* table = problem_file.find("parameters"))
    for (const auto& entry : table->entries) names.push_back(entry.key);
  if (std::find(names.begin(), names.end(), parameter) == names.end())
    throw Error("continuation: " + unknown_name_message("parameter", parameter, names));
}

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
