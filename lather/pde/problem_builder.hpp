#pragma once
// Builds a Problem in C++; the reader of problem files uses it too.
//
//   ProblemBuilder b("burgers");
//   b.coordinate("x", -1, 1);
//   b.coordinate("t", 0, 1);
//   b.parameter("nu", 0.01 / std::numbers::pi);
//   const Expr u = b.field("u");
//   b.equation("momentum", b.D(u, "t") + u * b.D(u, "x") - b.parse("nu*u_xx"));
//   b.condition("initial", {b.face({{"t", 0}})}, b.parse("u + sin(pi*x)"));
//   b.condition("walls", {b.face({{"x", -1}}), b.face({{"x", 1}})}, u);
//   const Problem problem = b.build();

#include <utility>

#include "lather/pde/file/name_table.hpp"
#include "lather/pde/problem.hpp"

namespace lather::pde {

class ProblemBuilder {
 public:
  using Expr = symbolic::Expr;
  explicit ProblemBuilder(std::string name, std::string title = "");

  // Every function throws Error (at `where`, the place in a file) for names that are taken and values that
  // make no sense.
  Expr coordinate(const std::string& name, double low, double high, const SourceLocation& where = {});
  Expr parameter(const std::string& name, double value, const SourceLocation& where = {});
  Expr unknown(const std::string& name, double initial, std::optional<double> known_value = {},
               const SourceLocation& where = {});
  Expr output(const std::string& name, const SourceLocation& where = {});  // of the network
  Expr field(const std::string& name,
             const SourceLocation& where = {});  // an output of the network of the same name
  Expr field(const std::string& name, Expr ansatz, const SourceLocation& where = {});
  Expr let(const std::string& name, Expr meaning, const SourceLocation& where = {});
  Expr table(std::shared_ptr<const CoefficientTable> table, const SourceLocation& where = {});
  Expr physical(const std::string& name, Expr map,
                const SourceLocation& where = {});  // a function of the coordinates

  // The same as text, to be read by resolve(): names may be used before they are defined.
  void define(NameKind kind, const std::string& name, const SourceText& text,
              const SourceLocation& where = {});
  void resolve();

  Expr parse(const std::string& text) { return names_.parse({text, {}, {}}); }
  Expr parse(const SourceText& text) { return names_.parse(text); }
  double parse_number(const SourceText& text, std::string_view what) {
    return names_.parse_number(text, what);
  }
  Expr D(Expr e, const std::string& coordinate) { return names_.derivative(e, coordinate, {}); }

  // Coordinates held at a value, the others free. A value must lie within the domain.
  Piece face(const std::vector<std::pair<std::string, double>>& fixed,
             const SourceLocation& where = {}) const;

  // The loss is a sum of terms: weight times the mean of residual^2 over the interior, a part of the
  // boundary, or data. Several residuals give the terms NAME.1, NAME.2, …
  void equation(const std::string& name, const std::vector<Expr>& residuals, double weight = 1,
                const SourceLocation& where = {});
  void equation(const std::string& name, Expr residual, double weight = 1) {
    equation(name, std::vector{residual}, weight);
  }
  // The same in part of the interior, on a point set of its own with the equation's name.
  void equation_in(const std::string& name, const Piece& piece, const std::vector<Expr>& residuals,
                   double weight = 1, const SourceLocation& where = {});
  void condition(const std::string& name, const std::vector<Piece>& pieces,
                 const std::vector<Expr>& residuals, double weight = 1, const SourceLocation& where = {});
  void condition(const std::string& name, const std::vector<Piece>& pieces, Expr residual,
                 double weight = 1) {
    condition(name, pieces, std::vector{residual}, weight);
  }
  // `residuals` may use the columns by name, between begin_data and data.
  void begin_data(const std::vector<std::string>& columns, const SourceLocation& where = {});
  void data(const std::string& name, std::vector<std::string> columns, std::vector<std::vector<double>> rows,
            const std::vector<Expr>& residuals, double weight = 1, const SourceLocation& where = {});

  // Rows that are added up `group` at a time before they are squared; `columns` are symbols "data:NAME".
  void grouped(const std::string& name, std::vector<std::string> columns,
               std::vector<std::vector<double>> rows, std::size_t group, const std::vector<Expr>& residuals,
               double weight, const SourceLocation& where);

  // What the network is fed. By default every coordinate, mapped to [-1, 1].
  void periodic(const std::string& coordinate,
                const SourceLocation& where = {});  // cosines and sines instead
  void harmonics(int count) { harmonics_ = count; }
  void normalize(bool on) { normalize_ = on; }
  // Replaces all coordinates that are not periodic, and the periodic ones that it contains, in which it must
  // be periodic itself.
  void network_input(Expr input, const SourceLocation& where = {});
  bool feeds_cosines() const;  // of any coordinate, so harmonics matter

  void exact(const std::string& field, Expr value, const SourceLocation& where = {});

  // Shapes: the equations hold in the domain of `geometry`. After the coordinates, before the first equation.
  void geometry(std::shared_ptr<const Geometry> geometry);

  // What has been built so far; network options and reference may be set on it directly.
  Problem& problem() { return problem_; }
  NameTable& names() { return names_; }
  Problem build();

 private:
  int coordinate_index(const std::string& name, const SourceLocation& where) const;
  int point_set(PointSet set, const SourceLocation& where);
  void add_columns(PointSet& set, const std::vector<Expr>& residuals, const SourceLocation& where) const;
  void add_terms(const std::string& name, int point_set, const std::vector<Expr>& residuals, double weight,
                 const SourceLocation& where);
  void require_same_at_both_ends(Expr input, int coordinate, const SourceLocation& where) const;
  std::vector<Expr> default_inputs() const;

  Problem problem_;
  NameTable names_;
  std::vector<bool> periodic_, fed_by_inputs_;  // by coordinate
  int harmonics_ = 1;
  bool normalize_ = true;
  std::vector<Expr> inputs_;
};

}  // namespace lather::pde
