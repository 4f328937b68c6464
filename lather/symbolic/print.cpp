// Readable text of an expression; the parser reads it back (jet symbols excepted).
#include <fmt/format.h>

#include "lather/symbolic/expression.hpp"

namespace lather::symbolic {

namespace {

enum Precedence { kSum = 0, kProduct = 1, kPower = 2 };

std::string number(double value) { return fmt::format("{}", value); }

std::string text(Expr e, int surrounding);

std::string power_text(Expr base, double exponent) {
  if (exponent == 1) return text(base, kPower);
  if (exponent == 0.5) return "sqrt(" + text(base, kSum) + ")";
  return text(base, kPower) + "^" + (exponent < 0 ? "(" + number(exponent) + ")" : number(exponent));
}

std::string text(Expr e, int surrounding) {
  const Node& n = e.node();
  switch (n.kind) {
    case Kind::constant:
      return n.constant < 0 && surrounding > kSum ? "(" + number(n.constant) + ")" : number(n.constant);
    case Kind::symbol: return n.name;
    case Kind::sum: {
      std::string out;
      for (std::size_t i = 0; i < n.arguments.size(); ++i) {
        const double c = n.coefficients[i];
        if (c < 0)
          out += i ? " - " : "-";
        else if (i)
          out += " + ";
        if (std::abs(c) != 1) out += number(std::abs(c)) + "*";
        out += text(n.arguments[i], kProduct);
      }
      if (n.constant != 0) out += (n.constant < 0 ? " - " : " + ") + number(std::abs(n.constant));
      return surrounding > kSum ? "(" + out + ")" : out;
    }
    case Kind::product: {
      std::string above, below;
      for (std::size_t i = 0; i < n.arguments.size(); ++i) {
        const double exponent = n.coefficients[i];
        std::string& side = exponent > 0 ? above : below;
        if (!side.empty()) side += exponent > 0 ? "*" : "/";
        side += power_text(n.arguments[i], std::abs(exponent));
      }
      std::string out = (above.empty() ? "1" : above) + (below.empty() ? "" : "/" + below);
      return surrounding > kProduct ? "(" + out + ")" : out;
    }
    default: {
      std::string out = std::string(function_name(n.kind)) + "(";
      for (std::size_t i = 0; i < n.arguments.size(); ++i)
        out += (i ? ", " : "") + text(n.arguments[i], kSum);
      return out + ")";
    }
  }
}

}  // namespace

std::string Expr::str() const { return node_ ? text(*this, kSum) : "(empty)"; }

}  // namespace lather::symbolic
