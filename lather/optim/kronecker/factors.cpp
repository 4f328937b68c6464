#include "lather/optim/kronecker/factors.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "lather/linalg/products.hpp"

namespace lather::optim {

using linalg::view;

KroneckerSide::KroneckerSide(std::size_t dimension, std::size_t max_dimension, double initial_diagonal) {
  if (dimension > max_dimension) return;
  d = dimension;
  factor.resize(d * d);
  basis.resize(d * d);
  for (std::size_t i = 0; i < d; ++i) {
    factor[i * d + i] = initial_diagonal;
    basis[i * d + i] = 1;
  }
}

void KroneckerSide::state(StateVisitor& visitor, std::string_view name) {
  visitor.array(std::string(name) + ".factor", std::span(factor));
  visitor.array(std::string(name) + ".basis", std::span(basis));
}

KroneckerPair::KroneckerPair(std::size_t rows, std::size_t cols, std::size_t max_dimension,
                             double initial_diagonal)
    : rows(rows),
      cols(cols),
      left(rows, max_dimension, initial_diagonal),
      right(cols, max_dimension, initial_diagonal),
      scratch(rows * cols) {}

void KroneckerPair::rotate(std::span<const double> x, std::span<double> out, Product by_left,
                           Product by_right) {
  std::span<const double> half = x;
  if (left.active()) {
    const auto target = right.active() ? std::span(scratch) : out;
    by_left(view(target, rows, cols), left.basis_view(), view(x, rows, cols));
    half = target;
  }
  if (right.active())
    by_right(view(out, rows, cols), view(half, rows, cols), right.basis_view());
  else if (!left.active())
    std::copy(x.begin(), x.end(), out.begin());
}

void KroneckerPair::rotate_in(std::span<const double> x, std::span<double> out) {
  rotate(x, out, linalg::multiply_left_transposed, linalg::multiply);
}

void KroneckerPair::rotate_out(std::span<const double> x, std::span<double> out) {
  rotate(x, out, linalg::multiply, linalg::multiply_right_transposed);
}

void KroneckerPair::accumulate(double keep, double weight, std::span<const double> g) {
  if (left.active()) accumulate_rows(left.factor_view(), keep, weight, view(g, rows, cols));
  if (right.active()) accumulate_cols(right.factor_view(), keep, weight, view(g, rows, cols));
}

void KroneckerPair::state(StateVisitor& visitor) {
  left.state(visitor, "left");
  right.state(visitor, "right");
}

KroneckerBlocks::KroneckerBlocks(const ParameterLayout& layout, std::int64_t max_dimension,
                                 bool vectors_too) {
  for (const auto& block : layout.blocks()) {
    const bool preconditioned = block.matrix || vectors_too;
    const auto& K = pairs_.emplace_back(block.rows, block.cols,
                                        preconditioned ? static_cast<std::size_t>(max_dimension) : 0, 0);
    largest_block_ = std::max(largest_block_, block.size());
    largest_side_ = std::max({largest_side_, K.left.d, K.right.d});
  }
}

std::size_t KroneckerBlocks::bytes() const {
  std::size_t sum = 0;
  for (const auto& K : pairs_) sum += K.bytes();
  return sum;
}

void KroneckerBlocks::state(StateVisitor& visitor) {
  for (auto& K : pairs_) K.state(visitor);
}

OffDiagonal off_diagonal(linalg::ConstMatrixView a) {
  double off = 0, diagonal = 0;
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.cols; ++j)
      if (i != j) off += a(i, j) * a(i, j);
    diagonal += a(i, i) * a(i, i);
  }
  return {std::sqrt(off), std::sqrt(off + diagonal)};
}

}  // namespace lather::optim
