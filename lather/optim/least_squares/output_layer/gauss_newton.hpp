#pragma once
// Gauss–Newton by QR, with next to no damping: for residuals that bend little, such as those of a network
// whose hidden layers are fixed (`network.train = "output"`), where training takes only a handful of steps.
//
//   min over d of |r + J d|^2 + n (cutoff |D (x + d)|)^2   by QR of J, so the condition number is not squared;
//                                                          D: the norms of the n columns of J
//   x + s d for s = 1, 1/2, 1/4, …                         the first that lowers the value enough
//
// The cutoff falls from first_cutoff to the least: from step to step, as long as |r + J d|^2 is not a small
// part of |r|^2. A first step with the least cutoff would fit the nonlinear part of r with enormous
// parameters in directions that J hardly sees, and rounding leaves a tenth of those, or all of them, to the
// next step. For the same reason x + d is kept small, not d: parameters handed from one time window to the
// next would otherwise accumulate in such directions, and J cannot undo what they do beyond that window.
// If no s lowers the value, the cutoff is raised for this step. Converged: the step promises hardly any
// decrease, or no more than rounding could make it promise, and does not deliver it.

#include <memory>

#include "lather/core/options.hpp"
#include "lather/optim/least_squares/linearization.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

struct GaussNewtonOptions {
  double cutoff = 1e-18;
  double first_cutoff = 1e-10;
  double enough = 1e-4;
  double tolerance = 0.05;
  std::int64_t halvings = 6;
  std::int64_t tries = 5;
  void fields(FieldVisitor& v);
};

class GaussNewton final : public Optimizer {
 public:
  GaussNewton(const ParameterLayout& layout, const GaussNewtonOptions& options);
  void objective_changed() override {}
  void set_learning_rate_factor(double) override {}
  std::span<const Diagnostic> diagnostics() const override { return diagnostics_; }
  std::size_t memory_bytes() const override;
  void state(StateVisitor& visitor) override;

 private:
  StepReport take_step(Objective& objective, std::span<double> x) override;
  double lambda(double cutoff) const {
    return cutoff * cutoff * static_cast<double>(size_);
  }  // of diag J^T J
  void take_value(Residuals& source, std::span<const double> x, StepReport& report);
  double value_of_model(Residuals& source, std::span<const double> x) const;
  double solve(Residuals& source, std::span<const double> x, double cutoff);
  double descend(Residuals& source, std::span<const double> x);
  double search(Objective& objective, std::span<const double> x, double promised, StepReport& report);

  std::size_t size_;
  GaussNewtonOptions options_;
  std::unique_ptr<Linearization> linear_;
  std::vector<double> residuals_;  // of this step, for all its cutoffs
  std::vector<double> direction_, trial_;
  double cutoff_;               // of the last step
  double value_ = 0;            // at x; other values are compared with it
  bool near_rounding_ = false;  // values are summed in twice the precision
  double value_after_ = 0;      // where the last search ended
  std::int64_t steps_ = 0;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace lather::optim
