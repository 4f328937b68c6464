#pragma once
// Levenberg–Marquardt on the residuals: the Gauss–Newton step (J^T J + lambda D) d = -J^T r, damped by the
// gain ratio.
//
//   r, J     residuals (value = r^T r) and their Jacobian         lambda   damping
//   D        mean of diag(J^T J) times I, or diag(J^T J) itself   gain     achieved / predicted decrease
//   d, a     step and its acceleration: the path x + s d + s^2/2 a is tried at s = 1, 1/2, 1/4, …
//
// Three ways to the same step: primal (Cholesky of J^T J, size = parameters), dual (Cholesky of J J^T, size =
// residuals, d = -J^T (J J^T + lambda D)^{-1} r), and matrix-free conjugate gradients where neither matrix
// fits in memory.
//
// A network's residuals bend so much along d that most of a straight step is lost at any lambda. The geodesic
// acceleration of Transtrum & Sethna (2012), (J^T J + lambda D) a = -J^T r'' with r'' the second derivative
// of r along d, follows the bend for three values of r and one more solution.

#include "lather/core/buffer.hpp"
#include "lather/core/options.hpp"
#include "lather/optim/cuda/normal_matrix.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

struct LevenbergMarquardtOptions {
  enum class Form { automatic, primal, dual, conjugate_gradients };
  enum class Damping { identity, marquardt };
  enum class Adaptation { length, gain };
  Form form = Form::automatic;
  Damping damping = Damping::identity;
  Adaptation adaptation = Adaptation::length;
  bool acceleration = true;
  double initial_damping = 1e-3;
  double smallest_damping = 1e-18;
  double largest_damping = 1e8;
  std::int64_t tries = 12;
  std::int64_t halvings = 5;
  double max_memory = 4;
  double cg_tolerance = 1e-8;
  std::int64_t cg_iterations = 500;
  std::int64_t spectrum_every = 0;
  void fields(FieldVisitor& v);
};

class LevenbergMarquardt final : public Optimizer {
 public:
  LevenbergMarquardt(const ParameterLayout& layout, const LevenbergMarquardtOptions& options);
  StepReport step(Objective& objective, std::span<double> x) override;
  void set_learning_rate_factor(double) override {}
  std::span<const Diagnostic> diagnostics() const override { return diagnostics_; }
  void state(StateVisitor& visitor) override;

 private:
  using Form = LevenbergMarquardtOptions::Form;
  using Damping = LevenbergMarquardtOptions::Damping;
  using Adaptation = LevenbergMarquardtOptions::Adaptation;
  struct Matrices {  // kept between steps: they are large
    Buffer<double> matrix, factor;
    void resize(std::size_t dimension);
    std::unique_ptr<DeviceNormalMatrix> device;  // of the objective `owner`; null: on the host
    CudaObjective* owner = nullptr;
    void follow(Objective& objective, Form form);
  };
  struct System;  // the linearized problem at one x, solvable for any lambda
  Form choose_form(std::size_t residuals) const;
  double search_length(Objective& objective, double value, std::span<const double> x, StepReport& report,
                       double& best);
  double decrease(Objective& objective, System& system, std::span<double> x, StepReport& report);
  void adapt_damping(double gain, double length);
  void report_spectrum(const System& system);

  std::size_t size_;
  LevenbergMarquardtOptions options_;
  double lambda_ = -1;  // relative to D; negative: not yet set
  double growth_ = 2;   // of lambda after a failure, doubled by each further one
  std::int64_t steps_ = 0;
  std::vector<Diagnostic> diagnostics_;
  Matrices matrices_;
  std::vector<double> direction_, acceleration_, trial_;
};

}  // namespace lather::optim
