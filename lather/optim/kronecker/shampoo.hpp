#pragma once
// Shampoo (Gupta et al. 2018) with Adam grafting, as facebookresearch/optimizers @ f606606 defines it, in
// double precision.

#include "lather/core/options.hpp"
#include "lather/optim/first_order/gradient_method.hpp"
#include "lather/optim/kronecker/factors.hpp"

namespace lather::optim {

enum class Grafting { none, adam };

struct ShampooOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.95;
  double epsilon = 1e-12;
  double weight_decay = 0;
  std::int64_t precondition_frequency = 10;
  std::int64_t start_preconditioning_step = -1;
  Grafting grafting = Grafting::adam;
  double grafting_beta2 = 0.95;
  double grafting_epsilon = 1e-8;
  bool correct_bias = true;
  bool precondition_vectors = false;
  std::int64_t max_dimension = 8192;
  std::int64_t start() const {  // first step with an inverse root
    return start_preconditioning_step < 0 ? precondition_frequency : start_preconditioning_step;
  }
  bool updates_roots(std::int64_t t) const {
    return t == start() || (t > start() && t % precondition_frequency == 0);
  }
  void fields(FieldVisitor& v) {
    v.real("learning_rate", learning_rate, "step size", positive());
    v.real("beta1", beta1, "decay rate of the momentum", unit_open_right());
    v.real("beta2", beta2, "decay rate of the Kronecker factors; 1 sums them up", unit_open_left());
    v.real("epsilon", epsilon, "added to the factors before the inverse root", non_negative());
    v.real("weight_decay", weight_decay, "decoupled weight decay", non_negative());
    v.integer("precondition_frequency", precondition_frequency, "steps between two inverse roots",
              at_least(1));
    v.integer("start_preconditioning_step", start_preconditioning_step,
              "first step with an inverse root; the grafted method before; -1: the frequency", at_least(-1));
    v.choice("grafting", grafting, "whose step length is used",
             {{"none", Grafting::none}, {"adam", Grafting::adam}});
    v.real("grafting_beta2", grafting_beta2, "decay rate of the second moment of the grafted Adam",
           unit_open_right());
    v.real("grafting_epsilon", grafting_epsilon, "added to the root of that second moment", non_negative());
    v.boolean("correct_bias", correct_bias, "correct the bias of averages that started at zero");
    v.boolean("precondition_vectors", precondition_vectors, "give biases a factor too; else Adam");
    v.integer("max_dimension", max_dimension, "longer sides are not preconditioned", non_negative());
  }
};

class Shampoo final : public MatrixMethod {
 public:
  Shampoo(const ParameterLayout& layout, const ShampooOptions& options);
  std::size_t memory_bytes() const override {
    return MatrixMethod::memory_bytes() + kronecker_.bytes() + bytes_of(momentum_, A_, X_);
  }
  void state(StateVisitor& visitor) override;

 protected:
  void update_matrix(std::size_t block, const BlockStep& step) override;

 private:
  // Puts (A / correction + eps I)^(-1/root) into side.basis.
  void inverse_root(KroneckerSide& side, double correction, double root);

  ShampooOptions options_;
  KroneckerBlocks kronecker_;  // `basis` holds the inverse root
  AlignedVector momentum_;     // scratch
  AlignedVector A_, X_;        // scratch, d × d
};

}  // namespace lather::optim
