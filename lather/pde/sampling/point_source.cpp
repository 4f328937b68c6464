#include "lather/pde/sampling/point_source.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lather/pde/sampling/region.hpp"

namespace lather::pde {

namespace {

// How to draw points that do not depend on residuals.
SamplingMethod plain_method(SamplingMethod method, bool shift) {
  if (method == SamplingMethod::adaptive) return SamplingMethod::sobol;
  return method == SamplingMethod::sobol && !shift ? SamplingMethod::sobol_plain : method;
}

Points empty_points(std::size_t coordinates) {
  Points points;
  points.coordinates.resize(coordinates);
  return points;
}

void append_point(Points& points, const Points& from, std::size_t i) {
  points.columns.resize(from.columns.size());
  for (std::size_t k = 0; k < from.coordinates.size(); ++k)
    points.coordinates[k].push_back(from.coordinates[k][i]);
  for (std::size_t k = 0; k < from.columns.size(); ++k) points.columns[k].push_back(from.columns[k][i]);
}

constexpr std::size_t kCandidatesPerPoint = 10;

// A device that draws its own points spends 10 us in every step on checking whether they are due; ending a
// run of steps so that the host can draw costs some 300 us.
constexpr std::int64_t kOftenEnough = 32;

}  // namespace

std::vector<Piece> pieces_in(const std::vector<Interval>& box, const PointSet& set) {
  if (set.pieces.empty()) return {Piece{}};
  std::vector<Piece> pieces = set.pieces;
  std::erase_if(pieces, [&](const Piece& piece) {
    for (std::size_t k = 0; k < piece.size(); ++k)
      if (piece[k] < box[k].low || piece[k] > box[k].high) return true;  // false if it is free (NaN)
    return false;
  });
  return pieces;
}

std::vector<PointPart> parts_of(const Problem& problem, int set, const std::vector<Focus>& focus,
                                SamplingMethod method, std::size_t points) {
  std::vector<Focus> regions;
  for (const auto& region : focus)
    if (region.concerns(problem.point_sets[set])) regions.push_back(region);
  regions.push_back({0, "", problem.domain, {}});  // what the others leave
  const auto place = [&](double share) {
    return static_cast<std::size_t>(std::llround(share * static_cast<double>(points)));
  };
  std::vector<PointPart> parts;
  std::uint64_t index = 0;
  double end = 0;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const std::size_t first = place(end);
    end = i + 1 == regions.size() ? 1 : end + regions[i].share;
    const std::size_t count = place(end) - first;
    const auto pieces = pieces_in(regions[i].box, problem.point_sets[set]);
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      const std::size_t from = count * k / pieces.size(), to = count * (k + 1) / pieces.size();
      if (to == from) continue;
      Piece piece = pieces[k];
      if (regions[i].near)
        piece.region = piece.region->close_to(regions[i].near, regions[i].within, problem.domain, piece);
      parts.push_back({index + k, first + from, to - from, regions[i].method.value_or(method), regions[i].box,
                       std::move(piece)});
    }
    index += pieces.size();
  }
  return parts;
}

PointSource::PointSource(const Problem& problem, const SamplingSettings& settings, std::uint64_t seed)
    : problem_(problem),
      settings_(settings),
      seed_(seed),
      terms_of_(problem.point_sets.size()),
      points_(problem.point_sets.size()),
      drawn_(problem.point_sets.size(), -1) {
  for (std::size_t k = 0; k < problem_.terms.size(); ++k)
    terms_of_[problem_.terms[k].point_set].push_back(static_cast<int>(k));
}

// Steps between draws of a set; 0: drawn once.
std::int64_t PointSource::period(int set) const {
  const auto& o = settings_.options;
  if (problem_.point_sets[set].kind != PointSet::Kind::data) return o.every;
  return o.data_batch > 0 ? o.data_every : 0;
}

