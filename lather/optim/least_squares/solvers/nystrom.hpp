#pragma once
// Randomized Nyström approximation of a symmetric matrix H given by its products, and the resulting
// preconditioner for conjugate gradients (Frangella, Tropp & Udell 2023).
//
//   U, Lambda   H ~ U^T diag(Lambda) U with orthonormal rows of U, as many as the blocks have; Lambda
//               descends
//   P^{-1}      (lambda_r + mu) U^T (Lambda + mu)^{-1} U + I - U^T U, for H + mu I at any mu, lambda_r the
//               smallest of Lambda

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lather/core/state.hpp"
#include "lather/optim/least_squares/solvers/vector_blocks.hpp"

namespace lather::optim {

class Nystrom {
 public:
  explicit Nystrom(std::unique_ptr<VectorBlocks> blocks) : blocks_(std::move(blocks)) {}
  // `product` computes B = H A in the blocks. False if the approximation fails (H is not finite); P is then
  // the identity.
  bool build(std::uint64_t seed, std::uint64_t stream, const std::function<void(VectorBlocks&)>& product);
  void precondition(double mu, std::span<const double> r, std::span<double> z) const;  // z = P^{-1} r
  void clear() { Lambda_.clear(); }
  std::span<const double> Lambda() const { return Lambda_; }
  std::size_t blocks_bytes() const { return blocks_->bytes(); }
  void state(StateVisitor& visitor) { visitor.array("Lambda", Lambda_); }  // U belongs to the blocks

 private:
  bool factor(std::uint64_t seed, std::uint64_t stream, const std::function<void(VectorBlocks&)>& product);

  std::unique_ptr<VectorBlocks> blocks_;
  std::vector<double> Lambda_;  // empty: no approximation
};

}  // namespace lather::optim
