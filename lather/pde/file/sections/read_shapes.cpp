#include "lather/pde/file/sections/read_shapes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "lather/core/rng.hpp"
#include "lather/core/whole_number.hpp"
#include "lather/geometry/mesh.hpp"
#include "lather/geometry/primitives.hpp"
#include "lather/pde/file/problem_tables.hpp"
#include "lather/pde/file/source_parts.hpp"
#include "lather/symbolic/evaluate.hpp"

namespace lather::pde {

using geometry::Point;
using geometry::ShapePtr;

namespace {

// shape  := term (('+'|'-') term)*
// term   := factor ('&' factor)*
// factor := '~' factor | '(' shape ')' | call | name
class ShapeReader {
 public:
  ShapeReader(const TomlValue& table, int dimension, std::filesystem::path folder,
              std::filesystem::path kept_files, ProblemBuilder& builder)
      : table_(table),
        dimension_(dimension),
        folder_(std::move(folder)),
        kept_files_(std::move(kept_files)),
        builder_(builder) {}

  ShapePtr named(const SourceText& name) {
    if (const auto known = shapes_.find(name.text); known != shapes_.end()) {
      if (!known->second) throw Error(name.where, fmt::format("the shape '{}' is made of itself", name.text));
      return known->second;
    }
    const TomlValue* value = table_.find(name.text);
    if (!value || name.text == "coordinates") {
      std::vector<std::string> names;
      for (const auto& entry : table_.entries)
        if (entry.key != "coordinates") names.push_back(entry.key);
      throw Error(name.where, unknown_name_message("shape", name.text, names));
    }
    shapes_[name.text] = nullptr;  // being read
    return shapes_[name.text] = shape(value->as_text(fmt::format("the shape '{}'", name.text)));
  }
  const std::map<std::string, ShapePtr>& shapes() const { return shapes_; }

 private:
  struct Deeper {
    Deeper(ShapeReader& r, const SourceText& text) : reader(r) {
      if (text.text.empty()) throw Error(text.where, "expected a shape, found nothing");
      if (text.text.size() > 20'000) throw Error(text.where, "a shape of more than 20,000 characters");
      if (reader.depth_ >= 100) throw Error(text.where, "shapes are nested more than 100 levels deep");
      ++reader.depth_;
    }
    ~Deeper() { --reader.depth_; }
    ShapeReader& reader;
  };

  ShapePtr shape(const SourceText& text) {
    const Deeper deeper(*this, text);
    ShapePtr result;
    std::vector<ShapePtr> operands;  // a run of one operation: one union or difference of many
    char operation = '+', next_operation = '+';
    std::size_t begin = 0;
    int depth = 0;
    const auto apply = [&] {
      auto run = std::exchange(operands, {});
      if (operation == '-') return result = subtract(result, std::move(run));
      if (result) run.insert(run.begin(), result);
      return result = unite(run);
    };
    for (std::size_t i = 0; i <= text.text.size(); ++i) {
      const char c = i < text.text.size() ? text.text[i] : '+';
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (i < text.text.size() && (depth != 0 || (c != '+' && c != '-') || i == 0)) continue;
      const ShapePtr next = term(part_of(text, begin, i));
      at(text.place(begin), [&] {
        if (next_operation != operation) apply();
        operation = next_operation;
        add(next, operands, result);
        return i == text.text.size() ? apply() : next;
      });
      next_operation = c;
      begin = i + 1;
    }
    return result;
  }

  ShapePtr term(const SourceText& text) {
    std::vector<ShapePtr> operands;
    const auto factors = split(text, '&');
    for (const auto& f : factors) {
      const ShapePtr next = factor(f);
      at(f.where, [&] { return add(next, operands, nullptr); });
    }
    return at(text.where, [&] { return geometry::intersect(operands); });
  }

  // One more operand; an error about it is that of its place.
  static ShapePtr add(const ShapePtr& next, std::vector<ShapePtr>& operands, const ShapePtr& result) {
    if (const ShapePtr& first = result ? result : operands.empty() ? next : operands[0])
      geometry::require_same_dimension(*first, *next);
    operands.push_back(next);
    return next;
  }

  ShapePtr factor(const SourceText& text) {
    const Deeper deeper(*this, text);
    if (text.text[0] == '~') return geometry::complement(factor(part_of(text, 1, text.text.size())));
    if (is_in_parentheses(text.text)) return shape(part_of(text, 1, text.text.size() - 1));
    const auto open = text.text.find('(');
    if (open == std::string::npos) return named(text);
    const SourceText name = part_of(text, 0, open);
    if (text.text.back() != ')')
      throw Error(text.where, fmt::format("expected a shape such as disk([0, 0], 1), found '{}'", text.text));
    auto arguments = split(part_of(text, open + 1, text.text.size() - 1), ',');
    return at(text.where, [&] { return call(name, arguments); });
  }

