#include "lather/pde/file/sections/read_where.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lather/pde/engine/compiled_point_set.hpp"
#include "lather/pde/file/sections/read_shapes.hpp"
#include "lather/pde/file/source_parts.hpp"
#include "lather/pde/sampling/region.hpp"
#include "lather/symbolic/machine/machine.hpp"

namespace lather::pde {

using symbolic::Expr;

namespace {

// What one part of a union is made of.
struct Conjunction {
  std::vector<std::pair<std::string, double>> fixed;
  std::vector<SourceText> fixed_at;
  std::string boundary_of;  // a shape; empty: none
  std::vector<Filter> filters;
  geometry::Box bounds = geometry::Box::everything();
};

Filter both(const Filter& a, const Filter& b, bool conjunction) {
  return [=](const Points& points) {
    auto left = a(points);
    const auto right = b(points);
    for (std::size_t i = 0; i < left.size(); ++i)
      left[i] = conjunction ? left[i] && right[i] : left[i] || right[i];
    return left;
  };
}

class WhereReader {
 public:
  WhereReader(ProblemBuilder& builder, const SourceText& whole) : builder_(builder), whole_(whole) {}

  std::vector<Piece> read() {
    if (constexpr std::size_t kLongest = 2000; whole_.text.size() > kLongest)
      throw Error(whole_.place(0), fmt::format("`where` has more than {} characters", kLongest));
    std::vector<Piece> pieces;
    for (const auto& part : split_at_word(whole_, "or")) pieces.push_back(piece_of(part));
    return pieces;
  }

  Piece plain_with_region(Piece piece, const SourceText& text) {
    return with_region_of(std::move(piece), {}, text);
  }

 private:
  Piece piece_of(const SourceText& text) {
    Conjunction all;
    for (const auto& by_and : split_at_word(text, "and"))
      for (const auto& factor : split(by_and, ',')) add(factor, all);
    const bool plain = all.boundary_of.empty() && all.filters.empty() && !builder_.problem().geometry;
    Piece piece(builder_.problem().domain.size(), std::numeric_limits<double>::quiet_NaN());
    if (all.boundary_of.empty()) {
      piece = builder_.face(all.fixed, text.place(0));
    } else {
      // On a boundary an equality in a spatial coordinate chooses points; one in another coordinate fixes it.
      std::vector<std::pair<std::string, double>> others;
      for (const auto& [name, value] : all.fixed) {
        const auto& space = surroundings(text)->names;
        if (std::find(space.begin(), space.end(), name) == space.end())
          others.emplace_back(name, value);
        else
          all.filters.push_back(equality(name, value));
      }
      piece = builder_.face(others, text.place(0));
    }
    return plain ? piece : with_region_of(std::move(piece), all, text);
  }

  Piece with_region_of(Piece piece, const Conjunction& all, const SourceText& text) {
    const auto known = surroundings(text);
    const bool boundary = !all.boundary_of.empty();
    const geometry::ShapePtr shape = boundary ? known->shapes.at(all.boundary_of) : known->domain;
    Filter filter;
    for (const auto& next : all.filters) filter = filter ? both(filter, next, true) : next;
    try {
      const auto region =
          std::make_shared<Region>(known, boundary ? Region::Carrier::boundary : Region::Carrier::inside,
                                   shape, filter, all.bounds.meet(known->domain->bounds()), text.text);
      region->measure(builder_.problem().domain, piece);
      piece.region = region;
    } catch (const Error& error) {
      if (error.where().line > 0) throw;
      throw Error(text.place(0), error.message());
    }
    return piece;
  }

  std::shared_ptr<const Geometry> surroundings(const SourceText& text) {
    if (builder_.problem().geometry) return builder_.problem().geometry;
    if (!box_) box_ = box_geometry(builder_.problem(), text.place(0));
    return box_;
  }

