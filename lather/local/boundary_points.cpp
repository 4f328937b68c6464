#include "lather/local/boundary_points.hpp"

#include <algorithm>
#include <cmath>

#include "lather/pde/sampling/region.hpp"

namespace lather::local {

int PointDensity::on_face(int free) const {
  if (free == 0) return 1;
  const double p = degree;
  const double count = free == 1 ? 1.3 * (p + 1) : std::ceil(std::sqrt(0.65 * (p + 1) * (p + 2)));
  return static_cast<int>(count) - held_out;
}

bool is_on_shape(const pde::Piece& piece) {
  return piece.region && piece.region->carrier() == pde::Region::Carrier::boundary;
}

pde::Points points_on_face(const pde::Problem& problem, const pde::Piece& piece, const Box& box,
                           const Box& support, const PointDensity& density,
                           std::span<const std::string> columns) {
  const int d = problem.dimensions();
  int free = 0;
  for (int k = 0; k < d; ++k) {
    if (std::isnan(piece[k]))
      ++free;
    else if (piece[k] < box.low[k] || piece[k] > box.high[k])
      return {};
  }
  pde::Points points;
  const int count = density.on_face(free);
  std::size_t wanted = 1;
  for (int k = 0; k < free; ++k) wanted *= static_cast<std::size_t>(count);
  for (const int factor : {1, 2, 4}) {  // denser where part of the face does not count
    std::vector<Axis> axes;
    for (int k = 0; k < d; ++k)
      axes.push_back(std::isnan(piece[k]) ? gauss_axis(support.low[k], support.high[k], factor * count)
                                          : Axis{piece[k]});
    points = product_of(axes);
    if (!piece.region) break;
    points = only(points, piece.region->admits(points, piece));
    if (points.count() == 0 || points.count() >= wanted || free == 0) break;
  }
  if (piece.region) pde::fill_columns(*piece.region->shapes(), points, columns);
  return points;
}

namespace {

using Parameters = std::vector<std::array<double, 2>>;
constexpr double kEnd = 1e-13;  // parameters stay this far from 0 and 1

// One patch of a shape's boundary, and the box of shape coordinates that points must lie in.
class BoundaryInBox {
 public:
  BoundaryInBox(const pde::Region& region, const Box& box, std::size_t patch)
      : boundary_(*region.boundary()), space_(region.shapes()->coordinates), patch_(patch) {
    const double slack = 1e-12 * region.shapes()->domain->bounds().diagonal();
    double squares = 0;
    for (std::size_t k = 0; k < space_.size(); ++k) {
      low_[k] = box.low[space_[k]] - slack;
      high_[k] = box.high[space_[k]] + slack;
      squares += box.width(space_[k]) * box.width(space_[k]);
    }
    diagonal_ = std::sqrt(squares);
  }

  bool holds(double u, double v) const {
    return distance(u, v) == 0 && boundary_.on_patch(patch_, u, v).has_value();
  }

  // The parts of a curve in the box: between consecutive pairs of the result.
  std::vector<std::pair<double, double>> intervals() const {
    Samples samples;
    scan(kEnd, 1 - kEnd, samples);
    std::vector<std::pair<double, double>> found;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (!samples[i].second) continue;
      const double begin = i == 0 ? samples[i].first : edge(samples[i - 1].first, samples[i].first);
      while (i + 1 < samples.size() && samples[i + 1].second) ++i;
      const double end =
          i + 1 == samples.size() ? samples[i].first : edge(samples[i + 1].first, samples[i].first);
      if (end > begin) found.emplace_back(begin, end);
    }
    return found;
  }

  // At least `wanted` points of a surface, spread over the part of it in the box; none if there is none.
  Parameters on_surface(std::size_t wanted, bool held_out) const {
    Rectangle part{kEnd, 1 - kEnd, kEnd, 1 - kEnd};
    for (int zoom = 0; zoom < 5; ++zoom) {
      Rectangle found{1, 0, 1, 0};
      std::size_t hits = 0;
      double least = std::numeric_limits<double>::infinity(), at_u = 0, at_v = 0;
      const double du = (part.u1 - part.u0) / kScan, dv = (part.v1 - part.v0) / kScan;
      for (int i = 0; i < kScan; ++i)
        for (int j = 0; j < kScan; ++j) {
          const double u = part.u0 + (i + 0.5) * du, v = part.v0 + (j + 0.5) * dv;
          const double off = distance(u, v);
          if (off < least) {
            least = off;
            at_u = u;
            at_v = v;
          }
          if (off > 0) continue;
          ++hits;
          found = {std::min(found.u0, u), std::max(found.u1, u), std::min(found.v0, v),
                   std::max(found.v1, v)};
        }
      const double cell =
          std::sqrt(boundary_.patch_measure(patch_) * (part.u1 - part.u0) * (part.v1 - part.v0)) / kScan;
      if (hits == 0 && least > 4 * cell) return {};
      if (hits == 0) found = {at_u, at_u, at_v, at_v};
      const double reach = hits == 0 ? 3 : 1;
      part = {std::max(kEnd, found.u0 - reach * du), std::min(1 - kEnd, found.u1 + reach * du),
              std::max(kEnd, found.v0 - reach * dv), std::min(1 - kEnd, found.v1 + reach * dv)};
      if (hits >= kScan) return fill(part, wanted, held_out);
    }
    return fill(part, wanted, held_out);
  }