  // Errors from the geometry have no place; they get that of the call.
  template <class F>
  static ShapePtr at(const SourceLocation& where, const F& make) {
    try {
      return make();
    } catch (const Error& error) {
      if (!error.where().file.empty() || error.where().line > 0) throw;
      throw Error(where, error.message());
    }
  }

  double number(const SourceText& text) { return builder_.parse_number(text, "a number of a shape"); }
  std::int64_t whole(const SourceText& text, std::string_view what, std::int64_t most) {
    const double value = number(text);
    const auto count = whole_number(value);
    if (!count || *count < 1 || *count > most)
      throw Error(text.where, fmt::format("{} must be a whole number in [1, {}], not {}", what, most, value));
    return *count;
  }
  Point vector(const SourceText& text, int size) {
    const bool brackets = text.text.size() >= 2 && text.text.front() == '[' && text.text.back() == ']';
    const auto parts = brackets ? split(part_of(text, 1, text.text.size() - 1), ',') : std::vector{text};
    if ((!brackets && size > 1) || static_cast<int>(parts.size()) != size)
      throw Error(text.where, fmt::format("expected {} numbers in brackets, such as [{}], found '{}'", size,
                                          size == 3 ? "0, 0, 1" : "0, 1", text.text));
    Point p{};
    for (int k = 0; k < size; ++k) p[k] = number(parts[k]);
    return p;
  }
  std::vector<Point> corners(const std::vector<SourceText>& arguments) {
    std::vector<Point> list;
    for (const auto& a : arguments) list.push_back(vector(a, 2));
    return list;
  }

  struct Function {
    std::string_view usage;  // as it is called, for messages
    int dimension;           // of the result; 0: of its arguments
    std::size_t least, most;
    std::function<ShapePtr(const std::vector<SourceText>&)> make;
  };
  const std::map<std::string, Function>& functions() {
    using Arguments = const std::vector<SourceText>&;
    constexpr std::size_t kMany = 2000;
    if (!functions_.empty()) return functions_;
    functions_ = {
        {"interval",
         {"interval(low, high)", 1, 2, 2,
          [this](Arguments a) { return geometry::box(1, {number(a[0])}, {number(a[1])}); }}},
        {"rectangle",
         {"rectangle([x, y], [x, y])", 2, 2, 2,
          [this](Arguments a) { return geometry::box(2, vector(a[0], 2), vector(a[1], 2)); }}},
        {"box",
         {"box([x, y, z], [x, y, z])", 3, 2, 2,
          [this](Arguments a) { return geometry::box(3, vector(a[0], 3), vector(a[1], 3)); }}},
        {"channel",
         {"channel(low corner, high corner)", 0, 2, 2,
          [this](Arguments a) {
            return geometry::channel(dimension_, vector(a[0], dimension_), vector(a[1], dimension_));
          }}},
        {"disk",
         {"disk([x, y], radius)", 2, 2, 2,
          [this](Arguments a) { return geometry::ball(2, vector(a[0], 2), number(a[1])); }}},
        {"ball",
         {"ball([x, y, z], radius)", 3, 2, 2,
          [this](Arguments a) { return geometry::ball(3, vector(a[0], 3), number(a[1])); }}},
        {"ellipse",
         {"ellipse([x, y], half_x, half_y)", 2, 3, 3,
          [this](Arguments a) { return geometry::ellipse(vector(a[0], 2), number(a[1]), number(a[2])); }}},
        {"polygon",
         {"polygon([x, y], [x, y], ...)", 2, 3, kMany,
          [this](Arguments a) { return geometry::polygon(corners(a)); }}},
        {"triangle",
         {"triangle([x, y], [x, y], [x, y])", 2, 3, 3,
          [this](Arguments a) { return geometry::polygon(corners(a)); }}},
        {"half_space",
         {"half_space(point, outward direction)", 0, 2, 2,
          [this](Arguments a) {
            return geometry::half_space(dimension_, vector(a[0], dimension_), vector(a[1], dimension_));
          }}},
        {"cylinder",
         {"cylinder([x, y, z], radius, height)", 3, 3, 3,
          [this](Arguments a) { return geometry::cylinder(vector(a[0], 3), number(a[1]), number(a[2])); }}},
        {"cone",
         {"cone([x, y, z], base radius, top radius, height)", 3, 4, 4,
          [this](Arguments a) {
            return geometry::cone(vector(a[0], 3), number(a[1]), number(a[2]), number(a[3]));
          }}},
        {"torus",
         {"torus([x, y, z], ring radius, tube radius)", 3, 3, 3,
          [this](Arguments a) { return geometry::torus(vector(a[0], 3), number(a[1]), number(a[2])); }}},
        {"extrude",
         {"extrude(shape of the plane, low, high)", 3, 3, 3,
          [this](Arguments a) { return geometry::extrude(flat(a[0]), number(a[1]), number(a[2])); }}},
        {"revolve",
         {"revolve([r, z], [r, z], ...)", 3, 3, kMany,
          [this](Arguments a) { return geometry::revolve(corners(a)); }}},
        {"mesh", {"mesh('file.stl')", 3, 1, 1, [this](Arguments a) { return mesh(a[0]); }}},
        {"translate",
         {"translate(shape, vector)", 0, 2, 2,
          [this](Arguments a) {
            const ShapePtr s = shape(a[0]);
            return geometry::translate(s, vector(a[1], s->dimension()));
          }}},
        {"rotate",
         {"rotate(shape, angle, about, axis)", 0, 2, 4,
          [this](Arguments a) {
            const ShapePtr s = shape(a[0]);
            return geometry::rotate(s, number(a[1]), a.size() > 2 ? vector(a[2], s->dimension()) : Point{},
                                    a.size() > 3 ? vector(a[3], 3) : Point{0, 0, 1});
          }}},
        {"scale",
         {"scale(shape, factor, about)", 0, 2, 3,
          [this](Arguments a) {
            const ShapePtr s = shape(a[0]);
            return geometry::scale(s, number(a[1]), a.size() > 2 ? vector(a[2], s->dimension()) : Point{});
          }}},
        {"repeat",
         {"repeat(shape, step, copies)", 0, 3, 3,
          [this](Arguments a) {
            const ShapePtr s = shape(a[0]);
            const auto copies = whole(a[2], "the number of copies", geometry::kMostCopies);
            return geometry::repeat(s, vector(a[1], s->dimension()), copies);
          }}},
    };
    return functions_;
  }