  // A factor at the top level: it may carry the points.
  void add(const SourceText& factor, Conjunction& all) {
    if (const auto name = boundary_name(factor); !name.empty()) {
      if (!all.boundary_of.empty())
        throw Error(factor.place(0), "two boundaries meet in corners only; join them by 'or'");
      all.boundary_of = name;
      return;
    }
    if (const auto shape = inside_name(factor); shape) all.bounds = all.bounds.meet(shape->bounds());
    const auto sides = split(factor, '=');
    const bool is_equality = sides.size() == 2 && factor.text.find_first_of("<>!") == std::string::npos &&
                             !is_in_parentheses(factor.text) && split_at_word(factor, "not").size() == 1;
    if (!is_equality) {
      all.filters.push_back(filter_of(factor));
      return;
    }
    if (sides[0].text.empty() || sides[1].text.empty())
      throw Error(factor.place(0),
                  fmt::format("expected an equality such as t = 0, found '{}'", factor.text));
    all.fixed.emplace_back(sides[0].text,
                           builder_.parse_number(sides[1], fmt::format("the value of {}", sides[0].text)));
    builder_.face({all.fixed.back()}, sides[0].place(0));  // to blame the right coordinate
  }

  // The shape in "boundary of NAME"; "domain" for "boundary" and "sdf = 0"; empty: something else.
  std::string boundary_name(const SourceText& text) {
    const auto sides = split(text, '=');
    if (sides.size() == 2 && sides[0].text == "sdf" && sides[1].text == "0") return "domain";
    if (text.text == "boundary") return "domain";
    if (!text.text.starts_with("boundary ")) return "";
    const SourceText rest = part_of(text, 9, text.text.size());
    if (!rest.text.starts_with("of "))
      throw Error(rest.place(0), fmt::format("expected 'boundary of NAME', found '{}'", text.text));
    return known_shape(part_of(rest, 3, rest.text.size())).first;
  }

  geometry::ShapePtr inside_name(const SourceText& text) {
    if (!text.text.starts_with("inside ")) return nullptr;
    return known_shape(part_of(text, 7, text.text.size())).second;
  }

  std::pair<std::string, geometry::ShapePtr> known_shape(const SourceText& name) {
    const auto known = surroundings(name);
    const auto found = known->shapes.find(name.text);
    if (found != known->shapes.end()) return *found;
    std::vector<std::string> names;
    for (const auto& [n, shape] : known->shapes) names.push_back(n);
    throw Error(name.place(0), unknown_name_message("shape", name.text, names) +
                                   (builder_.problem().geometry ? "" : "; shapes are named in [shape]"));
  }

  Filter filter_of(const SourceText& text) {
    if (const auto any = split_at_word(text, "or"); any.size() > 1) {
      Filter result = filter_of(any[0]);
      for (std::size_t i = 1; i < any.size(); ++i) result = both(result, filter_of(any[i]), false);
      return result;
    }
    if (const auto all = split_at_word(text, "and"); all.size() > 1) {
      Filter result = filter_of(all[0]);
      for (std::size_t i = 1; i < all.size(); ++i) result = both(result, filter_of(all[i]), true);
      return result;
    }
    if (text.text.starts_with("not ") || text.text.starts_with("not(")) {
      const Filter inner = filter_of(part_of(text, 3, text.text.size()));
      return [inner](const Points& points) {
        auto holds = inner(points);
        for (char& h : holds) h = !h;
        return holds;
      };
    }
    if (is_in_parentheses(text.text)) return filter_of(part_of(text, 1, text.text.size() - 1));
    if (const auto shape = inside_name(text))
      return by_distance(
          shape, [](double s, double) { return s > 0; }, text);
    if (const auto name = boundary_name(text); !name.empty())
      return by_distance(
          surroundings(text)->shapes.at(name),
          [](double s, double tolerance) { return std::abs(s) <= tolerance; }, text);
    return comparison(text);
  }

  Filter by_distance(const geometry::ShapePtr& shape, bool (*test)(double, double), const SourceText& text) {
    return [shape, test, known = surroundings(text)](const Points& points) {
      std::vector<char> holds(points.count());
      for (std::size_t i = 0; i < holds.size(); ++i)
        holds[i] = test(shape->signed_distance(known->place(points, i)), known->tolerance());
      return holds;
    };
  }