 private:
  using Samples = std::vector<std::pair<double, bool>>;
  struct Rectangle {
    double u0, u1, v0, v1;
  };
  static constexpr int kScan = 48;

  double distance(double u, double v) const {
    const auto p = boundary_.place_on_patch(patch_, u, v);
    double squares = 0;
    for (std::size_t k = 0; k < space_.size(); ++k) {
      const double off = std::max({0.0, low_[k] - p[k], p[k] - high_[k]});
      squares += off * off;
    }
    return std::sqrt(squares);
  }

  // A part of the curve that is as long as L stays within L/2 of one of its ends.
  void scan(double a, double b, Samples& samples) const {
    const double length = (b - a) * boundary_.patch_measure(patch_);
    if (0.5 * length < distance(a, 0.5) && 0.5 * length < distance(b, 0.5)) {
      samples.emplace_back(a, false);
      samples.emplace_back(b, false);
      return;
    }
    const double middle = 0.5 * (a + b);
    if (length < 0.1 * diagonal_ || b - a < 1e-9) {
      for (const double u : {a, middle, b}) samples.emplace_back(u, holds(u, 0.5));
      return;
    }
    scan(a, middle, samples);
    scan(middle, b, samples);
  }

  double edge(double outside, double inside) const {
    while (std::abs(inside - outside) > 1e-14) {
      const double middle = 0.5 * (outside + inside);
      (holds(middle, 0.5) ? inside : outside) = middle;
    }
    return inside;
  }

  Parameters fill(const Rectangle& part, std::size_t wanted, bool held_out) const {
    Parameters points;
    const int begin = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(wanted)))) - held_out;
    for (int count = begin; count < 6 * begin; count += 1 + begin / 4) {
      points.clear();
      for (const double u : gauss_axis(part.u0, part.u1, count))
        for (const double v : gauss_axis(part.v0, part.v1, count))
          if (holds(u, v)) points.push_back({u, v});
      if (points.size() >= wanted) break;
    }
    return points;
  }

  const geometry::Boundary& boundary_;
  const std::vector<int>& space_;
  std::size_t patch_;
  geometry::Point low_{}, high_{};
  double diagonal_ = 0;
};

// Every pair of a place on the boundary and values of the coordinates that are not the shape's.
pde::Points with_other_coordinates(const pde::Region& region, std::size_t patch, const Parameters& places,
                                   const std::vector<Axis>& others, const pde::Piece& piece,
                                   std::span<const std::string> columns) {
  const pde::Points product = product_of(others);  // the shape's own coordinates have one value each
  Parameters all;
  pde::Points points;
  points.coordinates.resize(others.size());
  for (const auto& place : places)
    for (std::size_t i = 0; i < product.count(); ++i) {
      all.push_back(place);
      for (std::size_t k = 0; k < others.size(); ++k)
        points.coordinates[k].push_back(product.coordinates[k][i]);
    }
  return region.on_patch(patch, all, std::move(points), piece, columns);
}

}  // namespace

pde::Points points_on_shape(const pde::Problem& problem, const pde::Piece& piece, const Box& box,
                            const PointDensity& density, std::span<const std::string> columns) {
  const pde::Region& region = *piece.region;
  const auto& space = region.shapes()->coordinates;
  const auto is_space = [&](int k) { return std::find(space.begin(), space.end(), k) != space.end(); };
  int free = static_cast<int>(space.size()) - 1;
  for (int k = 0; k < problem.dimensions(); ++k)
    if (!is_space(k) && std::isnan(piece[k])) ++free;
  std::vector<Axis> others;
  for (int k = 0; k < problem.dimensions(); ++k) {
    if (is_space(k))
      others.push_back({0});
    else if (std::isnan(piece[k]))
      others.push_back(gauss_axis(box.low[k], box.high[k], density.on_face(free)));
    else if (piece[k] < box.low[k] || piece[k] > box.high[k])
      return {};
    else
      others.push_back({piece[k]});
  }
  const int along = free == 1 ? density.on_curve() : (3 * density.on_face(free) + 1) / 2;
  pde::Points points;
  points.coordinates.resize(problem.domain.size());
  points.columns.resize(columns.size());
  for (std::size_t patch = 0; patch < region.boundary()->patches(); ++patch) {
    const BoundaryInBox part(region, box, patch);
    Parameters places;
    if (space.size() == 1) {
      if (part.holds(0.5, 0.5)) places.push_back({0.5, 0.5});
    } else if (space.size() == 2) {
      for (const auto& [begin, end] : part.intervals())
        for (const double u : gauss_axis(begin, end, along)) places.push_back({u, 0.5});
    } else {
      places = part.on_surface(static_cast<std::size_t>(density.on_surface()), density.held_out);
    }
    if (!places.empty())
      pde::append(points, with_other_coordinates(region, patch, places, others, piece, columns));
  }
  return points;
}

}  // namespace lather::local
