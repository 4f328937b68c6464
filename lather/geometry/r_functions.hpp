#pragma once
// R-functions (Rvachev): logic on functions that are positive inside. Where both are first-order distances,
// so is the result, except at corners:
//   and  a + b - sqrt(a^2 + b^2)        or  a + b + sqrt(a^2 + b^2)        not  -a

#include "lather/symbolic/expression.hpp"

namespace lather::geometry {

inline symbolic::Expr r_and(symbolic::Expr a, symbolic::Expr b) {
  return a + b - sqrt(symbolic::pow(a, 2) + symbolic::pow(b, 2));
}
inline symbolic::Expr r_or(symbolic::Expr a, symbolic::Expr b) {
  return a + b + sqrt(symbolic::pow(a, 2) + symbolic::pow(b, 2));
}
// Between two parallel planes: positive for low < x < high, slope 1 at both.
inline symbolic::Expr r_between(symbolic::Expr x, double low, double high) {
  return (x - low) * (high - x) / (high - low);
}
// Within `radius` of a centre, given the squared distance from it.
inline symbolic::Expr r_within(symbolic::Expr squared_distance, double radius) {
  return (radius * radius - squared_distance) / (2 * radius);
}

}  // namespace lather::geometry
