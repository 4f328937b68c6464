#include "lather/optim/first_order/sgd.hpp"

namespace lather::optim {

Sgd::Sgd(const ParameterLayout& layout, const SgdOptions& options)
    : GradientMethod(layout), options_(options), momentum_(layout.size()) {}

void Sgd::update(std::span<const double> x) {
  const auto& o = options_;
  const double rate = o.learning_rate * factor_;
  const double mu = o.momentum;
  const double fresh =
      t_ == 1 || mu == 0
          ? 1
          : 1 - o.dampening;  // the first momentum is the gradient itself; no momentum, no dampening
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double g = gradient_[i] + o.weight_decay * x[i];
    momentum_[i] = mu * momentum_[i] + fresh * g;
    change_[i] = -rate * (o.nesterov ? g + mu * momentum_[i] : momentum_[i]);
  }
}

void Sgd::state(StateVisitor& visitor) {
  GradientMethod::state(visitor);
  visitor.array("momentum", std::span(momentum_));
}

}  // namespace lather::optim