std::optional<PointPlan> PointSource::plan() const {
  PointPlan plan{seed_, settings_.options.every, {}};
  if (plan.every < 1 || plan.every > kOftenEnough || settings_.options.until > 0) return {};
  for (std::size_t s = 0; s < points_.size(); ++s) {
    const int set = static_cast<int>(s);
    if (problem_.point_sets[s].kind == PointSet::Kind::data) {
      if (period(set) > 0) return {};
      continue;
    }
    for (const PointPart& part :
         parts_of(problem_, set, settings_.focus, settings_.options.method, settings_.counts[set])) {
      if (part.method == SamplingMethod::adaptive || part.piece.region) return {};  // drawn on the host
      const SamplingMethod method = plain_method(part.method, settings_.options.shift);
      if (method != SamplingMethod::grid)  // which is always the same
        plan.parts.push_back({set, part.index, part.first, part.count, method, part.box, part.piece});
    }
  }
  return plan;
}

std::int64_t PointSource::next_change(std::int64_t step) const {
  const auto& o = settings_.options;
  std::int64_t next = o.every > 0 ? next_multiple(step, o.every) : kNever;
  if (o.until > 0 && next > o.until) next = kNever;
  for (const auto& set : problem_.point_sets)
    if (set.kind == PointSet::Kind::data && o.data_batch > 0)
      next = std::min(next, next_multiple(step, o.data_every));
  return next;
}

bool PointSource::update(std::int64_t step, PinnObjective& objective, std::span<const double> x) {
  bool changed = false;
  for (std::size_t s = 0; s < points_.size(); ++s) {
    const int set = static_cast<int>(s);
    const bool ends = settings_.options.until > 0 && problem_.point_sets[s].kind != PointSet::Kind::data;
    const std::int64_t counted = ends ? std::min(step, settings_.options.until) : step;
    const std::int64_t every = period(set), last = every > 0 ? counted / every * every : 0;
    const bool due = drawn_[s] < last;
    if (due) {
      points_[s] = draw(set, every > 0 ? static_cast<std::uint64_t>(counted / every) : 0, objective, x);
      // If the device has drawn since, this only follows it.
      changed = changed || drawn_[s] < 0 || counted == last;
      drawn_[s] = step;
    }
    if (due || !installed_) objective.set_points(set, points_[s]);
  }
  if (!installed_) {
    const auto offered = plan();
    device_draws_ = offered && objective.draw_points(*offered);
  }
  installed_ = true;
  objective.set_step(step);
  return changed;
}

Points PointSource::draw(int set, std::uint64_t draw, PinnObjective& objective,
                         std::span<const double> x) const {
  const PointSet& s = problem_.point_sets[set];
  if (s.kind == PointSet::Kind::data) return draw_batch(set, draw);
  Points points = empty_points(problem_.domain.size());
  for (const PointPart& part :
       parts_of(problem_, set, settings_.focus, settings_.options.method, settings_.counts[set])) {
    const auto stream = stream_of({kTraining, static_cast<std::uint64_t>(set), draw, part.index});
    if (part.method == SamplingMethod::adaptive && draw > 0 && s.kind == PointSet::Kind::interior)
      append(points, draw_adaptive(set, part, stream, objective, x));
    else
      append(points, points_in(part.box, part.piece, plain_method(part.method, settings_.options.shift),
                               part.count, seed_, stream, draw * part.count, s.columns));
  }
  return points;
}

Points PointSource::draw_adaptive(int set, const PointPart& part, std::uint64_t stream,
                                  PinnObjective& objective, std::span<const double> x) const {
  const auto& o = settings_.options;
  const auto& columns = problem_.point_sets[set].columns;
  const std::size_t candidates =
      o.candidates > 0 ? static_cast<std::size_t>(o.candidates) : kCandidatesPerPoint * part.count;
  const Points all = points_in(part.box, part.piece, SamplingMethod::sobol, candidates, seed_,
                               stream_of({kCandidates, stream}), 0, columns);
  std::vector<symbolic::Expr> residuals;
  for (int k : terms_of_[set]) residuals.push_back(problem_.terms[k].residual);
  const auto values = objective.evaluate(x, residuals, all, columns);
  std::vector<double> r(all.count());
  for (std::size_t e = 0; e < values.size(); ++e) {
    const double weight = objective.term_weight(terms_of_[set][e]);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] += weight * values[e][i] * values[e][i];
  }
  for (double& v : r) v = std::sqrt(v);
  Points points = empty_points(problem_.domain.size());
  for (const std::size_t i :
       adaptive_choice(r, o.exponent, o.floor, part.count, Random(seed_, stream_of({kChoice, stream}))))
    append_point(points, all, i);
  return points;
}

