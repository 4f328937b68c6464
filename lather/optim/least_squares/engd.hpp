#pragma once
// Energy natural gradient descent (Müller & Zeinhofer, ICML 2023) with the Gramian of the residuals.
//
//   G    J^T J, the Gramian of the linearized residuals     xi   solution of G xi = grad L, grad L = 2 J^T r
//   eta  step: the best of 2^0, …, 2^-halvings; 1/2 is the Gauss–Newton step

#include "lather/core/buffer.hpp"
#include "lather/core/options.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

struct EngdOptions {
  double damping = 0;
  // Departs from the paper: its cut-off is that of the library's least-squares solver, machine epsilon times
  // size. Measured: Poisson, 65 parameters, 60 steps, three seeds: 0.46 to 0.89 of the loss is left with
  // that, 3e-9 to 4e-7 with 1e-10 (1e-11: 0.23 with one seed; 1e-7: stalls at 1e-7).
  double cutoff = 1e-10;
  std::int64_t halvings = 30;
  double max_memory = 4;
  void fields(FieldVisitor& v);
};

class Engd final : public Optimizer {
 public:
  Engd(const ParameterLayout& layout, const EngdOptions& options);
  void set_learning_rate_factor(double) override {}
  std::span<const Diagnostic> diagnostics() const override { return diagnostics_; }
  void state(StateVisitor&) override {}  // nothing is carried from one step to the next

 private:
  StepReport take_step(Objective& objective, std::span<double> x) override;
  bool solve(std::span<const double> gradient, std::span<double> xi);

  std::size_t size_;
  EngdOptions options_;
  Buffer<double> G_, Q_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace lather::optim
