#include "lather/optim/least_squares/solvers/nystrom.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lather/linalg/factorizations.hpp"
#include "lather/optim/deterministic_sums.hpp"

namespace lather::optim {

namespace {

// Eigenvalues below this times the largest are rounding errors of the Gram matrix they are taken from.
constexpr double kSmallestEigenvalue = 1e-13;
// Keeps P^{-1} positive despite the rounding of U^T U.
constexpr double kSmallestRatio = 1e-12;

bool factor_lower(std::vector<double>& matrix, std::size_t n) {
  return all_finite(matrix) && linalg::cholesky({matrix.data(), n, n});
}

// Makes the rows of A orthonormal, each in the span of itself and those before it.
bool orthonormalize(VectorBlocks& blocks) {
  const std::size_t k = blocks.count();
  auto C = blocks.inner(VectorBlocks::Block::A, VectorBlocks::Block::A);
  for (std::size_t i = 0; i < k; ++i)
    if (C[i * (k + 1)] == 0) C[i * (k + 1)] = 1;  // a row of zeros stays zero
  if (!factor_lower(C, k)) return false;
  blocks.solve_lower(C, VectorBlocks::Block::A);
  return true;
}

}  // namespace

bool Nystrom::build(std::uint64_t seed, std::uint64_t stream,
                    const std::function<void(VectorBlocks&)>& product) {
  if (factor(seed, stream, product)) return true;
  Lambda_.clear();
  return false;
}

bool Nystrom::factor(std::uint64_t seed, std::uint64_t stream,
                     const std::function<void(VectorBlocks&)>& product) {
  const std::size_t k = blocks_->count();
  blocks_->draw(seed, stream);
  if (!orthonormalize(*blocks_)) return false;  // A = Phi^T
  product(*blocks_);                            // B = Phi^T H
  auto M = blocks_->inner(VectorBlocks::Block::A, VectorBlocks::Block::B);
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < i; ++j) M[i * k + j] = M[j * k + i] = (M[i * k + j] + M[j * k + i]) / 2;
  const double size = norm(M);
  if (!std::isfinite(size)) return false;

  // C C^T = Phi^T (H + shift I) Phi, B = C^{-1} Phi^T (H + shift I). Departs from the paper: the shift is
  // relative to H, since a fixed machine epsilon is nothing compared with a large H, and grows while M is not
  // positive.
  double shift = std::numeric_limits<double>::epsilon() * size;
  std::vector<double> C;
  for (;; shift *= 10) {
    if (!(shift <= 10 * size)) return false;
    C = M;
    for (std::size_t i = 0; i < k; ++i) C[i * (k + 1)] += shift;
    if (factor_lower(C, k)) break;
  }
  blocks_->add_shift(shift);
  blocks_->solve_lower(C, VectorBlocks::Block::B);

  // B = V^T Sigma U via B B^T, in matrix products; U is made orthonormal again afterwards.
  auto V = blocks_->inner(VectorBlocks::Block::B, VectorBlocks::Block::B);
  std::vector<double> squares(k);
  if (!blocks_->eigenvectors(V, squares)) return false;
  const auto kept = static_cast<std::size_t>(std::count_if(
      squares.begin(), squares.end(), [&](double s) { return s > kSmallestEigenvalue * squares.front(); }));
  if (kept == 0) return false;
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < k; ++j) V[i * k + j] *= i < kept ? 1 / std::sqrt(squares[i]) : 0;
  blocks_->combine(V);  // U = Sigma^{-1} V B
  if (!orthonormalize(*blocks_)) return false;
  Lambda_.resize(kept);
  std::transform(squares.begin(), squares.begin() + static_cast<std::ptrdiff_t>(kept), Lambda_.begin(),
                 [&](double s) { return std::max(s - shift, 0.0); });
  return true;
}

void Nystrom::precondition(double mu, std::span<const double> r, std::span<double> z) const {
  std::copy(r.begin(), r.end(), z.begin());
  if (Lambda_.empty()) return;
  auto c = blocks_->project(r);
  for (std::size_t j = 0; j < c.size(); ++j)
    c[j] *= j < Lambda_.size() ? std::max((Lambda_.back() + mu) / (Lambda_[j] + mu), kSmallestRatio) - 1 : 0;
  blocks_->add_combination(c, z);
}

}  // namespace lather::optim
