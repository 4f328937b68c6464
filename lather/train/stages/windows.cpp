#include "lather/train/stages/windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "lather/core/error.hpp"
#include "lather/pde/engine/compiled_point_set.hpp"
#include "lather/pde/sampling/sampling.hpp"

namespace lather::train {

using pde::PointSet;
using pde::Problem;
using symbolic::Expr;

namespace {

constexpr std::uint64_t kHandOver =
    6;  // label of the random stream, after those of pde/sampling/point_source.cpp

std::string column_of(const pde::Term& term) { return term.name; }

std::vector<double> edges_of(const WindowOptions& options, const pde::Interval& time) {
  if (options.edges.empty()) {
    std::vector<double> edges;
    const auto count = static_cast<double>(options.count);
    for (std::int64_t i = 0; i < options.count; ++i)
      edges.push_back(time.low + (time.high - time.low) * static_cast<double>(i) / count);
    edges.push_back(time.high);
    return edges;
  }
  const auto& edges = options.edges;
  if (options.count != 1) throw Error("time_windows: edges and count are alternatives; give only one");
  if (edges.size() < 2 || edges.front() != time.low || edges.back() != time.high)
    throw Error(fmt::format("time_windows.edges: expected times from {} to {}, the ends of {}", time.low,
                            time.high, options.coordinate));
  if (std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()) != edges.end())
    throw Error("time_windows.edges: expected increasing times");
  return edges;
}

// Whether the input depends on no coordinate but time; inputs have no other symbols.
bool is_of_the_time_alone(Expr input, Expr time) {
  const auto symbols = symbolic::symbols_of(std::span(&input, 1));
  return std::all_of(symbols.begin(), symbols.end(), [&](Expr symbol) { return symbol == time; });
}

}  // namespace

TimeWindows::TimeWindows(const Problem& problem, const WindowOptions& options)
    : problem_(problem), options_(options), time_(-1), shares_(options.steps) {
  require_shares(shares_, static_cast<std::size_t>(options.windows()), "time_windows", "windows");
  if (options.windows() == 1 && options.edges.empty()) return;  // also for problems without a time
  const auto& names = problem.symbols->coordinate_names();
  const auto at = std::find(names.begin(), names.end(), options.coordinate);
  if (at == names.end())
    throw Error("time_windows: " +
                unknown_name_message("coordinate for the time", options.coordinate, names));
  time_ = static_cast<int>(at - names.begin());
  edges_ = edges_of(options, problem.domain[time_]);
  if (count() == 1) return;
  const double start = problem.domain[time_].low;
  bool found = false;
  for (const auto& set : problem.point_sets) {
    const auto at_start = std::count_if(set.pieces.begin(), set.pieces.end(),
                                        [&](const pde::Piece& p) { return p[time_] == start; });
    if (at_start == 0) continue;
    if (!set.columns.empty())
      throw Error(
          fmt::format("time_windows: the condition '{}' at {} = {} uses '{}', which is not handed over",
                      set.name, options.coordinate, start, set.columns[0]));
    if (at_start != static_cast<std::ptrdiff_t>(set.pieces.size()))
      throw Error(fmt::format(
          "time_windows: the condition '{}' holds at {} = {} and elsewhere; make it two conditions", set.name,
          options.coordinate, start));
    found = true;
  }
  if (!found)
    throw Error(fmt::format(
        "time_windows: there is no condition at {} = {} to hand over (one built into the ansatz cannot be)",
        options.coordinate, start));
}

bool TimeWindows::is_initial(const PointSet& set) const {
  return time_ >= 0 && set.kind == PointSet::Kind::boundary && !set.pieces.empty() &&
         set.pieces[0][time_] == problem_.domain[time_].low;
}

pde::Interval TimeWindows::interval(int window) const { return {edges_[window], edges_[window + 1]}; }

void TimeWindows::halve(int window) {
  const auto [low, high] = interval(window);
  edges_.insert(edges_.begin() + window + 1, low + (high - low) / 2);
  halve_share(shares_, window);
}

void TimeWindows::state(StateVisitor& v) {
  v.array("window_edges", edges_);
  v.array("window_shares", shares_);
}

