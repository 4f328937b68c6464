#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lather/core/error.hpp"
#include "lather/pde/geometry.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/pde/sampling/sobol.hpp"

namespace lather::pde {

static_assert(symbolic::kMaxDimensions <= kSobolDimensions);

namespace {

template <class Method>
void visit_method(FieldVisitor& v, Method& method, std::string_view help) {
  v.choice("method", method, help,
           std::initializer_list<std::pair<std::string_view, SamplingMethod>>{
               {"uniform", SamplingMethod::uniform},
               {"latin-hypercube", SamplingMethod::latin_hypercube},
               {"sobol", SamplingMethod::sobol},
               {"grid", SamplingMethod::grid},
               {"adaptive", SamplingMethod::adaptive}});
}

std::vector<std::size_t> read_counts(const std::map<std::string, std::int64_t>& points,
                                     const Problem& problem) {
  std::vector<std::size_t> counts;
  std::vector<std::string> names;
  for (const auto& set : problem.point_sets) {
    if (set.kind != PointSet::Kind::data) names.push_back(set.name);
    std::size_t count = set.kind == PointSet::Kind::interior ? kInteriorPoints : 0;
    for (const auto& piece : set.pieces) {
      if (set.kind == PointSet::Kind::interior) break;
      const bool one_point = std::none_of(piece.begin(), piece.end(), [](double v) { return std::isnan(v); });
      count += one_point ? 1 : kBoundaryPoints;
    }
    counts.push_back(count);
  }
  for (const auto& [name, count] : points) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Error("points: " + unknown_name_message("point set", name, names));
    for (std::size_t s = 0; s < counts.size(); ++s)
      if (problem.point_sets[s].name == name && problem.point_sets[s].kind != PointSet::Kind::data)
        counts[s] = static_cast<std::size_t>(count);
  }
  for (std::size_t s = 0; s < counts.size(); ++s)
    if (counts[s] < problem.point_sets[s].pieces.size())
      throw Error(fmt::format("points.{}: {} points are too few for {} pieces", problem.point_sets[s].name,
                              counts[s], problem.point_sets[s].pieces.size()));
  return counts;
}

Interval read_interval(const std::vector<double>& ends, const std::string& name, const Interval& domain) {
  if (ends.size() != 2)
    throw Error(fmt::format("focus: {} must be two numbers such as [0, 1], not {}", name, ends.size()));
  const Interval box{ends[0], ends[1]};
  if (!(box.low < box.high))
    throw Error(fmt::format("focus: the interval of {} is empty: [{}, {}]", name, box.low, box.high));
  // A recipe that shrinks the domain may leave its regions as they are: they are clipped.
  const Interval cut{std::max(box.low, domain.low), std::min(box.high, domain.high)};
  if (!(cut.low < cut.high))
    throw Error(fmt::format("focus: {} = [{}, {}] lies outside the domain [{}, {}]", name, box.low, box.high,
                            domain.low, domain.high));
  return cut;
}

void read_near(const FocusOptions& options, const Problem& problem, Focus& focus) {
  if (options.near.empty() || !(options.within > 0))
    throw Error("focus: near and within go together, as in {share = 0.3, near = \"hole\", within = 0.05}");
  if (!problem.geometry) throw Error("focus: near needs shapes: there is no [shape]");
  const auto found = problem.geometry->shapes.find(options.near);
  if (found == problem.geometry->shapes.end()) {
    std::vector<std::string> names;
    for (const auto& [name, shape] : problem.geometry->shapes) names.push_back(name);
    throw Error("focus: " + unknown_name_message("shape", options.near, names));
  }
  focus.near = found->second;
  focus.within = options.within;
}

// Empty: every interior set.
std::string focused_set(const FocusOptions& options, const Problem& problem) {
  if (options.points.empty()) return "";
  std::vector<std::string> names;
  for (const auto& set : problem.point_sets) {
    if (set.kind == PointSet::Kind::data) continue;
    names.push_back(set.name);
    if (set.name != options.points) continue;
    if (set.kind == PointSet::Kind::boundary && !options.near.empty())
      throw Error(fmt::format("focus: near is for points of the interior, '{}' are of a boundary", set.name));
    return set.name;
  }
  throw Error("focus: " + unknown_name_message("point set", options.points, names));
}

std::vector<Focus> read_focus(const std::vector<FocusOptions>& list, const Problem& problem) {
  const auto& coordinates = problem.symbols->coordinate_names();
  std::vector<Focus> focus;
  for (const auto& options : list) {
    if (!(options.share > 0)) throw Error("focus: share is missing");
    Focus f{options.share, focused_set(options, problem), problem.domain, options.method};
    for (const auto& [name, ends] : options.intervals) {
      const auto at = std::find(coordinates.begin(), coordinates.end(), name);
      if (at == coordinates.end()) {
        std::vector<std::string> known{"share", "points", "method", "near", "within"};
        known.insert(known.end(), coordinates.begin(), coordinates.end());
        throw Error("focus: " + unknown_name_message("key", name, known));
      }
      const auto k = static_cast<std::size_t>(at - coordinates.begin());
      f.box[k] = read_interval(ends, name, problem.domain[k]);
    }
    if (!options.near.empty() || options.within != 0) read_near(options, problem, f);
    for (const auto& set : problem.point_sets)
      if (f.concerns(set) && pieces_in(f.box, set).empty())
        throw Error(fmt::format("focus: no part of '{}' lies in the box", set.name));
    focus.push_back(std::move(f));
  }
  for (const auto& set : problem.point_sets) {
    double total = 0;
    for (const auto& f : focus) total += f.concerns(set) ? f.share : 0;
    if (total > 1 + 1e-12)
      throw Error(fmt::format("focus: the shares of '{}' add up to {}, more than 1", set.name, total));
  }
  return focus;
}

}  // namespace

