#pragma once
// Levenberg–Marquardt on the residuals: the Gauss–Newton step (J^T J + lambda D) d = -J^T r, bent by its
// acceleration; lambda follows the length of the best step along it (or the gain ratio, or is the smallest
// that still reaches a target gain).
//
//   r, J     residuals (value = r^T r) and their Jacobian         lambda   damping, relative to D
//   D        mean of diag(J^T J) times I, or diag(J^T J) itself   gain     achieved / predicted decrease
//   d, a     step and its acceleration: the path x + s d + s^2/2 a is tried at s = 1, 1/2, 1/4, …
//
// linearization.hpp has the ways to compute d. A network's residuals bend so much along d that most of a
// straight step is lost at any lambda. The geodesic acceleration of Transtrum & Sethna (2012), (J^T J +
// lambda D) a = -J^T r'' with r'' the second derivative of r along d, follows the bend at the cost of three
// values of r and one more solve.

#include "lather/core/options.hpp"
#include "lather/optim/least_squares/linearization.hpp"
#include "lather/optim/least_squares/solvers/cholesky_floor.hpp"
#include "lather/optim/least_squares/solvers/sketch.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

struct LevenbergMarquardtOptions {
  using Form = LeastSquaresForm;
  using Damping = DampingMatrix;
  using Preconditioner = optim::Preconditioner;
  enum class Adaptation { length, gain, target };
  Form form = Form::automatic;
  Damping damping = Damping::identity;
  Adaptation adaptation = Adaptation::length;
  bool acceleration = true;
  double target_gain = 0.25;
  double initial_damping = 1e-3;
  double longest_step = 1;
  double smallest_damping = 1e-18;
  double largest_damping = 1e8;
  std::int64_t tries = 12;
  std::int64_t halvings = 5;
  double max_memory = 0;
  double cg_tolerance = 1e-2;
  std::int64_t cg_iterations = 500;
  Preconditioner preconditioner = Preconditioner::nystrom;
  std::int64_t rank = 0;
  std::int64_t refresh_every = 5;
  std::int64_t sketch_size = 0;
  std::int64_t spectrum_every = 0;
  void fields(FieldVisitor& v);
};

// The form chosen for a source, its matrices limited to `memory_limit` bytes; `orthogonal`: rather than
// primal, if it fits. Throws OutOfMemory if a form that was asked for does not fit.
LeastSquaresForm choose_lm_form(const LevenbergMarquardtOptions& options, const Residuals& source,
                                double memory_limit, bool orthogonal);
// The share of free memory that matrices may take by default, and the bytes that those of the first step do.
double lm_memory_limit(const LevenbergMarquardtOptions& options, const Residuals& source);
double lm_matrix_bytes(const LevenbergMarquardtOptions& options, const Residuals& source,
                       double memory_limit);

class LevenbergMarquardt final : public Optimizer {
 public:
  LevenbergMarquardt(const ParameterLayout& layout, const LevenbergMarquardtOptions& options);
  void set_learning_rate_factor(double) override {}
  void objective_changed() override;
  std::span<const Diagnostic> diagnostics() const override { return diagnostics_; }
  std::size_t memory_bytes() const override;
  void state(StateVisitor& visitor) override;

 private:
  StepReport take_step(Objective& objective, std::span<double> x) override;
  using Form = LeastSquaresForm;
  using Adaptation = LevenbergMarquardtOptions::Adaptation;
  // The linearized problem of this objective, in the form chosen for it.
  Linearization& linearization_of(Objective& objective);
  void use_form(Residuals& source, Form form);
  bool turn_orthogonal(Objective& objective, std::span<const double> x, StepReport& report);
  void renew_preconditioner(std::span<const double> x);
  void judge_preconditioner();
  void linearize(Objective& objective, std::span<const double> x, StepReport& report);
  bool foreseen() const { return path_ && path_->lambda == lambda_; }
  void take_value(Objective& objective, std::span<const double> x, StepReport& report);
  void evaluate_trials(Objective& objective, StepReport& report);
  void accelerate(Objective& objective, std::span<const double> x, StepReport& report);
  enum class TooLong { shorten, reject };
  bool solve_within_limit(std::span<const double> x, TooLong then);
  double search_length(Objective& objective, std::span<const double> x, StepReport& report, double& best);
  bool find_step(Objective& objective, std::span<const double> x, TooLong then, StepReport& report,
                 double& gain);
  double try_step(Objective& objective, std::span<double> x, StepReport& report);
  double decrease(Objective& objective, std::span<double> x, StepReport& report);
  double decrease_by_target(Objective& objective, std::span<double> x, StepReport& report);
  void report_floor(Objective& objective, std::span<const double> x, StepReport& report);
  double least_damping() const;
  void adapt_damping(double gain, double length, double value);
  void report_spectrum();

  std::size_t size_;
  LevenbergMarquardtOptions options_;
  double lambda_ = -1;  // relative to D; negative: not yet set
  CholeskyFloor floor_;
  double growth_ = 2;  // factor for lambda after a failure, doubled by each further one
  std::int64_t steps_ = 0;
  double value_ = 0;                       // at x; other values are compared with it
  bool near_rounding_ = false;             // values are summed in twice the precision
  bool at_limit_ = false;                  // lambda_ gives the longest step allowed
  double promised_ = 0;                    // largest decrease the model promised in this step
  std::vector<double> preconditioned_at_;  // x of the Nyström approximation; empty: to be built
  std::int64_t preconditioner_step_ = 0;   // when it was built
  std::int64_t fresh_iterations_ = 0;      // most of any solve in the step that built it; 0: none yet
  std::vector<Diagnostic> diagnostics_;
  std::unique_ptr<Linearization> linear_;  // kept between steps: its matrices are large
  double memory_limit_ = 0;                // bytes; 0: not yet known
  std::optional<Path> path_;               // for the first lambda, if it came with J^T J
  std::vector<double> direction_, acceleration_;
  std::vector<double> r_;                // residuals at x, once needed in this step
  std::vector<double> trials_, values_;  // points tried together, concatenated; the value at each
};

}  // namespace lather::optim
