#pragma once
// The iteration shared by all methods with a dense inverse Hessian; they differ only in their ScalingRule.

#include <memory>
#include <string>
#include <vector>

#include "lather/core/device.hpp"
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
  void objective_changed() override;
  void set_learning_rate_factor(double) override {}  // the line search sets the length of a step
  std::span<const Diagnostic> diagnostics() const override { return diagnostics_; }
  std::size_t memory_bytes() const override;
  void state(StateVisitor& visitor) override;

 protected:
  // Throws Error if H would not fit into the memory allowed on the device that is to hold it.
  DenseQuasiNewton(const std::string& name, const ParameterLayout& layout,
                   const DenseQuasiNewtonOptions& options, ScalingRule rule, Device device);

 private:
  StepReport take_step(Objective& objective, std::span<double> parameters) override;
  void take_memory();
  void restart();
  void follow(Objective& objective);
  bool find_direction();
  LineSearchResult search(Objective& objective, StepReport& report);

  DenseQuasiNewtonOptions options_;
  ScalingRule rule_;
  std::size_t n_;
  std::unique_ptr<InverseHessian> H_;  // allocated at the first step
  bool on_device_;
  std::vector<double> p_;
  bool fresh_ = true;    // H is the identity
  bool first_ = true;    // no step was taken since the start or restart
  double f_before_ = 0;  // value before the last step; infinite: that of another function
  EvaluatedPoint point_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace lather::optim
