#include "lather/optim/first_order/adam_rule.hpp"

#include <cmath>

namespace lather::optim {

AdamRule adam_rule(double beta1, double beta2, double epsilon, std::int64_t t) {
  const auto steps = static_cast<double>(t);
  const bool sums = beta2 == 1;
  return {beta1,
          beta2,
          epsilon,
          sums ? 1 : 1 - beta2,
          1 - std::pow(beta1, steps),
          sums ? 1 : 1 - std::pow(beta2, steps)};
}

void adam_moments(const AdamRule& rule, std::span<const double> g, std::span<double> m, std::span<double> v) {
  const double b1 = rule.beta1, b2 = rule.beta2, one_minus_beta2 = rule.one_minus_beta2;
  for (std::size_t i = 0; i < g.size(); ++i) {
    m[i] = b1 * m[i] + (1 - b1) * g[i];
    v[i] = b2 * v[i] + one_minus_beta2 * g[i] * g[i];
  }
}

void adam_direction(const AdamRule& rule, std::span<const double> m, std::span<const double> v,
                    std::span<double> u) {
  const double c1 = rule.correction1, c2 = rule.correction2, epsilon = rule.epsilon;
  for (std::size_t i = 0; i < m.size(); ++i) u[i] = (m[i] / c1) / (std::sqrt(v[i] / c2) + epsilon);
}

void descent_change(double learning_rate, double weight_decay, std::span<const double> W,
                    std::span<const double> u, std::span<double> change) {
  if (weight_decay == 0) {
    for (std::size_t i = 0; i < u.size(); ++i) change[i] = -learning_rate * u[i];
  } else {
    for (std::size_t i = 0; i < u.size(); ++i) change[i] = -learning_rate * (u[i] + weight_decay * W[i]);
  }
}

}  // namespace lather::optim
