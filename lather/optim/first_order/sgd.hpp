#pragma once
// Stochastic gradient descent with (Nesterov) momentum, as torch.optim.SGD defines it.

#include "lather/core/options.hpp"
#include "lather/optim/first_order/gradient_method.hpp"

namespace lather::optim {

struct SgdOptions {
  double learning_rate = 1e-3;
  double momentum = 0.9;
  double dampening = 0;
  bool nesterov = false;
  double weight_decay = 0;
  void fields(FieldVisitor& v) {
    v.real("learning_rate", learning_rate, "step size", positive());
    v.real("momentum", momentum, "share of the previous direction that is kept", unit_open_right());
    v.real("dampening", dampening, "the gradient enters the momentum times 1 - dampening", between(0, 1));
    v.boolean("nesterov", nesterov, "look ahead along the momentum");
    v.real("weight_decay", weight_decay, "added to the gradient times the parameters", non_negative());
  }
};

class Sgd final : public GradientMethod {
 public:
  Sgd(const ParameterLayout& layout, const SgdOptions& options);
  std::size_t memory_bytes() const override { return GradientMethod::memory_bytes() + bytes_of(momentum_); }
  void state(StateVisitor& visitor) override;

 protected:
  void update(std::span<const double> x) override;

 private:
  SgdOptions options_;
  std::vector<double> momentum_;
};

}  // namespace lather::optim
