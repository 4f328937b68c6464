#pragma once
// What the names in the expressions of a problem mean: coordinates, physical coordinates (a map of the
// coordinates), fields, network outputs, parameters, unknowns and intermediate definitions, in whatever order
// they were written; and derivatives, as D(e, x, …) or by short names such as u_x, u_tt, psi_z1z2.

#include <functional>
#include <string>
#include <vector>

#include "lather/core/formats/toml.hpp"
#include "lather/pde/output_symbols.hpp"
#include "lather/symbolic/parser.hpp"

namespace lather::pde {

enum class NameKind { coordinate, physical, field, output, parameter, unknown, let, column, table };
std::string_view kind_name(NameKind kind);  // "coordinate", "network output", …
bool has_derivatives(NameKind kind);        // by short names such as u_x

class NameTable final : public symbolic::Scope {
 public:
  NameTable(symbolic::Graph& graph, OutputSymbols& symbols) : graph_(graph), symbols_(symbols) {}

  // A name whose meaning is known. Throws Error for a name that is taken, reserved or not a name.
  void declare(NameKind kind, const std::string& name, symbolic::Expr meaning, const SourceLocation& where);
  // A name whose meaning is a text, read by resolve().
  void define(NameKind kind, const std::string& name, const SourceText& text, const SourceLocation& where);
  // Reads all definitions in an order that works, whatever order they were given in. Throws Error, naming the
  // cycle, if definitions depend on each other. Checks that no name reads as a derivative of another.
  void resolve();
  // Forgets a name again: columns of data are known only to their own residual.
  void remove(const std::string& name);

  // An expression in anything that is declared.
  symbolic::Expr parse(const SourceText& text);
  // A number: an expression in numbers and parameters. `what` names it in errors.
  double parse_number(const SourceText& text, std::string_view what);

  symbolic::Expr name(std::string_view name, const SourceLocation& where) override;
  symbolic::Expr derivative(symbolic::Expr e, std::string_view direction,
                            const SourceLocation& where) override;

  SourceLocation where(std::string_view name) const;  // where a name was introduced
  bool knows(std::string_view name) const { return find(name) || !readings(name).empty(); }
  bool is_unknown(std::string_view name) const {  // one that is trained
    const Entry* entry = find(name);
    return entry && entry->kind == NameKind::unknown;
  }

  // What distance(NAME) means; if not set, using it is an error.
  using Distance = std::function<symbolic::Expr(std::string_view, const SourceLocation&)>;
  void set_distance(Distance distance) { distance_ = std::move(distance); }
  symbolic::Expr distance(std::string_view name, const SourceLocation& where) override;

  // Throws Error unless `e` is made of coordinates and numbers (and unknowns, if allowed).
  void require_coordinates_only(symbolic::Expr e, bool unknowns_allowed, const SourceLocation& where,
                                std::string_view what) const;

 private:
  struct Entry {
    NameKind kind;
    std::string name;
    SourceLocation where;
    SourceText text;
    symbolic::Expr meaning;  // empty until resolved
  };
  struct Derivative {
    const Entry* of;
    std::vector<const Entry*> directions;
  };

  Entry* find(std::string_view name);
  const Entry* find(std::string_view name) const { return const_cast<NameTable*>(this)->find(name); }
  void check_new_name(NameKind kind, const std::string& name, const SourceLocation& where) const;
  // All ways to read a name as a derivative; two at most, since more than one is ambiguous.
  std::vector<Derivative> readings(std::string_view name) const;
  std::vector<std::size_t> needs(const Entry& entry) const;
  void resolve_entry(Entry& entry);
  symbolic::Expr parse_with(const SourceText& text, bool parameters_only, std::string_view what);
  symbolic::Expr coordinate_derivative(symbolic::Expr e, int coordinate, const SourceLocation& where);
  symbolic::Expr physical_derivative(symbolic::Expr e, std::size_t physical, const SourceLocation& where);
  void invert_map(const SourceLocation& where);
  [[noreturn]] void unknown_name(std::string_view name, const SourceLocation& where) const;

  symbolic::Graph& graph_;
  OutputSymbols& symbols_;
  std::vector<Entry> entries_;
  bool parameters_only_ = false;
  std::string context_;  // what is being parsed, for errors
  // inverse_[i][j] = d coordinate (map_coordinates_[j]) / d physical i
  std::vector<std::vector<symbolic::Expr>> inverse_;
  std::vector<int> map_coordinates_;
  Distance distance_;
};

}  // namespace lather::pde
