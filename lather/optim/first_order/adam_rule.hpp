#pragma once
// Adam's update direction (Kingma & Ba 2015), written once: Adam uses it on all parameters, the matrix
// methods on blocks that are not matrices, SS-eSOAP on the rotated gradient.

#include <cstdint>
#include <span>

namespace lather::optim {

struct AdamRule {
  double beta1, beta2, epsilon;
  double one_minus_beta2;           // 1 - beta2; 1 if beta2 = 1, when squares are summed
  double correction1, correction2;  // 1 - beta^t: undo the bias of moments that started at zero; 1 for sums
};

AdamRule adam_rule(double beta1, double beta2, double epsilon, std::int64_t t);

// m = b1 m + (1 - b1) g,   v = b2 v + one_minus_beta2 g^2
void adam_moments(const AdamRule& rule, std::span<const double> g, std::span<double> m, std::span<double> v);

// u = (m / correction1) / (sqrt(v / correction2) + epsilon)
void adam_direction(const AdamRule& rule, std::span<const double> m, std::span<const double> v,
                    std::span<double> u);

// change = -learning_rate (u + weight_decay W): a descent step with decoupled weight decay.
// `change` and `u` may be the same array.
void descent_change(double learning_rate, double weight_decay, std::span<const double> W,
                    std::span<const double> u, std::span<double> change);

}  // namespace lather::optim
