#include "lather/pde/sampling/region.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lather/core/interrupt.hpp"

namespace lather::pde {

using geometry::Box;
using geometry::Point;
using geometry::SurfacePoint;
using geometry::operator+, geometry::operator-, geometry::operator*;

namespace {

std::vector<char> farther_inside_than(double distance, const Geometry* geometry, const Points& points) {
  std::vector<char> inside(points.count(), 1);
  for (std::size_t i = 0; i < inside.size() && geometry; ++i) {
    poll_stop();
    inside[i] = geometry->domain->signed_distance(geometry->place(points, i)) > distance;
  }
  return inside;
}

}  // namespace

std::vector<char> inside_domain(const Geometry* geometry, const Points& points) {
  return farther_inside_than(geometry ? geometry->tolerance() : 0, geometry, points);
}
std::vector<char> in_closed_domain(const Geometry* geometry, const Points& points) {
  return farther_inside_than(geometry ? -geometry->tolerance() : 0, geometry, points);
}

Points only_inside(const Geometry* geometry, const Points& points) {
  if (!geometry) return points;
  const auto inside = inside_domain(geometry, points);
  Points result = points;
  for (auto* group : {&result.coordinates, &result.columns})
    for (auto& values : *group) {
      std::size_t next = 0;
      for (std::size_t i = 0; i < inside.size(); ++i)
        if (inside[i]) values[next++] = values[i];
      values.resize(next);
    }
  return result;
}

Region::Region(std::shared_ptr<const Geometry> geometry, Carrier carrier, geometry::ShapePtr shape,
               Filter filter, const Box& bounds, std::string text)
    : geometry_(std::move(geometry)),
      carrier_(carrier),
      shape_(std::move(shape)),
      filter_(std::move(filter)),
      bounds_(bounds),
      text_(std::move(text)) {
  if (carrier_ == Carrier::boundary)
    boundary_ =
        std::make_shared<geometry::Boundary>(*shape_, shape_->bounds().meet(geometry_->domain->bounds()));
}

bool Region::is_shape_coordinate(std::size_t k) const {
  const auto& list = geometry_->coordinates;
  return std::find(list.begin(), list.end(), static_cast<int>(k)) != list.end();
}

// One unit number per free coordinate; on a boundary, its parameters replace the coordinates of the shape.
Region::Candidates Region::candidates(std::span<const Interval> box, const Piece& piece,
                                      SamplingMethod method, std::size_t count, std::uint64_t seed,
                                      std::uint64_t stream, std::uint64_t first) const {
  const auto is_free = [&](std::size_t k) { return piece.empty() || std::isnan(piece[k]); };
  const bool on_boundary = carrier_ == Carrier::boundary;
  const std::size_t parameters =
      on_boundary ? std::max<std::size_t>(1, geometry_->coordinates.size() - 1) : 0;
  std::size_t dimensions = parameters;
  for (std::size_t k = 0; k < box.size(); ++k)
    if (!(on_boundary && is_shape_coordinate(k))) dimensions += is_free(k);
  const auto u = unit_points(method, count, static_cast<int>(dimensions), seed, stream, first);
  const std::size_t n = dimensions > 0 ? u[0].size() : count;
  Candidates drawn;
  drawn.points.coordinates.assign(box.size(), std::vector<double>(n));
  auto& coordinates = drawn.points.coordinates;
  for (std::size_t k = 0, next = parameters; k < box.size(); ++k) {
    if (on_boundary && is_shape_coordinate(k)) continue;
    if (!is_free(k)) {
      std::fill(coordinates[k].begin(), coordinates[k].end(), piece[k]);
      continue;
    }
    Interval range = box[k];
    if (is_shape_coordinate(k)) {
      const auto& list = geometry_->coordinates;
      const auto axis = std::find(list.begin(), list.end(), static_cast<int>(k)) - list.begin();
      range = {std::max(range.low, bounds_.low[axis]), std::min(range.high, bounds_.high[axis])};
    }
    const auto& unit = u[next++];
    for (std::size_t i = 0; i < n; ++i)
      coordinates[k][i] = std::fma(range.high - range.low, unit[i], range.low);
  }
  if (on_boundary) {
    drawn.surface.resize(n);
    std::vector<char> there(n);
    for (std::size_t i = 0; i < n; ++i) {
      poll_stop();
      const auto p = boundary_->at(u[0][i], parameters > 1 ? u[1][i] : 0.5);
      if (!p) continue;
      there[i] = 1;
      drawn.surface[i] = *p;
      for (std::size_t k = 0; k < geometry_->coordinates.size(); ++k)
        coordinates[geometry_->coordinates[k]][i] = p->position[k];
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!there[i]) continue;
      drawn.surface[next] = drawn.surface[i];
      for (auto& c : coordinates) c[next] = c[i];
      ++next;
    }
    drawn.surface.resize(next);
    for (auto& c : coordinates) c.resize(next);
  }
  return drawn;
}