  Filter equality(const std::string& name, double value) {
    const auto& names = builder_.problem().symbols->coordinate_names();
    const auto k = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    const auto [low, high] = builder_.problem().domain[k];
    return [k, value, near = 1e-9 * (high - low)](const Points& points) {
      std::vector<char> holds(points.count());
      for (std::size_t i = 0; i < holds.size(); ++i)
        holds[i] = std::abs(points.coordinates[k][i] - value) <= near;
      return holds;
    };
  }

  Filter comparison(const SourceText& text) {
    const std::size_t at = text.text.find_first_of("<>=");
    if (at == std::string::npos)
      throw Error(
          text.place(0),
          fmt::format("expected an equality such as t = 0, an inequality, boundary, boundary of NAME or "
                      "inside NAME, found '{}'",
                      text.text));
    if (text.text[at] == '=') {  // within "not" or parentheses
      const SourceText name = part_of(text, 0, at), value = part_of(text, at + 1, text.text.size());
      const double number = builder_.parse_number(value, fmt::format("the value of {}", name.text));
      builder_.face({{name.text, number}}, name.place(0));
      return equality(name.text, number);
    }
    const bool or_equal = at + 1 < text.text.size() && text.text[at + 1] == '=';
    const bool less = text.text[at] == '<';
    const SourceText left = part_of(text, 0, at),
                     right = part_of(text, at + (or_equal ? 2 : 1), text.text.size());
    if (right.text.find_first_of("<>=") != std::string::npos)
      throw Error(right.place(0), "one comparison at a time: join several by 'and'");
    auto& names = builder_.names();
    const bool own_sdf = names.knows("sdf");
    if (!own_sdf) builder_.begin_data({"sdf"}, text.place(0));
    const Expr difference = [&] {
      try {
        return less ? builder_.parse(right) - builder_.parse(left)
                    : builder_.parse(left) - builder_.parse(right);
      } catch (...) {
        if (!own_sdf) names.remove("sdf");
        throw;
      }
    }();
    if (!own_sdf) names.remove("sdf");
    return compiled(difference, or_equal, text);
  }

  // difference > 0, or >= 0
  Filter compiled(Expr difference, bool or_equal, const SourceText& text) {
    std::vector<Expr> inputs;
    for (std::size_t k = 0; k < builder_.problem().domain.size(); ++k)
      inputs.push_back(builder_.problem().symbols->coordinate(static_cast<int>(k)));
    const Expr sdf = column_symbol(*builder_.problem().graph, "sdf");
    inputs.push_back(sdf);
    for (Expr s : symbolic::symbols_of(std::span(&difference, 1)))
      if (std::find(inputs.begin(), inputs.end(), s) == inputs.end())
        throw Error(text.place(0),
                    fmt::format("'{}' may depend on coordinates, parameters and sdf only", text.text));
    const auto used = symbolic::symbols_of(std::span(&difference, 1));
    const bool needs_sdf = std::find(used.begin(), used.end(), sdf) != used.end();
    const auto known = needs_sdf ? surroundings(text) : nullptr;
    const auto program =
        std::make_shared<symbolic::Program>(symbolic::compile(std::span(&difference, 1), inputs));
    return [=](const Points& points) {
      Points filled = points;
      filled.columns.clear();
      const std::vector<std::string> column{"sdf"};
      if (known)
        fill_columns(*known, filled, column);
      else
        filled.columns.emplace_back(points.count());
      std::vector<const double*> in;
      for (const auto& c : filled.coordinates) in.push_back(c.data());
      in.push_back(filled.columns[0].data());
      std::vector<double> value(points.count());
      double* out = value.data();
      symbolic::Machine<double>(*program).run(value.size(), in, std::span<double* const>(&out, 1));
      std::vector<char> holds(value.size());
      for (std::size_t i = 0; i < holds.size(); ++i) holds[i] = or_equal ? value[i] >= 0 : value[i] > 0;
      return holds;
    };
  }

  ProblemBuilder& builder_;
  SourceText whole_;
  std::shared_ptr<const Geometry> box_;
};

}  // namespace

std::vector<Piece> read_where(const SourceText& text, ProblemBuilder& builder) {
  return WhereReader(builder, text).read();
}

Piece with_region(Piece piece, const SourceText& text, ProblemBuilder& builder) {
  return WhereReader(builder, text).plain_with_region(std::move(piece), text);
}

}  // namespace lather::pde
