#pragma once
// From text to expression. The language: numbers, names, + - * / ^ (also **),
// parentheses, calls of known_functions(), if(a < b, c, d), distance(shape), and
// D(e, x, …), the total derivative of any expression. What a name means is up to
// the Scope.

#include <string>
#include <string_view>
#include <vector>

#include "lather/core/error.hpp"
#include "lather/symbolic/expression.hpp"

namespace lather::symbolic {

class Scope {
 public:
  virtual ~Scope() = default;
  // The meaning of a name. Throws Error (with `where`) if there is none.
  virtual Expr name(std::string_view name, const SourceLocation& where) = 0;
  // D(e, direction). Throws Error if derivatives make no sense here or the direction is unknown.
  virtual Expr derivative(Expr e, std::string_view direction, const SourceLocation& where) = 0;
  // distance(name): of the shape with that name. Throws Error unless there are shapes.
  virtual Expr distance(std::string_view /*name*/, const SourceLocation& where) {
    throw Error(where, "distance() has no meaning here");
  }
};

// `where` is the text's place in a file; error columns count from its first character.
// Throws Error with the exact place for anything that is not an expression.
Expr parse(std::string_view text, Graph& graph, Scope& scope, const SourceLocation& where = {});

// A number given as text, such as "0.01/pi": constants and functions only.
double parse_number(std::string_view text, const SourceLocation& where = {});

}  // namespace lather::symbolic
