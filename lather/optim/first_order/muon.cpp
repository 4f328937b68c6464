// Letters: W parameters, G gradient, M momentum, U direction, X its orthogonalization.

#include "lather/optim/first_order/muon.hpp"

#include <algorithm>
#include <cmath>

#include "lather/linalg/products.hpp"
#include "lather/optim/formulas/muon.hpp"

namespace lather::optim {

using linalg::view;

bool orthogonalizes(const MuonOptions& o, const ParameterBlock& block) {
  return block.matrix && (o.matrices == MuonMatrices::all || block.role == Role::hidden);
}

double muon_gain(const MuonOptions& o, std::size_t rows, std::size_t cols) {
  const auto inputs = static_cast<double>(o.rows == MatrixRows::inputs ? rows : cols);
  const auto outputs = static_cast<double>(o.rows == MatrixRows::inputs ? cols : rows);
  return std::sqrt(std::max(1.0, outputs / inputs));
}

Muon::Muon(const ParameterLayout& layout, const MuonOptions& o)
    : MatrixMethod(layout, {o.learning_rate * o.adam_learning_rate_ratio, o.beta1, o.beta2, o.epsilon,
                            o.weight_decay}),
      options_(o),
      length_(layout.blocks().size()) {
  std::size_t largest_block = 0, largest_side = 0;
  for (std::size_t k = 0; k < is_matrix_.size(); ++k) {
    const auto& block = layout.blocks()[k];
    is_matrix_[k] = orthogonalizes(o, block);
    if (!is_matrix_[k]) continue;
    largest_block = std::max(largest_block, block.size());
    largest_side = std::max(largest_side, std::min(block.rows, block.cols));
  }
  for (auto* scratch : {&direction_, &X_, &next_}) scratch->resize(largest_block);
  for (auto* scratch : {&A_, &AA_}) scratch->resize(largest_side * largest_side);
}

void Muon::update_matrix(std::size_t block, const BlockStep& s) {
  const auto& o = options_;
  const std::size_t size = s.G.size(), d = std::min(s.rows, s.cols), long_side = std::max(s.rows, s.cols);
  const std::span U = std::span(direction_).first(size);
  const double mu = o.momentum;
  for (std::size_t i = 0; i < size; ++i) {
    s.M[i] = muon_momentum(mu, s.M[i], s.G[i]);
    U[i] = muon_direction(o.nesterov, mu, s.M[i], s.G[i]);
  }

  if ((t_ - 1) % o.orthogonalization_frequency == 0) {
    // X is d × long_side, d the shorter side: transposed if W is tall.
    const auto X = view(std::span(X_).first(size), d, long_side),
               next = view(std::span(next_).first(size), d, long_side);
    const auto A = view(std::span(A_).first(d * d), d, d), AA = view(std::span(AA_).first(d * d), d, d);
    const bool tall = s.rows > s.cols;
    const auto& [a, b, c, norm_guard] = kNewtonSchulz;
    const double scale = 1 / (plain_norm(U) + norm_guard);
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < long_side; ++j)
        X(i, j) = scale * (tall ? U[j * d + i] : U[i * long_side + j]);
    for (std::int64_t k = 0; k < o.newton_schulz_steps; ++k) {
      linalg::multiply_right_transposed(A, X, X);                                          // A = X X^T
      linalg::multiply(AA, A, A);                                                          // A^2
      for (std::size_t i = 0; i < d * d; ++i) A.data[i] = b * A.data[i] + c * AA.data[i];  // B = b A + c A^2
      linalg::multiply(next, A, X);
      for (std::size_t i = 0; i < size; ++i) X.data[i] = a * X.data[i] + next.data[i];  // X = a X + B X
    }
    const double gain = muon_gain(o, s.rows, s.cols);
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < long_side; ++j) U[tall ? j * d + i : i * long_side + j] = gain * X(i, j);
    length_[block] = plain_norm(U);
  } else {
    // Not in the paper: "orthogonalization frequency" is undefined there and unknown to the reference.
    const double scale = muon_rescaling(length_[block], plain_norm(U));
    for (double& u : U) u *= scale;
  }
  descent_change(o.learning_rate * factor_, o.weight_decay, s.W, U, s.change);
}

void Muon::state(StateVisitor& visitor) {
  MatrixMethod::state(visitor);
  visitor.array("length", std::span(length_));
}

}  // namespace lather::optim
