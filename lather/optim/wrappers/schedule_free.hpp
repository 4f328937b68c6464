#pragma once
// Schedule-free averaging (Defazio et al. 2024, "The Road Less Scheduled", eqs 1-3) around the step of any
// optimizer.
//
//   y = (1 - beta) z + beta x      the gradient is taken here: between the fast point z and its average x
//   z = z + inner step at y        the inner optimizer moves z as if it were at y
//   x = (1 - c) x + c z            a running mean of all z, weighted by the squared learning-rate factor:
//                                  c = w_t / sum_{i<=t} w_i
//
// The parameters seen from outside are x, the point that is meant to be good at any time without a decaying
// learning rate; the reported loss is at y. beta plays the role of momentum: give the inner optimizer none
// (sgd momentum 0, adam beta1 0). A line search measures from y, not from z, and gains nothing here.

#include <cstdint>
#include <memory>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/optim/kronecker/basis_log.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

struct ScheduleFreeOptions {
  double beta = 0.9;
  void fields(FieldVisitor& v) {
    v.real("beta", beta, "how far the gradient point lies towards the average", between(0, 1));
  }
};

class ScheduleFree final : public Optimizer, public KeepsBasisLog {
 public:
  ScheduleFree(std::unique_ptr<Optimizer> inner, const ScheduleFreeOptions& options)
      : Optimizer(inner->layout()), inner_(std::move(inner)), options_(options) {}
  void objective_changed() override { inner_->objective_changed(); }
  void set_learning_rate_factor(double factor) override {
    factor_ = factor;
    inner_->set_learning_rate_factor(factor);
  }
  const BasisLog* basis_log() const override { return basis_log_of(*inner_); }
  std::span<const Diagnostic> diagnostics() const override { return inner_->diagnostics(); }
  std::size_t memory_bytes() const override { return inner_->memory_bytes() + bytes_of(z_); }
  void state(StateVisitor& v) override;

 private:
  StepReport take_step(Objective& objective, std::span<double> parameters) override;
  void take_gradient_again(Objective& changed, std::span<const double> parameters) override {
    inner_->renew_secant(changed, gradient_point(parameters));
  }
  // y = (1 - beta) z + beta x; x itself before the first step.
  std::vector<double> gradient_point(std::span<const double> x) const;

  std::unique_ptr<Optimizer> inner_;
  ScheduleFreeOptions options_;
  double factor_ = 1, weight_sum_ = 0;
  std::vector<double> z_;
};

}  // namespace lather::optim
