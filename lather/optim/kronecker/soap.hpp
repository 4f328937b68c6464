#pragma once
// SOAP (Vyas et al. 2024), as the authors' code nikhilvyas/SOAP @ a1e5535 defines it, in double precision
// throughout.

#include "lather/core/options.hpp"
#include "lather/optim/first_order/gradient_method.hpp"
#include "lather/optim/kronecker/factors.hpp"

namespace lather::optim {

struct SoapOptions {
  double learning_rate = 3e-3;
  double beta1 = 0.95, beta2 = 0.95;
  double factor_beta = -1;
  double epsilon = 1e-8;
  double weight_decay = 0;
  std::int64_t precondition_frequency = 10;
  std::int64_t max_dimension = 10000;
  bool precondition_vectors = false;
  bool normalize_gradients = false;
  bool correct_bias = true;
  void fields(FieldVisitor& v) {
    v.real("learning_rate", learning_rate, "step size", positive());
    v.real("beta1", beta1, "decay rate of the first moment", unit_open_right());
    v.real("beta2", beta2, "decay rate of the second moment", unit_open_right());
    v.real("factor_beta", factor_beta, "decay rate of the Kronecker factors; negative: beta2",
           Range{.high = 1, .high_open = true});
    v.real("epsilon", epsilon, "added to the root of the second moment", non_negative());
    v.real("weight_decay", weight_decay, "decoupled weight decay", non_negative());
    v.integer("precondition_frequency", precondition_frequency, "steps between two updates of the basis",
              at_least(1));
    v.integer("max_dimension", max_dimension, "longer sides are not preconditioned", non_negative());
    v.boolean("precondition_vectors", precondition_vectors, "give biases a factor and a basis too");
    v.boolean("normalize_gradients", normalize_gradients, "scale each direction to root mean square 1");
    v.boolean("correct_bias", correct_bias, "correct the bias of moments that started at zero");
  }
};

class Soap final : public MatrixMethod {
 public:
  Soap(const ParameterLayout& layout, const SoapOptions& options);
  std::size_t memory_bytes() const override {
    return MatrixMethod::memory_bytes() + kronecker_.bytes() +
           bytes_of(rotated_, permuted_, square_, product_);
  }
  void state(StateVisitor& visitor) override;

 protected:
  void update_matrix(std::size_t block, const BlockStep& step) override;

 private:
  void refresh(KroneckerPair& K, std::span<double> V);

  SoapOptions options_;
  KroneckerBlocks kronecker_;
  AlignedVector rotated_, permuted_, square_, product_;  // scratch
};

}  // namespace lather::optim
