#pragma once
// Exact differentiation. A derivation is linear and obeys the product and chain
// rules, so it is known once its values on the symbols are known: that covers partial
// derivatives, total derivatives through an ansatz, and jets, with one set of rules.

#include <functional>

#include "lather/symbolic/expression.hpp"

namespace lather::symbolic {

// The derivation with the given value on each symbol (an empty Expr counts as zero).
using SymbolDerivative = std::function<Expr(Expr symbol)>;
Expr differentiate(Expr e, const SymbolDerivative& of_symbol);
std::vector<Expr> differentiate(std::span<const Expr> list, const SymbolDerivative& of_symbol);

// Partial derivative with respect to one symbol.
Expr differentiate(Expr e, Expr symbol);

}  // namespace lather::symbolic
