// Letters: W parameters, G gradient, L, R Kronecker factors, Q_L, Q_R bases, M momentum (in parameter space),
// V corrected eigenvalues (D in the reference), B = Q^T A Q a factor in its basis.

#include "lather/optim/kronecker/purifying_shampoo.hpp"

#include <algorithm>
#include <numeric>

#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/products.hpp"
#include "lather/optim/formulas/adam.hpp"

namespace lather::optim {

using linalg::MatrixView;
using linalg::view;

PurifyingShampoo::PurifyingShampoo(const ParameterLayout& layout, const PurifyingShampooOptions& o)
    : MatrixMethod(layout, {o.learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay},
                   o.precondition_vectors),
      options_(o),
      kronecker_(layout, o.max_dimension, o.precondition_vectors) {
  rotated_.resize(kronecker_.largest_block());
  for (auto* scratch : {&A_, &B_, &Q_}) scratch->resize(kronecker_.largest_square());
}

void PurifyingShampoo::update_matrix(std::size_t block, const BlockStep& s) {
  const auto& o = options_;
  auto& K = kronecker_[block];
  const auto rule = adam_rule(o.beta1, o.beta2, o.epsilon, t_);
  const double correction1 = o.correct_bias ? rule.correction1 : 1;
  const double correction2 = o.correct_bias ? rule.correction2 : 1;

  K.accumulate(o.beta2, rule.one_minus_beta2, s.G);  // L = b2 L + (1 - b2) G G^T, R likewise
  const auto start =
      o.start_preconditioning_step < 0 ? o.precondition_frequency : o.start_preconditioning_step;
  bool refreshed = false;
  if (t_ == start || (t_ > start && t_ % o.precondition_frequency == 0))
    for (auto* side : {&K.left, &K.right}) refreshed |= side->active() && refresh(*side, correction2);

  const std::span rotated = std::span(rotated_).first(s.G.size());
  K.rotate_in(s.G, rotated);
  for (std::size_t i = 0; i < rotated.size(); ++i) {
    // V is left alone when the basis changes.
    s.V[i] = second_moment(o.beta2, rule.one_minus_beta2, s.V[i], rotated[i]);
    s.M[i] = first_moment(o.beta1, s.M[i], s.G[i]);
  }
  K.rotate_in(s.M, rotated);
  for (std::size_t i = 0; i < rotated.size(); ++i)
    rotated[i] = adam_element(rotated[i], s.V[i], correction1, correction2, o.epsilon);
  K.rotate_out(rotated, s.change);
  descent_change(o.learning_rate * factor_, o.weight_decay, s.W, s.change, s.change);
  basis_updates_ += refreshed;
  diagnostics_.push_back({layout_.blocks()[block].name, "basis_changed", refreshed ? 1.0 : 0.0});
}

bool PurifyingShampoo::refresh(KroneckerSide& side, double correction) {
  const auto& o = options_;
  const std::size_t d = side.d;
  const auto scratch = [&](AlignedVector& values) { return view(std::span(values).first(d * d), d, d); };
  const MatrixView A = scratch(A_), B = scratch(B_), work = scratch(Q_), Q = side.basis_view();
  for (std::size_t i = 0; i < d * d; ++i) A.data[i] = side.factor[i] / correction;
  for (std::size_t i = 0; i < d; ++i) A(i, i) += o.epsilon;

  const auto rotate = [&](MatrixView X, MatrixView basis) {  // B = basis^T X basis; X may be B
    linalg::multiply(work, X, basis);
    linalg::multiply_left_transposed(B, basis, work);
  };
  const auto nearly_diagonal = [&] {
    const auto norms = off_diagonal(B);
    return norms.off <= o.tolerance * norms.norm;
  };

  if (o.eigensolver == Eigensolver::eigh) {
    if (o.tolerance > 0) {
      rotate(A, Q);
      if (nearly_diagonal()) return false;
    }
    AlignedVector eigenvalues(d);
    if (!linalg::eigenvectors(A, eigenvalues, work)) return false;  // keep the old basis
    linalg::make_canonical(eigenvalues, work);
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) Q(i, j) = work(i, d - 1 - j);  // ascending, as in the reference
    return true;
  }

  rotate(A, Q);
  AlignedVector factor(d * d);
  const MatrixView step = view(std::span(factor), d, d);
  for (std::int64_t iteration = 0; iteration < o.qr_iterations && !nearly_diagonal(); ++iteration) {
    linalg::orthonormal_factor(B, step);  // B = Q' R'
    rotate(B, step);                      // B = R' Q' = Q'^T B Q'
    linalg::multiply(work, Q, step);
    std::copy_n(work.data, d * d, Q.data);  // Q = Q Q'
  }
  std::vector<std::size_t> order(d);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return B(a, a) < B(b, b); });
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) work(i, j) = Q(i, order[j]);
  std::copy_n(work.data, d * d, Q.data);
  return true;
}

void PurifyingShampoo::state(StateVisitor& visitor) {
  MatrixMethod::state(visitor);
  kronecker_.state(visitor);
}

}  // namespace lather::optim
