#include <cmath>
#include <limits>

#include "lather/linalg/factorizations.hpp"
#include "lather/local/system.hpp"

namespace lather::local {

Coefficients solve_dense(const System& system) {
  std::vector<std::size_t> begin{0};
  std::size_t rows = 0;
  for (const auto& own : system.own) {
    begin.push_back(begin.back() + own.matrix.cols);
    rows += own.right.size();
  }
  for (const auto& coupling : system.couplings) rows += coupling.rows.right.size();
  Dense all(rows, begin.back()), right(rows, 1), solution(begin.back(), 1);
  std::size_t next = 0;
  const auto add = [&](const Dense& matrix, std::size_t patch) {
    for (std::size_t i = 0; i < matrix.rows; ++i)
      for (std::size_t j = 0; j < matrix.cols; ++j) all.row(next + i)[begin[patch] + j] += matrix.row(i)[j];
  };
  const auto finish = [&](const std::vector<double>& values) {
    std::copy(values.begin(), values.end(), right.row(next));
    next += values.size();
  };
  for (std::size_t p = 0; p < system.own.size(); ++p) {
    add(system.own[p].matrix, p);
    finish(system.own[p].right);
  }
  for (const auto& coupling : system.couplings) {
    add(coupling.rows.first, coupling.first);
    add(coupling.rows.second, coupling.second);
    finish(coupling.rows.right);
  }
  std::vector<double> lengths(all.cols, std::numeric_limits<double>::min());
  for (std::size_t j = 0; j < all.cols; ++j) {
    double squares = 0;
    for (std::size_t i = 0; i < rows; ++i) squares += all.row(i)[j] * all.row(i)[j];
    lengths[j] += std::sqrt(squares);
    for (std::size_t i = 0; i < rows; ++i) all.row(i)[j] /= lengths[j];
  }
  constexpr double kRounding = 1e-14;
  linalg::solve_least_squares(all.view(), right.view(), solution.view(), kRounding);
  Coefficients found;
  for (std::size_t p = 0; p < system.own.size(); ++p) {
    auto& own = found.emplace_back();
    for (std::size_t j = begin[p]; j < begin[p + 1]; ++j) own.push_back(solution.values[j] / lengths[j]);
  }
  return found;
}

}  // namespace lather::local
