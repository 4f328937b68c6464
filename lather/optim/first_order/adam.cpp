#include "lather/optim/first_order/adam.hpp"

#include <algorithm>

namespace lather::optim {

Adam::Adam(const ParameterLayout& layout, const AdamOptions& options)
    : GradientMethod(layout),
      options_(options),
      m_(layout.size()),
      v_(layout.size()),
      largest_v_(options.amsgrad ? layout.size() : 0) {}

void Adam::update(std::span<const double> x) {
  const auto& o = options_;
  if (o.decay == WeightDecay::coupled && o.weight_decay > 0)
    for (std::size_t i = 0; i < x.size(); ++i) gradient_[i] += o.weight_decay * x[i];
  const auto rule = adam_rule(o.beta1, o.beta2, o.epsilon, t_);
  adam_moments(rule, gradient_, m_, v_);
  for (std::size_t i = 0; i < largest_v_.size(); ++i) largest_v_[i] = std::max(largest_v_[i], v_[i]);
  adam_direction(rule, m_, o.amsgrad ? largest_v_ : v_, change_);
  descent_change(o.learning_rate * factor_, o.decay == WeightDecay::decoupled ? o.weight_decay : 0, x,
                 change_, change_);
}

void Adam::state(StateVisitor& visitor) {
  GradientMethod::state(visitor);
  visitor.array("m", std::span(m_));
  visitor.array("v", std::span(v_));
  visitor.array("largest_v", std::span(largest_v_));
}

}  // namespace lather::optim
