#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "geometry/sample_shapes.hpp"
#include "lather/core/error.hpp"
#include "lather/geometry/mesh.hpp"

namespace lather::geometry {

namespace {

// The unit cube, two triangles per face, outward.
Mesh cube() {
  Mesh mesh;
  for (int i = 0; i < 8; ++i)
    mesh.vertices.push_back({double(i & 1), double(i >> 1 & 1), double(i >> 2 & 1)});
  mesh.triangles = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                    {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
  return mesh;
}

// An octahedron whose faces are split repeatedly and projected onto the unit sphere.
Mesh sphere(int levels) {
  Mesh mesh;
  mesh.vertices = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
  mesh.triangles = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4}, {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};
  for (int level = 0; level < levels; ++level) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> middle;
    const auto between = [&](std::uint32_t a, std::uint32_t b) {
      const auto [at, is_new] = middle.try_emplace({std::min(a, b), std::max(a, b)},
                                                   static_cast<std::uint32_t>(mesh.vertices.size()));
      if (is_new) mesh.vertices.push_back(unit(mesh.vertices[a] + mesh.vertices[b]));
      return at->second;
    };
    std::vector<std::array<std::uint32_t, 3>> split;
    for (const auto& [a, b, c] : mesh.triangles) {
      const auto ab = between(a, b), bc = between(b, c), ca = between(c, a);
      split.insert(split.end(), {{a, ab, ca}, {ab, b, bc}, {ca, bc, c}, {ab, bc, ca}});
    }
    mesh.triangles = std::move(split);
  }
  return mesh;
}

std::string ascii_stl(const Mesh& mesh) {
  std::string text = "solid thing\n";
  for (const auto& t : mesh.triangles) {
    text += "facet normal 0 0 0\n outer loop\n";
    for (const auto v : t) {
      const Point& p = mesh.vertices[v];
      text +=
          "  vertex " + std::to_string(p[0]) + " " + std::to_string(p[1]) + " " + std::to_string(p[2]) + "\n";
    }
    text += " endloop\nendfacet\n";
  }
  return text + "endsolid thing\n";
}

std::string binary_stl(const Mesh& mesh) {
  std::string bytes(80, ' ');
  const auto append = [&](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
  };
  const auto count = static_cast<std::uint32_t>(mesh.triangles.size());
  append(&count, 4);
  for (const auto& t : mesh.triangles) {
    float numbers[12] = {};
    for (int k = 0; k < 3; ++k)
      for (int i = 0; i < 3; ++i) numbers[3 + 3 * k + i] = static_cast<float>(mesh.vertices[t[k]][i]);
    append(numbers, sizeof(numbers));
    append("\0\0", 2);
  }
  return bytes;
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST(MeshFiles, AreReadFromAsciiAndBinaryStlAndObj) {
  for (const std::string& bytes : {ascii_stl(cube()), binary_stl(cube())}) {
    const Mesh mesh = parse_stl(bytes, "cube.stl");
    EXPECT_EQ(mesh.vertices.size(), 8u);
    EXPECT_EQ(mesh.triangles.size(), 12u);
    EXPECT_TRUE(diagnose(mesh).sound());
    EXPECT_DOUBLE_EQ(*mesh_shape(mesh, "cube.stl")->exact_measure(), 1);
  }
  const Mesh pyramid = parse_obj(
      "# a pyramid\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0.5 0.5 1\nvn 0 0 1\nf 4 3 2 1\nf 1/1 2/2 "
      "5\nf 2//1 3//1 5\nf 3 4 -1\nf 4 1 5\n",
      "pyramid.obj");
  EXPECT_EQ(pyramid.triangles.size(), 6u);
  EXPECT_NEAR(*mesh_shape(pyramid, "pyramid.obj")->exact_measure(), 1.0 / 3, 1e-15);
}

TEST(MeshFiles, ThatAreDamagedAreRefusedWithTheReason) {
  std::string cut = binary_stl(cube());
  cut.resize(cut.size() - 10);
  EXPECT_NE(error_of([&] { parse_stl(cut, "cut.stl"); }).find("promises 12 triangles"), std::string::npos);
  EXPECT_NE(error_of([] {
              parse_stl("solid a\n facet\n vertex 0 0 x\n", "a.stl");
            }).find("a.stl:3: expected a coordinate, found 'x'"),
            std::string::npos);
  EXPECT_NE(error_of([] { parse_stl("solid a\nendsolid a\n", "a.stl"); }).find("no triangles"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              parse_obj("v 0 0 0\nf 1 2 3\n", "a.obj");
            }).find("a.obj:2: the face uses vertex 2, but there are 1"),
            std::string::npos);
  EXPECT_NE(error_of([] { read_mesh("body.ply"); }).find(".stl and .obj"), std::string::npos);
  EXPECT_NE(error_of([] { read_mesh("missing.stl"); }).find("cannot open"), std::string::npos);
}

TEST(MeshDiagnosis, NamesEveryDefect) {
  Mesh open = cube();
  open.triangles.pop_back();
  EXPECT_EQ(diagnose(open).open_edges, 3u);
  Mesh flipped = cube();
  std::swap(flipped.triangles[3][0], flipped.triangles[3][1]);
  EXPECT_EQ(diagnose(flipped).flipped, 3u);
  Mesh degenerate = cube();
  degenerate.vertices.push_back({0.5, 0, 0});
  degenerate.triangles.push_back({0, 8, 1});
  EXPECT_EQ(diagnose(degenerate).degenerate, 1u);
  Mesh crowded = cube();
  crowded.vertices.push_back({2, 2, 2});
  crowded.triangles.push_back({0, 1, 8});
  EXPECT_EQ(diagnose(crowded).crowded, 1u);
  Mesh inside_out = cube();
  for (auto& t : inside_out.triangles) std::swap(t[0], t[1]);
  EXPECT_TRUE(diagnose(inside_out).inside_out);
  for (const Mesh& bad : {open, flipped, degenerate, crowded, inside_out})
    EXPECT_NE(error_of([&] { mesh_shape(bad, "bad.stl"); }).find("does not enclose a body"),
              std::string::npos);
  EXPECT_EQ(diagnose(cube()).message(), "");
}

TEST(TriangleTree, FindsTheClosestPointAndTheWindingNumberOfBruteForce) {
  const Mesh mesh = sphere(4);  // 2048 triangles
  const TriangleTree tree(mesh);
  const auto shape = mesh_shape(mesh, "sphere");
  for (const Point& p : points_around(*shape, 300, 5)) {
    double nearest = 1e300, winding = 0;
    for (const auto& t : mesh.triangles) {
      const Point &a = mesh.vertices[t[0]], &b = mesh.vertices[t[1]], &c = mesh.vertices[t[2]];
      nearest = std::min(nearest, length(closest_on_triangle(p, a, b, c) - p));
      winding += solid_angle_share(p, a, b, c);
    }
    EXPECT_DOUBLE_EQ(tree.closest(p).distance, nearest);
    EXPECT_NEAR(tree.winding_number(p), winding, 0.02);
    EXPECT_NEAR(winding, std::round(winding), 1e-12);
    EXPECT_EQ(shape->contains(p), winding > 0.5);
  }
}

TEST(MeshShape, OfACubeIsTheBox) {
  const auto shape = mesh_shape(cube(), "cube"), exact = box(3, {0, 0, 0}, {1, 1, 1});
  for (const Point& p : points_around(*exact, 2000, 6))
    EXPECT_NEAR(shape->signed_distance(p), exact->signed_distance(p), 1e-14);
  const Boundary boundary(*shape);
  EXPECT_DOUBLE_EQ(boundary.measure().value, 6);
  std::array<int, 6> faces{};
  for_boundary(boundary, 6000, [&](const SurfacePoint& p) {
    EXPECT_NEAR(exact->signed_distance(p.position), 0, 1e-15);
    for (int k = 0; k < 3; ++k)
      if (std::abs(p.normal[k]) > 0.5) ++faces[2 * k + (p.normal[k] > 0)];
  });
  for (const int count : faces) EXPECT_NEAR(count, 1000, 2);
}

TEST(MeshShape, WorksInBooleans) {
  const auto shape = subtract(mesh_shape(cube(), "cube"), {ball(3, {0.5, 0.5, 0.5}, 0.3)});
  EXPECT_FALSE(shape->contains({0.5, 0.5, 0.5}));
  EXPECT_TRUE(shape->contains({0.1, 0.1, 0.1}));
  const Measure area = Boundary(*shape).measure(20'000);
  EXPECT_NEAR(area.value, 6 + 4 * std::numbers::pi * 0.09, area.error);
}

}  // namespace lather::geometry
