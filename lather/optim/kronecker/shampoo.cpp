// Letters: W parameters, G gradient, L, R Kronecker factors, M momentum, V second moment of the grafted Adam,
// P_s = L^(-1/4) M^ R^(-1/4) Shampoo's direction, P_g = M^ / (sqrt V^ + eps) Adam's.

#include "lather/optim/kronecker/shampoo.hpp"

#include <algorithm>

#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/products.hpp"
#include "lather/optim/formulas/shampoo.hpp"

namespace lather::optim {

using linalg::view;

Shampoo::Shampoo(const ParameterLayout& layout, const ShampooOptions& o)
    : MatrixMethod(layout, {o.learning_rate, o.beta1, o.grafting_beta2, o.grafting_epsilon, o.weight_decay},
                   o.precondition_vectors),
      options_(o),
      kronecker_(layout, o.max_dimension, o.precondition_vectors) {
  momentum_.resize(kronecker_.largest_block());
  A_.resize(kronecker_.largest_square());
  X_.resize(kronecker_.largest_square());
}

void Shampoo::update_matrix(std::size_t block, const BlockStep& s) {
  const auto& o = options_;
  auto& K = kronecker_[block];
  const auto rule = adam_rule(o.beta1, o.beta2, o.epsilon, t_);
  const double correction2 = o.correct_bias ? rule.correction2 : 1;

  K.accumulate(o.beta2, rule.one_minus_beta2, s.G);
  const double root =
      shampoo_root(static_cast<long long>(s.rows), static_cast<long long>(s.cols));  // as in the reference
  if (o.updates_roots(t_))
    for (auto* side : {&K.left, &K.right})
      if (side->active()) inverse_root(*side, correction2, root);

  auto graft = adam_rule(o.beta1, o.grafting_beta2, o.grafting_epsilon, t_);
  if (!o.correct_bias) graft.correction1 = 1;
  adam_moments(graft, s.G, s.M, s.V);
  const std::span momentum = std::span(momentum_).first(s.G.size());
  for (std::size_t i = 0; i < momentum.size(); ++i) momentum[i] = s.M[i] / graft.correction1;

  const bool grafted = o.grafting == Grafting::adam;
  double length = 0;
  if (grafted) {
    adam_direction(graft, s.M, s.V, s.change);  // P_g
    length = plain_norm(s.change);
  }
  if (t_ >= o.start() || !grafted) {
    K.rotate_out(momentum, s.change);  // P_s; the inverse roots are symmetric
    if (grafted) {
      const double scale = grafting_scale(length, plain_norm(s.change));
      for (double& p : s.change) p *= scale;
    }
  }
  descent_change(o.learning_rate * factor_, o.weight_decay, s.W, s.change, s.change);
}

void Shampoo::inverse_root(KroneckerSide& side, double correction, double root) {
  const double epsilon = options_.epsilon;
  const std::size_t d = side.d;
  const auto A = view(std::span(A_).first(d * d), d, d), X = view(std::span(X_).first(d * d), d, d);
  for (std::size_t i = 0; i < d * d; ++i) A.data[i] = side.factor[i] / correction;
  for (std::size_t i = 0; i < d; ++i) A(i, i) += epsilon;
  AlignedVector eigenvalues(d);
  if (!linalg::eigenvectors(A, eigenvalues, X)) return;  // keep the old root
  const double shift = eigenvalue_shift(eigenvalues.back(), epsilon);
  for (std::size_t j = 0; j < d; ++j) {
    const double power = half_inverse_root(eigenvalues[j] + shift, root);
    for (std::size_t i = 0; i < d; ++i) X(i, j) *= power;
  }
  linalg::multiply_right_transposed(side.basis_view(), X, X);  // (X D^(-1/2r)) (X D^(-1/2r))^T
}

void Shampoo::state(StateVisitor& visitor) {
  MatrixMethod::state(visitor);
  kronecker_.state(visitor);
}

}  // namespace lather::optim
