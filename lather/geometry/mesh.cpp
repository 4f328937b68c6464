#include "lather/geometry/mesh.hpp"

#include <fmt/format.h>

#include <map>

#include "lather/core/error.hpp"
#include "lather/core/interrupt.hpp"

namespace lather::geometry {

namespace {

Point area_normal(const Mesh& mesh, std::size_t i) {
  const auto& t = mesh.triangles[i];
  const Point &a = mesh.vertices[t[0]], &b = mesh.vertices[t[1]], &c = mesh.vertices[t[2]];
  return 0.5 * cross(b - a, c - a);
}

// By the divergence theorem.
double enclosed_volume(const Mesh& mesh) {
  if (mesh.vertices.empty()) return 0;
  const Point origin = mesh.vertices[0];  // less cancellation than with the origin at zero
  double sum = 0;
  for (const auto& t : mesh.triangles)
    sum +=
        dot(mesh.vertices[t[0]] - origin, cross(mesh.vertices[t[1]] - origin, mesh.vertices[t[2]] - origin));
  return sum / 6;
}

class MeshShape : public Shape {
 public:
  explicit MeshShape(Mesh mesh) : Shape(3), mesh_(std::move(mesh)), tree_(mesh_) {
    double sum = 0;
    for (std::size_t i = 0; i < mesh_.triangles.size(); ++i)
      ends_.push_back(sum += length(area_normal(mesh_, i)));
    for (const Point& p : mesh_.vertices) box_.include(p);
  }
  double signed_distance(const Point& p) const override {
    const double distance = tree_.closest(p).distance;
    return tree_.winding_number(p) > 0.5 ? distance : -distance;
  }
  Box bounds() const override { return box_; }
  std::vector<Patch> patches(const Box&) const override {
    const auto at = [this](double u, double v) {
      const double place = u * ends_.back();
      const auto i = std::min<std::size_t>(
          std::upper_bound(ends_.begin(), ends_.end(), place) - ends_.begin(), ends_.size() - 1);
      const double begin = i > 0 ? ends_[i - 1] : 0;
      // The rest of u within the triangle is uniform again; its square root gives uniform points in it.
      const double root = std::sqrt(std::clamp((place - begin) / (ends_[i] - begin), 0.0, 1.0));
      const auto& t = mesh_.triangles[i];
      const Point &a = mesh_.vertices[t[0]], &b = mesh_.vertices[t[1]], &c = mesh_.vertices[t[2]];
      return SurfacePoint{(1 - root) * a + (root * (1 - v)) * b + (root * v) * c, unit(area_normal(mesh_, i)),
                          0};
    };
    return {{ends_.back(), at, {}}};
  }
  std::optional<double> exact_measure() const override { return enclosed_volume(mesh_); }
  std::optional<double> exact_boundary_measure() const override { return ends_.back(); }
  symbolic::Expr smooth_distance(const Coordinates&) const override {
    throw Error(
        "a mesh has no smooth distance function: distance() needs shapes with a formula; give the condition "
        "on the mesh as a [[condition]] instead");
  }

 private:
  Mesh mesh_;
  TriangleTree tree_;
  std::vector<double> ends_;  // cumulative areas
  Box box_;
};

}  // namespace

MeshDiagnosis diagnose(const Mesh& mesh) {
  MeshDiagnosis result;
  Box box;
  for (const Point& p : mesh.vertices) box.include(p);
  const double smallest = 1e-16 * box.diagonal() * box.diagonal();
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<int, int>> edges;  // forwards, backwards
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    poll_stop();
    if (!(length(area_normal(mesh, i)) > smallest)) ++result.degenerate;
    const auto& t = mesh.triangles[i];
    for (int k = 0; k < 3; ++k) {
      const std::uint32_t from = t[k], to = t[(k + 1) % 3];
      if (from == to) continue;
      auto& count = edges[{std::min(from, to), std::max(from, to)}];
      ++(from < to ? count.first : count.second);
    }
  }
  for (const auto& [edge, count] : edges) {
    const int uses = count.first + count.second;
    result.open_edges += uses == 1;
    result.crowded += uses > 2;
    result.flipped += uses == 2 && count.first != 1;
  }
  result.inside_out = result.open_edges + result.flipped + result.crowded == 0 && enclosed_volume(mesh) < 0;
  return result;
}

std::string MeshDiagnosis::message() const {
  std::vector<std::string> parts;
  if (degenerate > 0) parts.push_back(fmt::format("{} triangles without area", degenerate));
  if (open_edges > 0) parts.push_back(fmt::format("{} open edges (it is not closed)", open_edges));
  if (flipped > 0)
    parts.push_back(fmt::format("{} edges between triangles of opposite orientation", flipped));
  if (crowded > 0) parts.push_back(fmt::format("{} edges with more than two triangles", crowded));
  if (inside_out) parts.push_back("all normals pointing inwards");
  return fmt::format("{}", fmt::join(parts, ", "));
}

ShapePtr mesh_shape(Mesh mesh, const std::string& name) {
  if (const MeshDiagnosis found = diagnose(mesh); !found.sound())
    throw Error(fmt::format(
        "the surface '{}' does not enclose a body: it has {}. Repair it in the program it was made "
        "with",
        name, found.message()));
  return std::make_shared<MeshShape>(std::move(mesh));
}

}  // namespace lather::geometry
