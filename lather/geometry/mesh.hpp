#pragma once
// Surfaces made of triangles, from STL (ASCII or binary) and OBJ files.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lather/geometry/shape.hpp"

namespace lather::geometry {

struct Mesh {
  std::vector<Point> vertices;
  std::vector<std::array<std::uint32_t, 3>> triangles;  // counterclockwise seen from outside
};

// By file extension: .stl or .obj. STL repeats the corners of every triangle: equal ones become one vertex.
// Throws Error with the line (text) or the reason (binary) for damaged files.
Mesh read_mesh(const std::filesystem::path& path);
Mesh parse_stl(std::string_view bytes, const std::string& file_name);
Mesh parse_obj(std::string_view text, const std::string& file_name);

// What is wrong with a surface that should enclose a body. All counts zero and not inside out: it is closed.
struct MeshDiagnosis {
  std::size_t degenerate = 0;  // triangles without area
  std::size_t open_edges = 0;  // with one triangle only: the rim of a hole
  std::size_t flipped = 0;     // edges that both of their triangles traverse in the same direction
  std::size_t crowded = 0;     // edges with more than two triangles
  bool inside_out = false;     // the volume is negative: all normals point inwards
  bool sound() const { return degenerate + open_edges + flipped + crowded == 0 && !inside_out; }
  std::string message() const;  // in words, with counts; empty if sound
};
MeshDiagnosis diagnose(const Mesh& mesh);

// Bounding volumes over triangles: closest points, and generalized winding numbers (G. Barill et al., "Fast
// winding numbers for soups and clouds", 2018), with distant clusters treated as dipoles.
class TriangleTree {
 public:
  explicit TriangleTree(const Mesh& mesh);

  struct Closest {
    Point position{};
    std::uint32_t triangle = 0;
    double distance = 0;
  };
  Closest closest(const Point& p) const;
  double winding_number(const Point& p) const;  // near 1 inside, near 0 outside a closed surface

 private:
  struct Cluster {
    Box box;
    Point dipole{}, center{};  // sum of area normals; their mean position
    double radius = 0;
    std::uint32_t first = 0, count = 0, left = 0, right = 0;  // a leaf has triangles; others have children
  };
  std::uint32_t build(std::uint32_t first, std::uint32_t count);
  void search(std::uint32_t node, const Point& p, Closest& best) const;
  double winding(std::uint32_t node, const Point& p) const;
  double box_distance(std::uint32_t node, const Point& p) const;

  Mesh mesh_;
  std::vector<std::uint32_t> order_;
  std::vector<Cluster> clusters_;
};

// The solid angle of a triangle seen from p, over 4 pi (A. van Oosterom, J. Strackee 1983).
double solid_angle_share(const Point& p, const Point& a, const Point& b, const Point& c);
Point closest_on_triangle(const Point& p, const Point& a, const Point& b, const Point& c);

// The body inside a surface. Throws Error with the diagnosis unless the surface is sound.
ShapePtr mesh_shape(Mesh mesh, const std::string& name);

}  // namespace lather::geometry
