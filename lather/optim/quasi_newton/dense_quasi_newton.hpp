#pragma once
// The iteration that all methods with a dense inverse Hessian share; they differ in their ScalingRule only.

#include <memory>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/optim/line_search/evaluated_point.hpp"
#include "lather/optim/line_search/line_search.hpp"
#include "lather/optim/optimizer.hpp"
#include "lather/optim/quasi_newton/inverse_hessian.hpp"

namespace lather::optim {

struct DenseQuasiNewtonOptions {
  WolfeConditions wolfe{.approximate = 1e-10};
  bool initial_scale = false;
  double tolerance_gradient = 0;
  double max_memory = 0;
  void fields(FieldVisitor& v);
};

class DenseQuasiNewton : public Optimizer {
 public:
  StepReport step(Objective& objective, std::span<double> parameters) override;
  void objective_changed() override { point_.known = false; }
  void set_learning_rate_factor(double) override {}  // the line search sets the length of a step
  std::span<const Diagnostic> diagnostics() const override { return diagnostics_; }
  std::size_t memory_bytes() const override { return n_ * n_ * sizeof(double); }
  void state(StateVisitor& visitor) override;

 protected:
  // Throws Error if H would not fit into the memory allowed.
  DenseQuasiNewton(const std::string& name, const ParameterLayout& layout,
                   const DenseQuasiNewtonOptions& options, ScalingRule rule);

 private:
  void restart();
  void follow(Objective& objective);
  bool find_direction();
  LineSearchResult search(Objective& objective, StepReport& report);

  DenseQuasiNewtonOptions options_;
  ScalingRule rule_;
  std::size_t n_;
  std::unique_ptr<InverseHessian> H_;
  bool on_device_ = false;
  std::vector<double> p_;
  bool fresh_ = true;  // H is the identity
  bool first_ = true;  // no step was taken yet
  double f_before_ = 0;
  EvaluatedPoint point_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace lather::optim
