#include "lather/optim/first_order/sgd.hpp"

#include "lather/optim/formulas/sgd.hpp"

namespace lather::optim {

Sgd::Sgd(const ParameterLayout& layout, const SgdOptions& options)
    : GradientMethod(layout), options_(options), momentum_(layout.size()) {}

void Sgd::update(std::span<const double> x) {
  const auto& o = options_;
  const double rate = o.learning_rate * factor_;
  const double mu = o.momentum;
  const double weight = sgd_weight_of_new(t_, mu, o.dampening);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double g = gradient_[i] + o.weight_decay * x[i];
    momentum_[i] = sgd_momentum(mu, weight, momentum_[i], g);
    change_[i] = -rate * sgd_direction(o.nesterov, mu, momentum_[i], g);
  }
}

void Sgd::state(StateVisitor& visitor) {
  GradientMethod::state(visitor);
  visitor.array("momentum", std::span(momentum_));
}

}  // namespace lather::optim