void SamplingOptions::fields(FieldVisitor& v) {
  visit_method(v, method, "how points are chosen");
  v.integer("every", every, "steps between draws; 0: drawn once", non_negative());
  v.integer("until", until, "the last step at which points are drawn; 0: no last one", non_negative());
  v.boolean("shift", shift, "sobol: move the sequence by a random digital shift");
  v.integer("candidates", candidates, "adaptive: points to choose from; 0: 10 per point",
            between(0, kMostPoints));
  v.real("exponent", exponent, "adaptive: probability is |residual|^exponent over its mean, plus floor",
         non_negative());
  v.real("floor", floor, "adaptive: see exponent", non_negative());
  v.integer("data_batch", data_batch, "rows of data used at a time; 0: all", non_negative());
  v.integer("data_every", data_every, "steps between batches of data", at_least(1));
  v.real("data_validation", data_validation, "share of the rows of data that is held out, rounded down",
         unit_open_right());
  v.integer("validation", validation, "held-out points per set; 0: as many as are trained on",
            between(0, kMostPoints));
}

void FocusOptions::fields(FieldVisitor& v) {
  v.real("share", share, "of the points", unit_open_left());
  v.text("points", points, "the set of points; default: those of the interior");
  visit_method(v, method, "how its points are chosen; default: as the others");
  v.text("near", near, "a shape: points lie close to its boundary");
  v.real("within", within, "at most so far from it", non_negative());
  v.other_reals(intervals, "coordinate = [low, high]");
}

void PointOptions::fields(FieldVisitor& v) {
  v.by_name("points", points, "number of points by point set", between(1, kMostPoints));
  v.table("sampling", sampling, "how points are chosen", "method");
  v.tables("focus", focus, "shares of a set's points in boxes of their own");
}

SamplingSettings sampling_settings(const PointOptions& options, const Problem& problem) {
  SamplingSettings settings;
  settings.options = options.sampling;
  settings.counts = read_counts(options.points, problem);
  settings.focus = read_focus(options.focus, problem);
  return settings;
}

}  // namespace lather::pde
