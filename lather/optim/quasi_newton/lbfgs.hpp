#pragma once
// Limited-memory BFGS (Nocedal 1980; Nocedal & Wright, Alg. 7.4 and 7.5) with a strong Wolfe line search.

#include <cstdint>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/optim/line_search/evaluated_point.hpp"
#include "lather/optim/line_search/line_search.hpp"
#include "lather/optim/optimizer.hpp"
#include "lather/optim/quasi_newton/secant_history.hpp"

namespace lather::optim {

enum class CurvatureTest { relative, absolute };

struct LbfgsOptions {
  std::int64_t history = 100;
  double first_step = 1;
  WolfeConditions wolfe{.approximate = 1e-10};
  std::int64_t max_line_search = 25;
  CurvatureTest curvature_test = CurvatureTest::relative;
  double curvature_threshold = 2.220446049250313e-16;
  double tolerance_gradient = 0;
  double tolerance_change = 0;
  void fields(FieldVisitor& v);
};

// torch.optim.LBFGS: absolute thresholds that stop progress once losses and steps are small; for replaying
// recorded trajectories.
LbfgsOptions torch_lbfgs_options();

class Lbfgs final : public Optimizer {
 public:
  Lbfgs(const ParameterLayout& layout, const LbfgsOptions& options);
  void objective_changed() override { point_.known = false; }
  void set_learning_rate_factor(double) override {}  // the line search sets the length of a step
  std::span<const Diagnostic> diagnostics() const override { return diagnostics_; }
  std::size_t memory_bytes() const override { return history_.bytes() + bytes_of(d_) + point_.bytes(); }
  void state(StateVisitor& visitor) override;

 private:
  StepReport take_step(Objective& objective, std::span<double> parameters) override;
  LineSearchResult search(Objective& objective, StepReport& report);
  void remember(std::vector<double> s, std::vector<double> y, StepReport& report);

  LbfgsOptions options_;
  SecantHistory history_;
  std::vector<double> d_;
  bool first_ = true;  // no step since the start or the last restart
  EvaluatedPoint point_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace lather::optim
