#include "lather/local/patch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "lather/local/basis.hpp"
#include "lather/local/boundary_points.hpp"
#include "lather/pde/sampling/region.hpp"
#include "lather/pde/sampling/sampling.hpp"

namespace lather::local {

namespace {

constexpr double kPointsPerFunction = 1.5;

class PatchMaker {
 public:
  PatchMaker(const Equations& equations, const Tree& tree, int node, int degree)
      : equations_(equations), tree_(tree), dimensions_(equations.dimensions()) {
    patch_.node = node;
    patch_.degree = degree;
    patch_.box = patch_.support = tree.nodes()[static_cast<std::size_t>(node)].box;
    patch_.is_cut = equations.domain().part_of(patch_.box) != Domain::Part::all;
    functions_ = Basis(dimensions_, degree).size();
  }

  Patch make() {
    const auto on_shapes = points_on_shapes(false);
    if (patch_.is_cut) shrink_support(on_shapes);
    const auto inside = inside_points(), inside_held_out = spread_inside();
    const auto on_shapes_held_out = points_on_shapes(true);
    const auto& groups = equations_.groups();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const pde::PointSet& set = *groups[g].points;
      patch_.points.push_back(points_of(set, inside, on_shapes[g], false));
      patch_.held_out.push_back(points_of(set, inside_held_out, on_shapes_held_out[g], true));
    }
    return std::move(patch_);
  }

 private:
  PointDensity density(bool held_out) const { return {dimensions_, patch_.degree, held_out}; }

  std::vector<pde::Points> points_on_shapes(bool held_out) const {
    std::vector<pde::Points> list;
    for (const auto& group : equations_.groups()) {
      auto& points = list.emplace_back();
      for (const auto& piece : group.points->pieces)
        if (group.points->kind == pde::PointSet::Kind::boundary && is_on_shape(piece)) {
          const auto more = points_on_shape(equations_.problem(), piece, patch_.box, density(held_out),
                                            group.points->columns);
          if (more.count() > 0) pde::append(points, more);
        }
    }
    return list;
  }

  void shrink_support(const std::vector<pde::Points>& on_shapes) {
    constexpr std::size_t kProbe = 1 << 12;
    Box around;
    around.low.fill(std::numeric_limits<double>::infinity());
    around.high.fill(-std::numeric_limits<double>::infinity());
    const auto include = [&](const pde::Points& points) {
      for (int k = 0; k < dimensions_ && points.count() > 0; ++k) {
        const auto [low, high] =
            std::minmax_element(points.coordinates[k].begin(), points.coordinates[k].end());
        around.low[k] = std::min(around.low[k], *low);
        around.high[k] = std::max(around.high[k], *high);
      }
    };
    const auto probe = spread(patch_.box, dimensions_, kProbe);
    include(only(probe, equations_.domain().contains(probe)));
    for (const auto& points : on_shapes) include(points);
    for (int k = 0; k < dimensions_; ++k) {
      if (!(around.low[k] <= around.high[k])) continue;
      const double least = 1e-6 * patch_.box.width(k);
      patch_.support.low[k] = std::max(patch_.box.low[k], around.low[k]);
      patch_.support.high[k] = std::max(std::min(patch_.box.high[k], around.high[k]), around.low[k] + least);
    }
  }

  // `more` than the least number of nodes along each coordinate, which is enough for the sums of squares, and
  // along none so few that a derivative of the highest polynomial could vanish at all of them.
  pde::Points gauss_points(int more) const {
    const double wanted = kPointsPerFunction * static_cast<double>(functions_);
    const int even = static_cast<int>(std::ceil(std::pow(wanted, 1.0 / dimensions_) - 1e-9));
    std::vector<Axis> axes;
    for (int k = 0; k < dimensions_; ++k) {
      const int least = std::max(even, patch_.degree + 1 - equations_.lowest_order(k));
      axes.push_back(gauss_axis(patch_.support.low[k], patch_.support.high[k], least + more));
    }
    return product_of(axes);
  }

  // Denser in a box that is cut, until enough are inside.
  pde::Points inside_points() const {
    pde::Points points = gauss_points(0);
    if (!patch_.is_cut) return points;
    const double wanted = kPointsPerFunction * static_cast<double>(functions_);
    const int most = 3 * patch_.degree;
    for (int more = 0; more < most; more += 1 + more / 8) {
      points = gauss_points(more);
      points = only(points, equations_.domain().contains(points));
      if (static_cast<double>(points.count()) >= wanted) break;
    }
    return points;
  }

  pde::Points spread_inside() const {
    const std::size_t most = std::max<std::size_t>(20, functions_ / 2);
    pde::Points points = spread(patch_.support, dimensions_, patch_.is_cut ? 4 * most : most);
    if (!patch_.is_cut) return points;
    auto inside = equations_.domain().contains(points);
    std::size_t found = 0;
    for (char& in : inside) in = in && found++ < most;
    return only(points, inside);
  }

