#pragma once
// A wrapper: any optimizer with a learning-rate schedule.

#include <cstdint>
#include <memory>
#include <vector>

#include "lather/optim/kronecker/basis_log.hpp"
#include "lather/optim/optimizer.hpp"
#include "lather/optim/wrappers/schedule.hpp"

namespace lather::optim {

class Scheduled final : public Optimizer, public KeepsBasisLog {
 public:
  Scheduled(std::unique_ptr<Optimizer> inner, const ScheduleOptions& options)
      : Optimizer(inner->layout()), inner_(std::move(inner)), options_(options) {
    options_.validate();
  }
  void objective_changed() override { inner_->objective_changed(); }
  void set_learning_rate_factor(double factor) override { outer_factor_ = factor; }
  const BasisLog* basis_log() const override { return basis_log_of(*inner_); }
  std::span<const Diagnostic> diagnostics() const override { return inner_->diagnostics(); }
  std::size_t memory_bytes() const override { return inner_->memory_bytes(); }
  void state(StateVisitor& v) override {
    v.integer("schedule_step", step_);
    v.real("outer_factor", outer_factor_);
    inner_->state(v);
  }

 private:
  StepReport take_step(Objective& objective, std::span<double> parameters) override {
    inner_->set_learning_rate_factor(outer_factor_ * schedule_factor(options_, step_));
    ++step_;
    return inner_->step(objective, parameters);
  }
  StepReport take_steps(Objective& objective, std::span<double> parameters, std::span<const double> factors,
                        std::int64_t& done) override {
    std::vector<double> scheduled(factors.begin(), factors.end());
    for (std::size_t i = 0; i < scheduled.size(); ++i)
      scheduled[i] *= schedule_factor(options_, step_ + static_cast<std::int64_t>(i));
    auto report = inner_->steps(objective, parameters, scheduled, done);
    step_ += done;
    return report;
  }
  void take_gradient_again(Objective& changed, std::span<const double> parameters) override {
    inner_->renew_secant(changed, parameters);
  }
  std::unique_ptr<Optimizer> inner_;
  ScheduleOptions options_;
  std::int64_t step_ = 0;
  double outer_factor_ = 1;
};

}  // namespace lather::optim
