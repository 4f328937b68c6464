#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <map>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/core/interrupt.hpp"
#include "lather/geometry/mesh.hpp"

namespace lather::geometry {

namespace {

constexpr std::size_t kMostTriangles = 20'000'000;

// Equal points get the same index.
class VertexIndex {
 public:
  explicit VertexIndex(Mesh& mesh) : mesh_(mesh) {}
  std::uint32_t operator()(const Point& p) {
    const auto [at, is_new] = index_.try_emplace(p, static_cast<std::uint32_t>(mesh_.vertices.size()));
    if (is_new) mesh_.vertices.push_back(p);
    return at->second;
  }

 private:
  Mesh& mesh_;
  std::map<Point, std::uint32_t> index_;
};

// Words of a text, line by line.
class Words {
 public:
  Words(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}
  bool next_line() {
    poll_stop();
    if (at_ >= text_.size()) return false;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    line_ = text_.substr(at_, end - at_);
    at_ = end + 1;
    ++number_;
    return true;
  }
  std::string_view word() {
    const std::size_t first = line_.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) {
      line_ = {};
      return {};
    }
    const std::size_t last = std::min(line_.find_first_of(" \t\r", first), line_.size());
    const std::string_view found = line_.substr(first, last - first);
    line_ = line_.substr(last);
    return found;
  }
  double number() {
    std::string_view text = word();
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
      fail(fmt::format("expected a coordinate, found '{}'", one_line(text)));
    return value;
  }
  Point point() {
    const double x = number(), y = number(), z = number();
    return {x, y, z};
  }
  [[noreturn]] void fail(const std::string& message) const { throw Error({file_, number_, 0}, message); }

 private:
  std::string_view text_, line_;
  std::string file_;
  std::size_t at_ = 0;
  int number_ = 0;
};

Mesh parse_ascii_stl(std::string_view text, const std::string& file_name) {
  Mesh mesh;
  VertexIndex index(mesh);
  Words words(text, file_name);
  std::vector<Point> corners;
  while (words.next_line()) {
    const auto word = words.word();
    if (word == "vertex") {
      corners.push_back(words.point());
    } else if (word == "endfacet") {
      if (corners.size() != 3) words.fail(fmt::format("a facet has {} corners instead of 3", corners.size()));
      mesh.triangles.push_back({index(corners[0]), index(corners[1]), index(corners[2])});
      corners.clear();
    } else if (!word.empty() && word != "solid" && word != "endsolid" && word != "facet" && word != "outer" &&
               word != "endloop") {
      words.fail(fmt::format("'{}' is not a word of an STL file", one_line(word.substr(0, 40))));
    }
  }
  if (!corners.empty()) words.fail("the file ends within a facet");
  return mesh;
}

}  // namespace

Mesh parse_stl(std::string_view bytes, const std::string& file_name) {
  // 80 bytes of header, the number of triangles, 50 bytes each: normal, three corners, two bytes unused.
  std::uint32_t count = 0;
  if (bytes.size() >= 84) std::memcpy(&count, bytes.data() + 80, 4);
  const bool binary = bytes.size() >= 84 && bytes.size() == 84 + std::size_t{50} * count;
  Mesh mesh;
  if (!binary) {
    if (!bytes.starts_with("solid"))
      throw Error(
          {file_name, 0, 0},
          fmt::format("neither an ASCII STL file (it does not begin with 'solid') nor a binary one (its "
                      "header promises {} triangles, {} bytes, and there are {})",
                      count, 84 + std::size_t{50} * count, bytes.size()));
    mesh = parse_ascii_stl(bytes, file_name);
  } else {
    if (count > kMostTriangles)
      throw Error({file_name, 0, 0}, fmt::format("{} triangles; at most {} are read", count, kMostTriangles));
    VertexIndex index(mesh);
    for (std::size_t i = 0; i < count; ++i) {
      poll_stop();
      std::array<float, 9> corners;
      std::memcpy(corners.data(), bytes.data() + 84 + 50 * i + 12, sizeof(corners));
      std::array<std::uint32_t, 3> triangle;
      for (int k = 0; k < 3; ++k) {
        const Point p{corners[3 * k], corners[3 * k + 1], corners[3 * k + 2]};
        if (!std::isfinite(p[0] + p[1] + p[2]))
          throw Error({file_name, 0, 0}, fmt::format("triangle {} has a corner that is not finite", i + 1));
        triangle[k] = index(p);
      }
      mesh.triangles.push_back(triangle);
    }
  }
  if (mesh.triangles.empty()) throw Error({file_name, 0, 0}, "the file has no triangles");
  return mesh;
}

Mesh parse_obj(std::string_view text, const std::string& file_name) {
  Mesh mesh;
  Words words(text, file_name);
  while (words.next_line()) {
    const auto word = words.word();
    if (word == "v") {
      mesh.vertices.push_back(words.point());
    } else if (word == "f") {
      std::vector<std::uint32_t> face;
      for (auto corner = words.word(); !corner.empty(); corner = words.word()) {
        long number = 0;  // "7", "7/1", "7//3"; negative ones count from the last vertex
        const auto [end, error] = std::from_chars(corner.data(), corner.data() + corner.size(), number);
        if (error != std::errc() || (end != corner.data() + corner.size() && *end != '/'))
          words.fail(fmt::format("expected a vertex of a face, found '{}'", one_line(corner)));
        const long size = static_cast<long>(mesh.vertices.size()),
                   place = number < 0 ? size + number : number - 1;
        if (place < 0 || place >= size)
          words.fail(fmt::format("the face uses vertex {}, but there are {}", number, size));
        face.push_back(static_cast<std::uint32_t>(place));
      }
      if (face.size() < 3) words.fail(fmt::format("a face of {} corners", face.size()));
      for (std::size_t k = 1; k + 1 < face.size(); ++k)  // a fan
        mesh.triangles.push_back({face[0], face[k], face[k + 1]});
      if (mesh.triangles.size() > kMostTriangles)
        words.fail(fmt::format("more than {} triangles", kMostTriangles));
    }
    // Everything else (normals, textures, groups, materials) does not change the shape.
  }
  if (mesh.triangles.empty()) throw Error({file_name, 0, 0}, "the file has no faces");
  return mesh;
}

Mesh read_mesh(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (ending != ".stl" && ending != ".obj")
    throw Error(
        fmt::format("meshes are read from .stl and .obj files, not from '{}'", path.filename().string()));
  std::error_code status;
  if (!std::filesystem::is_regular_file(path, status))
    throw Error(fmt::format("cannot open the mesh file '{}'", path.string()));
  const std::string bytes = read_file(path);
  return ending == ".stl" ? parse_stl(bytes, path.string()) : parse_obj(bytes, path.string());
}

}  // namespace lather::geometry