  pde::Points points_of(const pde::PointSet& set, const pde::Points& inside, const pde::Points& on_shapes,
                        bool held_out) const {
    if (set.kind == pde::PointSet::Kind::interior) return of_equations(set, inside);
    if (set.kind == pde::PointSet::Kind::data) return of_data(set);
    pde::Points points = on_shapes;
    for (const auto& piece : set.pieces) {
      if (is_on_shape(piece)) continue;
      const auto more = points_on_face(equations_.problem(), piece, patch_.box, patch_.support,
                                       density(held_out), set.columns);
      if (more.count() > 0) pde::append(points, more);
    }
    return points;
  }

  pde::Points of_equations(const pde::PointSet& set, const pde::Points& inside) const {
    if (set.pieces.empty() || !set.pieces[0].region) return inside;
    const auto& region = *set.pieces[0].region;
    pde::Points points = only(inside, region.covers(inside));
    pde::fill_columns(*region.shapes(), points, set.columns);
    return points;
  }

  pde::Points of_data(const pde::PointSet& set) const {
    pde::Points points;
    const auto d = static_cast<std::size_t>(dimensions_);
    points.coordinates.resize(d);
    points.columns.resize(set.columns.size());
    for (const auto& row : set.rows) {
      Place place{};
      std::copy_n(row.begin(), d, place.begin());
      if (tree_.locate(place) != patch_.node) continue;
      for (std::size_t k = 0; k < d; ++k) points.coordinates[k].push_back(row[k]);
      for (std::size_t k = 0; k < set.columns.size(); ++k) points.columns[k].push_back(row[d + k]);
    }
    return points;
  }

  const Equations& equations_;
  const Tree& tree_;
  int dimensions_;
  std::size_t functions_ = 0;
  Patch patch_;
};

// What two boxes share along all directions but one.
bool overlap(const Box& a, const Box& b, int dimensions, int direction, Box& common) {
  for (int k = 0; k < dimensions; ++k) {
    if (k == direction) continue;
    common.low[k] = std::max(a.low[k], b.low[k]);
    common.high[k] = std::min(a.high[k], b.high[k]);
    if (!(common.high[k] - common.low[k] > 1e-12 * a.width(k))) return false;
  }
  return true;
}

int face_points_along(int dimensions, int degree, bool held_out) {
  const double p = degree;
  const double count = dimensions == 3 ? std::ceil(std::sqrt(0.6 * (p + 1) * (p + 2))) : p + 1;
  return static_cast<int>(count) - (held_out ? 1 : 0);
}

}  // namespace

Patch make_patch(const Equations& equations, const Tree& tree, int node, int degree) {
  return PatchMaker(equations, tree, node, degree).make();
}

std::vector<Face> find_faces(const Domain& domain, const std::vector<const Patch*>& patches, bool held_out) {
  const int d = domain.dimensions();
  const Box bounds = domain.bounds();
  std::vector<Face> faces;
  for (int k = 0; k < d; ++k) {
    std::map<double, std::vector<std::size_t>> beginning_at;
    for (std::size_t i = 0; i < patches.size(); ++i) beginning_at[patches[i]->box.low[k]].push_back(i);
    for (std::size_t i = 0; i < patches.size(); ++i) {
      const Patch& a = *patches[i];
      const bool around = domain.periodic(k) && a.box.high[k] == bounds.high[k];
      const auto above = beginning_at.find(around ? bounds.low[k] : a.box.high[k]);
      if (above == beginning_at.end()) continue;
      for (const std::size_t j : above->second) {
        const Patch& b = *patches[j];
        Box common;
        if (!overlap(a.box, b.box, d, k, common)) continue;
        const int count = face_points_along(d, std::max(a.degree, b.degree), held_out);
        std::size_t wanted = 1;
        for (int m = 1; m < d; ++m) wanted *= static_cast<std::size_t>(count);
        pde::Points points;
        for (const int factor : {1, 2, 4, 8}) {  // denser where part of the face lies outside
          std::vector<Axis> axes;
          for (int m = 0; m < d; ++m)
            axes.push_back(m == k ? Axis{a.box.high[k]}
                                  : gauss_axis(common.low[m], common.high[m], factor * count));
          points = product_of(axes);
          if (!a.is_cut && !b.is_cut) break;
          points = only(points, domain.contains(points));
          if (points.count() >= wanted || d == 1 || (d == 3 && factor == 2)) break;
        }
        if (points.count() == 0) continue;
        Face face{i, j, k, points, points};
        for (double& x : face.of_second.coordinates[k]) x = b.box.low[k];
        faces.push_back(std::move(face));
      }
    }
  }
  return faces;
}

}  // namespace lather::local
