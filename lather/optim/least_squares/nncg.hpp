#pragma once
// NysNewton-CG (Rathore, Lei, Frangella, Lu & Udell, ICML 2024): damped Newton steps by conjugate gradients,
// with a randomized low-rank preconditioner and Armijo backtracking.
//
//   H        Hessian of the value           mu    damping: (H + mu I) d = g, x -= t d
//   P        preconditioner from a Nyström approximation of H of rank `rank`: solvers/nystrom.hpp
//
// Products with H: central differences of the gradient (exact up to about eps^(2/3)), or the Gauss–Newton
// matrix 2 J^T J (exact products, no negative curvature).

#include "lather/core/options.hpp"
#include "lather/optim/least_squares/solvers/nystrom.hpp"
#include "lather/optim/line_search/evaluated_point.hpp"

namespace lather::optim {

struct NysNewtonCgOptions {
  enum class Hessian { differences, gauss_newton };
  Hessian hessian = Hessian::differences;
  double damping = 1e-4;
  std::int64_t rank = 60;
  std::int64_t refresh_every = 20;
  double cg_tolerance = 1e-8;
  std::int64_t cg_iterations = 1000;
  double sufficient_decrease = 0.1;
  double backtracking = 0.5;
  std::int64_t seed = 0;
  void fields(FieldVisitor& v);
};

class NysNewtonCg final : public Optimizer {
 public:
  NysNewtonCg(const ParameterLayout& layout, const NysNewtonCgOptions& options);
  void objective_changed() override { point_.known = false; }
  void set_learning_rate_factor(double) override {}  // the line search sets the length of a step
  std::span<const Diagnostic> diagnostics() const override { return diagnostics_; }
  void state(StateVisitor& visitor) override;

 private:
  StepReport take_step(Objective& objective, std::span<double> x) override;
  void hessian_times(Objective& objective, std::span<const double> x, std::span<const double> v,
                     std::span<double> Hv, StepReport& report) const;
  NysNewtonCg(const ParameterLayout& layout, const NysNewtonCgOptions& options,
              std::unique_ptr<HostVectorBlocks> blocks);
  void sketch(Objective& objective, std::span<const double> x, StepReport& report);
  void newton_direction(Objective& objective, std::span<const double> x, StepReport& report);

  NysNewtonCgOptions options_;
  HostVectorBlocks& blocks_;  // owned by nystrom_
  Nystrom nystrom_;
  std::vector<double> d_;
  std::int64_t steps_ = 0;
  EvaluatedPoint point_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace lather::optim
