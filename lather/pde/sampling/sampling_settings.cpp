#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lather/core/error.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/pde/sampling/sobol.hpp"

namespace lather::pde {

using Json = nlohmann::json;

static_assert(symbolic::kMaxDimensions <= kSobolDimensions);

namespace {

void visit_method(FieldVisitor& v, SamplingMethod& method, std::string_view help) {
  v.choice("method", method, help,
           {{"uniform", SamplingMethod::uniform},
            {"latin-hypercube", SamplingMethod::latin_hypercube},
            {"sobol", SamplingMethod::sobol},
            {"grid", SamplingMethod::grid},
            {"adaptive", SamplingMethod::adaptive}});
}

// The part of a focus that is not coordinates.
struct FocusOptions {
  double share = 0.5;
  SamplingMethod method = SamplingMethod::sobol;
  void fields(FieldVisitor& v) {
    v.real("share", share, "of the points", unit_open_left());
    visit_method(v, method, "how its points are chosen");
  }
};

std::vector<std::size_t> read_counts(const Json& recipe, const Problem& problem) {
  std::vector<std::size_t> counts;
  std::vector<std::string> names;
  for (const auto& set : problem.point_sets) {
    if (set.kind != PointSet::Kind::data) names.push_back(set.name);
    std::size_t count = set.kind == PointSet::Kind::interior ? kInteriorPoints : 0;
    for (const auto& piece : set.pieces) {
      const bool one_point = std::none_of(piece.begin(), piece.end(), [](double v) { return std::isnan(v); });
      count += one_point ? 1 : kBoundaryPoints;
    }
    counts.push_back(count);
  }
  const Json points = recipe.value("points", Json::object());
  if (!points.is_object())
    throw Error("points: expected a table such as {interior = 4096}, got " + points.dump());
  for (const auto& [name, value] : points.items()) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Error("points: " + unknown_name_message("point set", name, names));
    if (!value.is_number_integer() || value.get<std::int64_t>() < 1 ||
        value.get<std::int64_t>() > kMostPoints)
      throw Error(fmt::format("points.{}: expected a whole number in [1, {}], got {}", name, kMostPoints,
                              value.dump()));
    for (std::size_t s = 0; s < counts.size(); ++s)
      if (problem.point_sets[s].name == name && problem.point_sets[s].kind != PointSet::Kind::data)
        counts[s] = value.get<std::size_t>();
  }
  for (std::size_t s = 0; s < counts.size(); ++s)
    if (counts[s] < problem.point_sets[s].pieces.size())
      throw Error(fmt::format("points.{}: {} points are too few for {} pieces", problem.point_sets[s].name,
                              counts[s], problem.point_sets[s].pieces.size()));
  return counts;
}

Interval read_interval(const Json& value, const std::string& name, const Interval& domain) {
  if (!value.is_array() || value.size() != 2 || !value[0].is_number() || !value[1].is_number())
    throw Error(fmt::format("focus: {} must be two numbers such as [0, 1], not {}", name, value.dump()));
  const Interval box{value[0].get<double>(), value[1].get<double>()};
  if (!(box.low < box.high))
    throw Error(fmt::format("focus: the interval of {} is empty: {}", name, value.dump()));
  // A recipe that shrinks the domain may leave its regions as they are: they are cut.
  const Interval cut{std::max(box.low, domain.low), std::min(box.high, domain.high)};
  if (!(cut.low < cut.high))
    throw Error(fmt::format("focus: {} = {} lies outside the domain [{}, {}]", name, value.dump(), domain.low,
                            domain.high));
  return cut;
}

std::vector<Focus> read_focus(const Json& list, const Problem& problem) {
  if (!list.is_array())
    throw Error("focus: expected a list of tables such as [{share = 0.5, x = [0, 1]}], got " + list.dump());
  const auto& coordinates = problem.symbols->coordinate_names();
  std::vector<std::string> known{"share", "method"};
  known.insert(known.end(), coordinates.begin(), coordinates.end());
  std::vector<Focus> focus;
  double total = 0;
  for (const Json& entry : list) {
    if (!entry.is_object())
      throw Error("focus: expected a table such as {share = 0.5, x = [0, 1]}, got " + entry.dump());
    if (!entry.contains("share")) throw Error("focus: share is missing in " + entry.dump());
    FocusOptions options;
    Focus f{0, problem.domain, {}};
    for (const auto& [key, value] : entry.items()) {
      const auto at = std::find(coordinates.begin(), coordinates.end(), key);
      if (at != coordinates.end()) {
        const auto k = static_cast<std::size_t>(at - coordinates.begin());
        f.box[k] = read_interval(value, key, problem.domain[k]);
      } else if (std::find(known.begin(), known.end(), key) == known.end()) {
        throw Error("focus: " + unknown_name_message("key", key, known));
      } else {
        options::set(options, "focus", key, value);
      }
    }
    f.share = options.share;
    if (entry.contains("method")) f.method = options.method;
    total += f.share;
    focus.push_back(std::move(f));
  }
  if (total > 1 + 1e-12) throw Error(fmt::format("focus: the shares add up to {}, more than 1", total));
  return focus;
}

}  // namespace

void SamplingOptions::fields(FieldVisitor& v) {
  visit_method(v, method, "how points are chosen");
  v.integer("every", every, "steps between draws; 0: drawn once", non_negative());
  v.boolean("shift", shift, "sobol: move the sequence by a random digital shift");
  v.integer("candidates", candidates, "adaptive: points to choose from; 0: 10 per point",
            between(0, kMostPoints));
  v.real("exponent", exponent, "adaptive: probability is |residual|^exponent over its mean, plus floor",
         non_negative());
  v.real("floor", floor, "adaptive: see exponent", non_negative());
  v.integer("data_batch", data_batch, "rows of data used at a time; 0: all", non_negative());
  v.integer("data_every", data_every, "steps between batches of data", at_least(1));
  v.integer("validation", validation, "held-out points per set; 0: as many as are trained on",
            between(0, kMostPoints));
}

std::vector<std::string> sampling_keys() { return {"points", "sampling", "focus", "resample_every"}; }

SamplingSettings sampling_settings(const Json& recipe, const Problem& problem) {
  SamplingSettings settings;
  settings.counts = read_counts(recipe, problem);
  Json sampling = recipe.value("sampling", Json::object());
  if (sampling.is_string()) sampling = {{"method", sampling}};
  if (!sampling.is_object()) throw Error("sampling: expected a method or a table, got " + sampling.dump());
  if (recipe.contains("resample_every")) {
    if (sampling.contains("every"))
      throw Error("sampling.every and resample_every say the same thing; give one of them");
    sampling["every"] = recipe["resample_every"];
  }
  options::set_all(settings.options, "sampling", sampling);
  if (recipe.contains("focus")) settings.focus = read_focus(recipe["focus"], problem);
  return settings;
}

}  // namespace lather::pde
