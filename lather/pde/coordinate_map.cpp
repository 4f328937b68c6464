#include "lather/pde/coordinate_map.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lather::pde {

using symbolic::Expr;
using Matrix = std::vector<std::vector<Expr>>;

namespace {

Matrix minor_of(const Matrix& a, std::size_t row, std::size_t column) {
  Matrix result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i == row) continue;
    result.emplace_back();
    for (std::size_t j = 0; j < a.size(); ++j)
      if (j != column) result.back().push_back(a[i][j]);
  }
  return result;
}

Expr determinant(const Matrix& a, symbolic::Graph& graph) {
  if (a.empty()) return graph.constant(1);
  Expr sum = graph.constant(0);
  for (std::size_t j = 0; j < a.size(); ++j) {
    const Expr term = a[0][j] * determinant(minor_of(a, 0, j), graph);
    sum = j % 2 == 0 ? sum + term : sum - term;
  }
  return sum;
}

}  // namespace

CoordinateMap invert_coordinate_map(const std::vector<Expr>& map, const std::vector<std::string>& names,
                                    OutputSymbols& symbols, const SourceLocation& where) {
  constexpr std::size_t kMaxPhysical = 3;
  const std::size_t n = map.size();
  if (n > kMaxPhysical)
    throw Error(where,
                fmt::format("at most {} physical coordinates can be mapped, there are {}", kMaxPhysical, n));
  const auto used = symbolic::symbols_of(map);
  CoordinateMap result;
  std::vector<std::string> used_names;
  for (int j = 0; j < static_cast<int>(symbols.coordinate_names().size()); ++j)
    if (std::find(used.begin(), used.end(), symbols.coordinate(j)) != used.end()) {
      result.coordinates.push_back(j);
      used_names.push_back(symbols.coordinate_names()[j]);
    }
  if (used_names.size() != n)
    throw Error(where,
                fmt::format("the map must define as many physical coordinates as it uses coordinates: it "
                            "defines {} ({}) and uses {} ({})",
                            n, fmt::join(names, ", "), used_names.size(), fmt::join(used_names, ", ")));

  Matrix jacobian(n);  // dy_i / dz_j
  for (std::size_t i = 0; i < n; ++i)
    for (const int j : result.coordinates) jacobian[i].push_back(symbols.total_derivative(map[i], j));
  symbolic::Graph& graph = map[0].graph();
  const Expr det = determinant(jacobian, graph);
  if (det.is_constant(0))
    throw Error(where, "the map of the coordinates cannot be inverted: its Jacobian is zero");

  for (std::size_t i = 0; i < n; ++i) {  // (J^-1)_ji = cofactor_ij / det
    result.inverse.emplace_back();
    for (std::size_t j = 0; j < n; ++j) {
      const Expr cofactor = determinant(minor_of(jacobian, i, j), graph);
      result.inverse[i].push_back((i + j) % 2 == 0 ? cofactor / det : -cofactor / det);
    }
  }
  return result;
}

}  // namespace lather::pde
