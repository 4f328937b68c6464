#pragma once
// Purifying Shampoo (Eschenhagen et al. 2025): eigenvalue-corrected Shampoo whose bases are refreshed only
// when a factor is no longer close to diagonal; as facebookresearch/optimizers @ f606606 defines it, in
// double precision throughout.

#include "lather/core/options.hpp"
#include "lather/optim/first_order/gradient_method.hpp"
#include "lather/optim/kronecker/factors.hpp"

namespace lather::optim {

enum class Eigensolver { eigh, qr };

struct PurifyingShampooOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0;
  std::int64_t precondition_frequency = 10;
  std::int64_t start_preconditioning_step = 1;
  double tolerance = 0.1;
  Eigensolver eigensolver = Eigensolver::eigh;
  std::int64_t qr_iterations = 1;
  bool correct_bias = true;
  bool precondition_vectors = false;
  std::int64_t max_dimension = 8192;
  void fields(FieldVisitor& v) {
    v.real("learning_rate", learning_rate, "step size", positive());
    v.real("beta1", beta1, "decay rate of the momentum", unit_open_right());
    v.real("beta2", beta2, "decay rate of factors and corrected eigenvalues; 1 sums them up",
           unit_open_left());
    v.real("epsilon", epsilon, "added to the factors and to the root of the corrected eigenvalues",
           non_negative());
    v.real("weight_decay", weight_decay, "decoupled weight decay", non_negative());
    v.integer("precondition_frequency", precondition_frequency, "steps between checks of the bases",
              at_least(1));
    v.integer("start_preconditioning_step", start_preconditioning_step,
              "first step with a basis; Adam before; -1: the frequency", at_least(-1));
    v.real("tolerance", tolerance, "relative off-diagonal norm up to which a basis is kept", non_negative());
    v.choice("eigensolver", eigensolver, "how a basis is computed",
             {{"eigh", Eigensolver::eigh}, {"qr", Eigensolver::qr}});
    v.integer("qr_iterations", qr_iterations,
              "most QR iterations per refresh, warm-started from the old basis", at_least(1));
    v.boolean("correct_bias", correct_bias, "correct the bias of averages that started at zero");
    v.boolean("precondition_vectors", precondition_vectors,
              "give biases a factor and a basis too; else Adam");
    v.integer("max_dimension", max_dimension, "longer sides are not preconditioned", non_negative());
  }
};

class PurifyingShampoo final : public MatrixMethod {
 public:
  PurifyingShampoo(const ParameterLayout& layout, const PurifyingShampooOptions& options);
  std::size_t memory_bytes() const override {
    return MatrixMethod::memory_bytes() + kronecker_.bytes() + bytes_of(rotated_, A_, B_, Q_);
  }
  void state(StateVisitor& visitor) override;

 protected:
  void update_matrix(std::size_t block, const BlockStep& step) override;

 private:
  // True if the basis was replaced or re-sorted.
  bool refresh(KroneckerSide& side, double correction);

  PurifyingShampooOptions options_;
  KroneckerBlocks kronecker_;
  AlignedVector rotated_;    // scratch
  AlignedVector A_, B_, Q_;  // scratch, d × d
};

}  // namespace lather::optim