Points data_points(const Problem& problem, int set) {
  const PointSet& s = problem.point_sets[set];
  Points points = empty_points(problem.domain.size());
  points.columns.resize(s.columns.size());
  for (const auto& row : s.rows) {
    for (std::size_t k = 0; k < points.coordinates.size(); ++k) points.coordinates[k].push_back(row[k]);
    for (std::size_t k = 0; k < points.columns.size(); ++k)
      points.columns[k].push_back(row[points.coordinates.size() + k]);
  }
  return points;
}

std::size_t PointSource::held_out_rows(int set) const {
  const PointSet& s = problem_.point_sets[set];
  if (s.kind != PointSet::Kind::data || !s.hold_out) return 0;
  return static_cast<std::size_t>(settings_.options.data_validation * static_cast<double>(s.rows.size()));
}

// The rows that are held out, or the others. Which ones depends on the seed alone; both keep their order.
Points PointSource::rows_of(int set, bool held_out) const {
  const Points all = data_points(problem_, set);
  const Random random(seed_, stream_of({kHeldOutRows, static_cast<std::uint64_t>(set)}));
  std::vector<std::pair<std::uint64_t, std::size_t>> order(all.count());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = {random.bits(i), i};
  std::sort(order.begin(), order.end());
  std::vector<char> out(all.count());
  for (std::size_t i = 0; i < held_out_rows(set); ++i) out[order[i].second] = 1;
  Points points = empty_points(all.coordinates.size());
  points.columns.resize(all.columns.size());
  for (std::size_t i = 0; i < all.count(); ++i)
    if (out[i] == (held_out ? 1 : 0)) append_point(points, all, i);
  return points;
}

Points PointSource::draw_batch(int set, std::uint64_t batch) const {
  Points all = rows_of(set, false);
  const std::size_t rows = all.count(), size = static_cast<std::size_t>(settings_.options.data_batch);
  if (size == 0 || size >= rows || problem_.point_sets[set].group > 1) return all;
  Points points = empty_points(all.coordinates.size());
  points.columns.resize(all.columns.size());
  // Rows number `first` on of an endless list of passes, each in an order of its own.
  const std::uint64_t first = batch * size;
  std::vector<std::pair<std::uint64_t, std::size_t>> order(rows);
  std::uint64_t ordered = ~std::uint64_t{0};
  for (std::uint64_t j = first; j < first + size; ++j) {
    if (j / rows != ordered) {
      ordered = j / rows;
      const Random random(seed_, stream_of({kBatch, static_cast<std::uint64_t>(set), ordered}));
      for (std::size_t i = 0; i < rows; ++i) order[i] = {random.bits(i), i};
      std::sort(order.begin(), order.end());
    }
    append_point(points, all, order[j % rows].second);
  }
  return points;
}

Points PointSource::validation(int set) const {
  if (problem_.point_sets[set].kind == PointSet::Kind::data) return rows_of(set, held_out_rows(set) > 0);
  const auto chosen = static_cast<std::size_t>(settings_.options.validation);
  const std::size_t pieces = std::max<std::size_t>(1, problem_.point_sets[set].pieces.size());
  Points points = empty_points(problem_.domain.size());
  for (const PointPart& part : parts_of(problem_, set, {}, SamplingMethod::sobol,
                                        chosen > 0 ? std::max(chosen, pieces) : settings_.counts[set]))
    append(points, points_in(part.box, part.piece, SamplingMethod::sobol, part.count, seed_,
                             stream_of({kValidation, static_cast<std::uint64_t>(set), 0, part.index}), 0,
                             problem_.point_sets[set].columns));
  return points;
}

void PointSource::state(StateVisitor& visitor) {
  for (std::size_t s = 0; s < points_.size(); ++s) {
    visitor.integer("drawn", drawn_[s]);
    points_[s].coordinates.resize(problem_.domain.size());
    points_[s].columns.resize(problem_.point_sets[s].columns.size());
    for (auto& c : points_[s].coordinates) visitor.array("coordinate", c);
    for (auto& c : points_[s].columns) visitor.array("column", c);
  }
  if (visitor.reading()) installed_ = false;
}

}  // namespace lather::pde