Problem TimeWindows::part(int window) const {
  Problem p = problem_;
  if (count() == 1) return p;
  const pde::Interval whole = problem_.domain[time_], now = interval(window);
  p.domain[time_] = now;

  // t -> low + (t - t_i) (high - low) / (t_{i+1} - t_i)
  const Expr t = p.symbols->coordinate(time_);
  const double stretch = (whole.high - whole.low) / (now.high - now.low);
  const symbolic::ExprMap<Expr> stretched{{t, whole.low + (t - now.low) * stretch}};
  for (Expr& input : p.network_inputs)
    if (is_of_the_time_alone(input, t)) input = symbolic::substitute(input, stretched);

  // What belongs to other times is left out, with its terms. Only the last window includes the end of its
  // interval.
  const auto inside = [&](double time) {
    return std::isnan(time) ||
           (time >= now.low && (time < now.high || (window + 1 == count() && time <= now.high)));
  };
  p.point_sets.clear();
  p.terms.clear();
  for (std::size_t s = 0; s < problem_.point_sets.size(); ++s) {
    PointSet set = problem_.point_sets[s];
    const bool handed_over = window > 0 && is_initial(set);
    if (handed_over) {
      set.kind = PointSet::Kind::data;
      set.hold_out = false;
      set.pieces.clear();
    } else if (set.kind == PointSet::Kind::boundary) {
      std::erase_if(set.pieces, [&](const pde::Piece& piece) { return !inside(piece[time_]); });
      if (set.pieces.empty()) continue;
    } else if (set.kind == PointSet::Kind::data) {
      std::erase_if(set.rows, [&](const std::vector<double>& row) { return !inside(row[time_]); });
      if (set.rows.empty()) continue;
    }
    for (pde::Term term : problem_.terms) {
      if (term.point_set != static_cast<int>(s)) continue;
      term.point_set = static_cast<int>(p.point_sets.size());
      if (handed_over) {
        set.columns.push_back(column_of(term));
        term.residual = term.residual - pde::column_symbol(*p.graph, column_of(term));
      }
      p.terms.push_back(term);
    }
    p.point_sets.push_back(std::move(set));
  }
  return p;
}

Problem TimeWindows::next(int window, pde::PinnObjective& previous, std::span<const double> x,
                          const pde::SamplingSettings& points, std::uint64_t seed) const {
  const double time = interval(window).low;
  std::vector<std::vector<std::vector<double>>> rows;
  for (std::size_t s = 0; s < problem_.point_sets.size(); ++s) {
    const PointSet& set = problem_.point_sets[s];
    if (!is_initial(set)) continue;
    const std::size_t count =
        options_.points > 0 ? static_cast<std::size_t>(options_.points) : points.counts[s];
    std::vector<Expr> conditions;
    for (const auto& term : problem_.terms)
      if (term.point_set == static_cast<int>(s)) conditions.push_back(term.residual);
    auto& list = rows.emplace_back();
    for (auto& part :
         pde::parts_of(problem_, static_cast<int>(s), points.focus, pde::SamplingMethod::sobol, count)) {
      part.piece[time_] = time;
      const auto stream = pde::stream_of({kHandOver, s, static_cast<std::uint64_t>(window), part.index});
      const pde::Points face = pde::points_in(part.box, part.piece, part.method, part.count, seed, stream);
      const auto values = previous.evaluate(x, conditions, face);
      for (std::size_t n = 0; n < face.count(); ++n) {
        auto& row = list.emplace_back();
        for (const auto& c : face.coordinates) row.push_back(c[n]);
        for (const auto& v : values) row.push_back(v[n]);
      }
    }
  }
  return restored(window, rows);
}

Problem TimeWindows::restored(int window, const std::vector<std::vector<std::vector<double>>>& rows) const {
  Problem p = part(window);
  std::size_t next = 0;
  for (const auto& set : problem_.point_sets) {
    if (window == 0 || !is_initial(set)) continue;
    if (next == rows.size()) throw Error("time_windows: handed-over data of a condition are missing");
    const auto target = std::find_if(p.point_sets.begin(), p.point_sets.end(),
                                     [&](const PointSet& t) { return t.name == set.name; });
    target->rows = rows[next++];
  }
  return p;
}

}  // namespace lather::train