  ShapePtr call(const SourceText& name, const std::vector<SourceText>& arguments) {
    const auto found = functions().find(name.text);
    if (found == functions().end()) {
      std::vector<std::string> names;
      for (const auto& [known, f] : functions()) names.push_back(known);
      throw Error(name.where, unknown_name_message("shape", name.text, names));
    }
    const Function& f = found->second;
    if (arguments.size() < f.least || arguments.size() > f.most)
      throw Error(name.where,
                  fmt::format("{} has {} arguments: write {}", name.text, arguments.size(), f.usage));
    const int within = flat_ ? 2 : dimension_;
    if (f.dimension != 0 && f.dimension != within)
      throw Error(name.where,
                  fmt::format("{} is a shape of {} dimension{}, but the shapes here have {}{}", name.text,
                              f.dimension, f.dimension > 1 ? "s" : "", within,
                              flat_ ? " (what is extruded)" : " (the coordinates that are not time)"));
    return f.make(arguments);
  }

  // The argument of extrude is a shape in the plane.
  ShapePtr flat(const SourceText& text) {
    const int dimension = std::exchange(dimension_, 2);
    flat_ = true;
    ShapePtr plane = shape(text);
    flat_ = false;
    dimension_ = dimension;
    return plane;
  }

  ShapePtr mesh(const SourceText& text) {
    const std::string& t = text.text;
    if (t.size() < 3 || (t.front() != '\'' && t.front() != '"') || t.back() != t.front())
      throw Error(text.where, "mesh takes the name of a file in quotes: mesh('body.stl')");
    const std::filesystem::path name(t.substr(1, t.size() - 2));
    const auto path = kept_files_.empty() ? folder_ / name : kept_files_ / name.filename();
    builder_.problem().files.push_back(path.string());
    return geometry::mesh_shape(geometry::read_mesh(path), name.filename().string());
  }

