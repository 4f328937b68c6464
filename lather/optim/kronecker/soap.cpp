// Letters: W parameters, G gradient, L, R Kronecker factors, Q_L, Q_R bases, M, V moments in the basis, N
// direction.

#include "lather/optim/kronecker/soap.hpp"

#include <algorithm>
#include <numeric>

#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/products.hpp"
#include "lather/optim/formulas/soap.hpp"

namespace lather::optim {

using linalg::MatrixView;
using linalg::view;

// Blocks that are not matrices follow the same rule with Q = I: SOAP's own Adam, including its epsilon and
// its skipped first step.
Soap::Soap(const ParameterLayout& layout, const SoapOptions& o)
    : MatrixMethod(layout, {o.learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay}, true),
      options_(o),
      kronecker_(layout, o.max_dimension, o.precondition_vectors) {
  rotated_.resize(kronecker_.largest_block());
  permuted_.resize(kronecker_.largest_block());
  square_.resize(kronecker_.largest_square());
  product_.resize(kronecker_.largest_square());
}

void Soap::update_matrix(std::size_t block, const BlockStep& s) {
  const auto& o = options_;
  auto& K = kronecker_[block];
  const double factor_beta = o.factor_beta < 0 ? o.beta2 : o.factor_beta;
  const std::span rotated = std::span(rotated_).first(s.G.size());

  if (t_ == 1) {  // the first gradient only builds the basis
    K.accumulate(factor_beta, 1 - factor_beta, s.G);
    AlignedVector eigenvalues;
    for (auto* side : {&K.left, &K.right}) {
      if (!side->active()) continue;
      eigenvalues.resize(side->d);
      if (linalg::eigenvectors(side->factor_view(), eigenvalues, side->basis_view()))
        linalg::make_canonical(eigenvalues, side->basis_view());
    }
    basis_updates_ += K.left.active() || K.right.active();
    std::fill(s.change.begin(), s.change.end(), 0.0);
    return;
  }

  const std::int64_t t = t_ - 1;
  K.rotate_in(s.G, rotated);  // G' = Q_L^T G Q_R, the basis has not seen G yet
  const auto rule = adam_rule(o.beta1, o.beta2, o.epsilon, t);
  adam_moments(rule, rotated, s.M, s.V);
  for (std::size_t i = 0; i < rotated.size(); ++i) rotated[i] = soap_element(s.M[i], s.V[i], o.epsilon);
  K.rotate_out(rotated, s.change);  // N = Q_L (M / (sqrt V + eps)) Q_R^T
  if (o.normalize_gradients) {
    double mean_square = 0;
    for (const double n : s.change) mean_square += n * n / static_cast<double>(s.change.size());
    for (double& n : s.change) n /= soap_divisor(mean_square);
  }
  const double rate = o.learning_rate * factor_;
  const double alpha = soap_rate(o.correct_bias, rate, o.beta1, o.beta2, static_cast<double>(t));
  const double decay = rate * o.weight_decay;
  for (std::size_t i = 0; i < s.change.size(); ++i)
    s.change[i] = soap_change(alpha, decay, s.W[i], s.change[i]);

  K.accumulate(factor_beta, 1 - factor_beta, s.G);
  if (t % o.precondition_frequency == 0) {
    K.rotate_out(s.M, rotated);  // the momentum keeps its direction in parameter space
    refresh(K, s.V);
    K.rotate_in(rotated, s.M);
    basis_updates_ += K.left.active() || K.right.active();
  }
}

// One power iteration with QR. V is permuted with the columns but not re-projected.
void Soap::refresh(KroneckerPair& K, std::span<double> V) {
  for (auto* side : {&K.left, &K.right}) {
    if (!side->active()) continue;
    const std::size_t d = side->d;
    const MatrixView product = view(std::span(product_).first(d * d), d, d);
    const MatrixView sorted = view(std::span(square_).first(d * d), d, d);
    const MatrixView Q = side->basis_view();
    linalg::multiply(product, side->factor_view(), Q);  // A Q
    AlignedVector estimate(d);                          // diag(Q^T A Q)
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) estimate[j] += Q(i, j) * product(i, j);
    std::vector<std::size_t> order(d);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return estimate[a] > estimate[b]; });

    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j)
        sorted(i, j) = product(i, order[j]);  // A (Q with its columns sorted)
    linalg::orthonormal_factor(sorted, Q);

    const bool is_left = side == &K.left;
    const auto old = view(V, K.rows, K.cols);
    const auto permuted = view(std::span(permuted_).first(V.size()), K.rows, K.cols);
    for (std::size_t i = 0; i < K.rows; ++i)
      for (std::size_t j = 0; j < K.cols; ++j) permuted(i, j) = is_left ? old(order[i], j) : old(i, order[j]);
    std::copy_n(permuted.data, V.size(), V.begin());
  }
}

void Soap::state(StateVisitor& visitor) {
  MatrixMethod::state(visitor);
  kronecker_.state(visitor);
}

}  // namespace lather::optim
