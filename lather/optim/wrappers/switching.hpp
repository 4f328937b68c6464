#pragma once
// One optimizer first, another later (Adam, then L-BFGS): at a given step, on a plateau of the loss, or when
// the first can do no more.

#include <cstdint>
#include <memory>

#include "lather/core/options.hpp"
#include "lather/optim/kronecker/basis_log.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

struct SwitchOptions {
  std::int64_t at_step = 0;
  std::int64_t plateau_steps = 0;
  double plateau_decrease = 0.01;
  void fields(FieldVisitor& v) {
    v.integer("at_step", at_step, "switch before this step; 0: not by the step", non_negative());
    v.integer("plateau_steps", plateau_steps,
              "switch when the best loss has not gone down for this many steps; 0: not by a plateau",
              non_negative());
    v.real("plateau_decrease", plateau_decrease, "relative decrease of the best loss that counts as progress",
           unit_open_right());
  }
};

class Switching final : public Optimizer, public KeepsBasisLog {
 public:
  Switching(std::unique_ptr<Optimizer> first, std::unique_ptr<Optimizer> second, const SwitchOptions& options)
      : Optimizer(first->layout()), first_(std::move(first)), second_(std::move(second)), options_(options) {}
  void objective_changed() override { current().objective_changed(); }
  void set_learning_rate_factor(double factor) override {
    first_->set_learning_rate_factor(factor);
    second_->set_learning_rate_factor(factor);
  }
  const BasisLog* basis_log() const override { return basis_log_of(switched_ ? *second_ : *first_); }
  std::span<const Diagnostic> diagnostics() const override {
    return (switched_ ? *second_ : *first_).diagnostics();
  }
  std::size_t memory_bytes() const override { return first_->memory_bytes() + second_->memory_bytes(); }
  void state(StateVisitor& v) override;
  bool switched() const { return switched_; }

 private:
  StepReport take_step(Objective& objective, std::span<double> parameters) override;
  void take_gradient_again(Objective& changed, std::span<const double> parameters) override {
    current().renew_secant(changed, parameters);
  }
  Optimizer& current() { return switched_ ? *second_ : *first_; }
  bool on_plateau(double loss);

  std::unique_ptr<Optimizer> first_, second_;
  SwitchOptions options_;
  std::int64_t step_ = 0, steps_since_best_ = 0;
  double best_ = 0;
  bool has_best_ = false, switched_ = false;
};

}  // namespace lather::optim
