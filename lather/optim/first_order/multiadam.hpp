#pragma once
// MultiAdam (Yao et al. 2023): one Adam per group of loss terms, their directions averaged; as PINNacle @
// 6f8d69c defines it.

#include "lather/core/options.hpp"
#include "lather/optim/first_order/gradient_method.hpp"

namespace lather::optim {

struct MultiAdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.99, beta2 = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0;
  std::vector<double> groups;
  std::vector<double> group_weights;
  void fields(FieldVisitor& v) {
    v.real("learning_rate", learning_rate, "step size", positive());
    v.real("beta1", beta1, "decay rate of the first moments", unit_open_right());
    v.real("beta2", beta2, "decay rate of the second moments", unit_open_right());
    v.real("epsilon", epsilon, "added to the roots of the second moments", non_negative());
    v.real("weight_decay", weight_decay, "added to every group's gradient times the parameters",
           non_negative());
    v.reals(
        "groups", groups,
        "group of each loss term, counted from 0; empty: equations are one, conditions and data the other");
    v.reals("group_weights", group_weights, "weight of each group's direction; empty: 1 / number of groups");
  }
};

struct LossGroups {
  std::vector<std::size_t> of_term;
  std::vector<double> weights;  // of the directions, one per group
};
// Throws Error if the options do not fit the loss terms, or if the number of
// groups is no longer `before` (0: no step has been taken).
LossGroups loss_groups(const MultiAdamOptions& options, const std::vector<bool>& term_is_equation,
                       std::size_t before);
void require_whole_groups(const MultiAdamOptions& options);

class MultiAdam final : public GradientMethod {
 public:
  MultiAdam(const ParameterLayout& layout, const MultiAdamOptions& options);
  std::size_t memory_bytes() const override;
  void state(StateVisitor& visitor) override;

 protected:
  double evaluate(Objective& objective, std::span<const double> x) override;
  void update(std::span<const double> x) override;

 private:
  MultiAdamOptions options_;
  LossGroups groups_;
  std::size_t group_count_ = 0;  // known from the first step on
  std::vector<std::vector<double>> term_gradients_, gradients_;
  std::vector<double> losses_;
  std::vector<double> m_, v_;  // groups × parameters
};

}  // namespace lather::optim