// Those of the closed domain that pass the filter.
std::vector<char> Region::are_kept(const Candidates& drawn, const Piece& piece) const {
  const std::size_t n = drawn.points.count();
  std::vector<char> kept = filter_ ? filter_(drawn.points) : std::vector<char>(n, 1);
  const bool whole_boundary = carrier_ == Carrier::boundary && shape_ == geometry_->domain;
  // A face belongs to the closed domain; points that are free in space lie strictly inside.
  const bool open = carrier_ == Carrier::inside &&
                    std::all_of(geometry_->coordinates.begin(), geometry_->coordinates.end(),
                                [&](int k) { return piece.empty() || std::isnan(piece[k]); });
  const double least = open ? std::numeric_limits<double>::min() : -geometry_->tolerance();
  if (!whole_boundary)
    for (std::size_t i = 0; i < n; ++i) {
      poll_stop();
      if (kept[i]) kept[i] = geometry_->domain->signed_distance(geometry_->place(drawn.points, i)) >= least;
    }
  return kept;
}

void Region::keep(Candidates& drawn, const Piece& piece) const {
  const std::size_t n = drawn.points.count();
  const auto kept = are_kept(drawn, piece);
  std::size_t next = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!kept[i]) continue;
    if (!drawn.surface.empty()) drawn.surface[next] = drawn.surface[i];
    for (auto& c : drawn.points.coordinates) c[next] = c[i];
    ++next;
  }
  if (!drawn.surface.empty()) drawn.surface.resize(next);
  for (auto& c : drawn.points.coordinates) c.resize(next);
}

std::vector<char> Region::covers(const Points& points) const {
  if (carrier_ == Carrier::boundary) return std::vector<char>(points.count(), 0);
  std::vector<char> in = inside_domain(geometry_.get(), points);
  if (filter_) {
    const auto passes = filter_(points);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = in[i] && passes[i];
  }
  return in;
}

std::vector<char> Region::admits(const Points& points, const Piece& piece) const {
  return are_kept({points, {}}, piece);
}

Points Region::on_patch(std::size_t patch, std::span<const std::array<double, 2>> parameters, Points points,
                        const Piece& piece, std::span<const std::string> columns) const {
  Candidates drawn{std::move(points), {}};
  auto& coordinates = drawn.points.coordinates;
  std::size_t next = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto p = boundary_->on_patch(patch, parameters[i][0], parameters[i][1]);
    if (!p) continue;
    drawn.surface.push_back(*p);
    for (auto& c : coordinates) c[next] = c[i];
    for (std::size_t k = 0; k < geometry_->coordinates.size(); ++k)
      coordinates[geometry_->coordinates[k]][next] = p->position[k];
    ++next;
  }
  for (auto& c : coordinates) c.resize(next);
  keep(drawn, piece);
  fill(drawn, columns);
  return std::move(drawn.points);
}

std::shared_ptr<const Region> Region::close_to(const geometry::ShapePtr& shape, double within,
                                               std::span<const Interval> box, const Piece& piece) const {
  Box bounds = shape->bounds();
  for (int k = 0; k < 3; ++k) {
    bounds.low[k] -= within;
    bounds.high[k] += within;
  }
  const auto filter = [known = geometry_, inner = filter_, shape, within](const Points& points) {
    auto kept = inner ? inner(points) : std::vector<char>(points.count(), 1);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      poll_stop();
      kept[i] = kept[i] && std::abs(shape->signed_distance(known->place(points, i))) <= within;
    }
    return kept;
  };
  const auto part = std::make_shared<Region>(geometry_, carrier_, shape_, filter, bounds_.meet(bounds),
                                             fmt::format("{} close to a shape", text_));
  part->measure(box, piece);
  return part;
}

void Region::measure(std::span<const Interval> box, const Piece& piece) {
  constexpr std::size_t kProbe = 1 << 14;
  Candidates drawn = candidates(box, piece, SamplingMethod::sobol, kProbe, 0, 0, 0);
  keep(drawn, piece);
  const std::size_t found = drawn.points.count();
  if (found * kMostCandidates < kProbe)
    throw Error(fmt::format(
        "'{}' holds nowhere in the domain, or in so small a part of it that points cannot be drawn "
        "there ({} of {} candidates lie in it)",
        text_, found, kProbe));
  share_ = static_cast<double>(found) / static_cast<double>(kProbe);
}

