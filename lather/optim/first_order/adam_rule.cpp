#include "lather/optim/first_order/adam_rule.hpp"

#include "lather/optim/formulas/adam.hpp"

namespace lather::optim {

AdamRule adam_rule(double beta1, double beta2, double epsilon, std::int64_t t) {
  const auto steps = static_cast<double>(t);
  return {beta1,
          beta2,
          epsilon,
          weight_of_new(beta2),
          bias_correction(beta1, steps),
          bias_correction(beta2, steps)};
}

void adam_moments(const AdamRule& rule, std::span<const double> g, std::span<double> m, std::span<double> v) {
  const double b1 = rule.beta1, b2 = rule.beta2, one_minus_beta2 = rule.one_minus_beta2;
  for (std::size_t i = 0; i < g.size(); ++i) {
    m[i] = first_moment(b1, m[i], g[i]);
    v[i] = second_moment(b2, one_minus_beta2, v[i], g[i]);
  }
}

void adam_direction(const AdamRule& rule, std::span<const double> m, std::span<const double> v,
                    std::span<double> u) {
  const double c1 = rule.correction1, c2 = rule.correction2, epsilon = rule.epsilon;
  for (std::size_t i = 0; i < m.size(); ++i) u[i] = adam_element(m[i], v[i], c1, c2, epsilon);
}

void descent_change(double learning_rate, double weight_decay, std::span<const double> W,
                    std::span<const double> u, std::span<double> change) {
  for (std::size_t i = 0; i < u.size(); ++i)
    change[i] = descent_element(learning_rate, weight_decay, W[i], u[i]);
}

}  // namespace lather::optim