  const TomlValue& table_;
  int dimension_;
  bool flat_ = false;
  int depth_ = 0;
  std::filesystem::path folder_, kept_files_;
  ProblemBuilder& builder_;
  std::map<std::string, ShapePtr> shapes_;
  std::map<std::string, Function> functions_;
};

}  // namespace

std::vector<int> space_coordinates(const std::vector<std::string>& names) {
  std::vector<int> space;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (names[k] != "t" && names[k] != "time" && names[k] != "tau") space.push_back(static_cast<int>(k));
  return space;
}

std::shared_ptr<const Geometry> box_geometry(const Problem& problem, const SourceLocation& where) {
  auto geometry = std::make_shared<Geometry>();
  const auto& names = problem.symbols->coordinate_names();
  geometry->coordinates = space_coordinates(names);
  const auto d = static_cast<int>(geometry->coordinates.size());
  if (d < 1 || d > 3)
    throw Error(where,
                fmt::format("boundaries and distances need 1 to 3 coordinates of space, there are {}", d));
  Point low{}, high{};
  for (int k = 0; k < d; ++k) {
    geometry->names.push_back(names[geometry->coordinates[k]]);
    low[k] = problem.domain[geometry->coordinates[k]].low;
    high[k] = problem.domain[geometry->coordinates[k]].high;
  }
  geometry->domain = geometry->shapes["domain"] = geometry::box(d, low, high);
  return geometry;
}

std::shared_ptr<Geometry> read_shapes(const TomlValue& root, const std::vector<SourceText>& coordinates,
                                      const std::filesystem::path& folder,
                                      const std::filesystem::path& kept_files, ProblemBuilder& builder) {
  if (!root.find("shape")) return nullptr;
  const TomlValue& table = problem_section(root, "shape");
  std::vector<std::string> names;
  for (const auto& c : coordinates) names.push_back(c.text);
  auto result = std::make_shared<Geometry>();
  result->coordinates = space_coordinates(names);
  if (const TomlValue* chosen = table.find("coordinates")) {
    result->coordinates.clear();
    for (const auto& name : chosen->as_texts("coordinates")) {
      const auto found = std::find(names.begin(), names.end(), name.text);
      if (found == names.end()) throw Error(name.where, unknown_name_message("coordinate", name.text, names));
      result->coordinates.push_back(static_cast<int>(found - names.begin()));
    }
  }
  const auto d = static_cast<int>(result->coordinates.size());
  if (d < 1 || d > 3)
    throw Error(table.where,
                fmt::format("shapes have 1 to 3 coordinates; here they would have {}: name them, as in "
                            "coordinates = [\"x\", \"y\"]",
                            d));
  for (const int k : result->coordinates) result->names.push_back(names[k]);
  ShapeReader reader(table, d, folder, kept_files, builder);
  for (const auto& entry : table.entries)
    if (entry.key != "coordinates") reader.named({entry.key, entry.where, {}});
  result->shapes = reader.shapes();
  const TomlValue& domain = table.required("domain", "[shape]");
  result->domain = result->shapes.at("domain");
  const auto box = result->domain->bounds();
  if (result->domain->dimension() != d || !box.finite(d))
    throw Error(domain.where, "the domain must be bounded: intersect it (&) with a bounded shape");
  if (box.empty(d)) throw Error(domain.where, "the domain is empty");
  return result;
}

symbolic::Expr smooth_distance_to(const Problem& problem, const Geometry& geometry, std::string_view name,
                                  const SourceLocation& where) {
  const auto found = geometry.shapes.find(std::string(name));
  if (found == geometry.shapes.end()) {
    std::vector<std::string> names;
    for (const auto& [known, shape] : geometry.shapes) names.push_back(known);
    throw Error(where, unknown_name_message("shape", name, names));
  }
  geometry::Coordinates x;
  for (std::size_t k = 0; k < geometry.coordinates.size(); ++k)
    x[k] = problem.symbols->coordinate(geometry.coordinates[k]);
  try {
    const symbolic::Expr smooth = found->second->smooth_distance(x);
    if (found->second == geometry.domain) return smooth;
    const auto box = geometry.domain->bounds();
    const Random random(1, 0);
    int inside = 0, outside = 0;
    for (std::uint64_t i = 0; i < 20'000 && inside + outside < 200; ++i) {
      Point p{};
      for (std::size_t k = 0; k < geometry.coordinates.size(); ++k)
        p[k] = random.uniform(3 * i + k, box.low[k], box.high[k]);
      if (!geometry.domain->contains(p)) continue;
      ++(found->second->contains(p) ? inside : outside);
    }
    return inside >= outside ? smooth : -smooth;
  } catch (const Error& error) {
    if (error.where().line > 0) throw;
    throw Error(where, error.message());
  }
}

}  // namespace lather::pde