Points Region::draw(std::span<const Interval> box, const Piece& piece, SamplingMethod method,
                    std::size_t count, std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                    std::span<const std::string> columns) const {
  const bool grid = method == SamplingMethod::grid;
  // A box smaller than the domain, such as a focus, may hold more or less of the region than its share says.
  auto tried =
      static_cast<std::size_t>(static_cast<double>(count) / share_ * (grid ? 1.0 : 1.1)) + (grid ? 1 : 16);
  const std::uint64_t start = count > 0 ? first / count * tried : 0;
  for (;;) {
    Candidates drawn = candidates(box, piece, method, tried, seed, stream, start);
    keep(drawn, piece);
    const std::size_t found = drawn.points.count();
    if (grid ? found > 0 && found <= count : found >= count) {
      for (auto& c : drawn.points.coordinates) c.resize(std::min(found, count));
      if (!drawn.surface.empty()) drawn.surface.resize(std::min(found, count));
      fill(drawn, columns);
      return std::move(drawn.points);
    }
    if (grid && found > count) {
      tried = std::min(tried - 1,
                       static_cast<std::size_t>(static_cast<double>(tried) * static_cast<double>(count) /
                                                static_cast<double>(found)));
      if (tried == 0) throw Error(fmt::format("no grid of at most {} points fits into '{}'", count, text_));
      continue;
    }
    if (tried > kMostCandidates * (count + 16))
      throw Error(fmt::format("'{}': {} of {} candidates lie in it; points cannot be drawn there", text_,
                              found, tried));
    tried *= 2;
  }
}

void Region::fill(Candidates& drawn, std::span<const std::string> columns) const {
  if (carrier_ == Carrier::inside) {
    fill_columns(*geometry_, drawn.points, columns);
    return;
  }
  // Normals point outward from the domain on its own boundary, from the shape elsewhere.
  const double beside = 100 * geometry_->tolerance();
  for (std::size_t i = 0; i < drawn.surface.size(); ++i) {
    poll_stop();
    SurfacePoint& p = drawn.surface[i];
    if (shape_ != geometry_->domain &&
        std::abs(geometry_->domain->signed_distance(p.position)) <= geometry_->tolerance() &&
        geometry_->domain->contains(p.position + beside * p.normal))
      p.normal = -p.normal;
  }
  for (const auto& name : columns) {
    auto& values = drawn.points.columns.emplace_back(drawn.surface.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      poll_stop();
      const SurfacePoint& p = drawn.surface[i];
      if (name == "sdf") {
        values[i] = shape_ == geometry_->domain ? 0 : geometry_->domain->signed_distance(p.position);
      } else if (name == "arc") {
        values[i] = p.arc;
      } else {
        for (std::size_t k = 0; k < geometry_->coordinates.size(); ++k)
          if (name == "normal_" + geometry_->names[k]) values[i] = p.normal[k];
      }
    }
  }
}

std::vector<std::string> region_columns(const Geometry& geometry) {
  std::vector<std::string> names{"sdf", "arc"};
  for (const auto& name : geometry.names) names.push_back("normal_" + name);
  return names;
}

void fill_columns(const Geometry& geometry, Points& points, std::span<const std::string> columns) {
  for (const auto& name : columns) {
    if (name == "arc")
      throw Error("'arc' is the length along a boundary: it has no value on this set of points");
    auto& values = points.columns.emplace_back(points.count());
    for (std::size_t i = 0; i < values.size(); ++i) {
      poll_stop();
      const Point p = geometry.place(points, i);
      if (name == "sdf") {
        values[i] = geometry.domain->signed_distance(p);
        continue;
      }
      const Point normal = geometry::normal_at(*geometry.domain, p);
      for (std::size_t k = 0; k < geometry.coordinates.size(); ++k)
        if (name == "normal_" + geometry.names[k]) values[i] = normal[k];
    }
  }
}

std::vector<std::string> fill_columns(const Problem& problem, std::span<const symbolic::Expr> expressions,
                                      Points& points) {
  const Geometry* geometry = problem.geometry.get();
  for (const auto& set : problem.point_sets)
    if (!geometry && !set.pieces.empty() && set.pieces[0].region)
      geometry = set.pieces[0].region->shapes().get();
  std::vector<std::string> used;
  if (!geometry) return used;
  for (const auto& name : region_columns(*geometry))
    for (symbolic::Expr s : symbolic::symbols_of(expressions))
      if (s.node().name == "data:" + name) used.push_back(name);
  fill_columns(*geometry, points, used);
  return used;
}

}  // namespace lather::pde
