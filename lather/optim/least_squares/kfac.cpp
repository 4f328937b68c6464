#include "lather/optim/least_squares/kfac.hpp"

#include <algorithm>
#include <cmath>

#include "lather/core/aligned.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/least_squares/least_squares.hpp"
#include "lather/optim/least_squares/solvers/kronecker_sum.hpp"
#include "lather/optim/line_search/grid.hpp"

namespace lather::optim {

namespace {

void ema(std::vector<double>& average, double rho, std::span<const double> value) {
  for (std::size_t i = 0; i < average.size(); ++i) average[i] = rho * average[i] + (1 - rho) * value[i];
}

std::size_t dimension(const std::vector<double>& square) {
  return static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(square.size()))));
}

double trace(const std::vector<double>& square) {
  double sum = 0;
  for (std::size_t i = 0; i < square.size(); i += dimension(square) + 1) sum += square[i];
  return sum;
}

void add_to_diagonal(std::vector<double>& square, double value) {
  for (std::size_t i = 0; i < square.size(); i += dimension(square) + 1) square[i] += value;
}

linalg::ConstMatrixView square_view(const std::vector<double>& square) {
  return {square.data(), dimension(square), dimension(square)};
}

// Adds the damping to both factors of a pair.
KroneckerFactors::Pair damped(KroneckerFactors::Pair pair, double lambda, KfacOptions::Damping rule) {
  double to_A = lambda, to_B = lambda;
  const double trace_A = trace(pair.A), trace_B = trace(pair.B);
  if (rule == KfacOptions::Damping::trace_norm && trace_A > 0 && trace_B > 0) {
    // pi^2: ratio of the mean eigenvalues of A and B
    const double pi = std::sqrt(trace_A * static_cast<double>(dimension(pair.B)) /
                                (trace_B * static_cast<double>(dimension(pair.A))));
    to_A = std::sqrt(lambda) * pi;
    to_B = std::sqrt(lambda) / pi;
  }
  add_to_diagonal(pair.A, to_A);
  add_to_diagonal(pair.B, to_B);
  return pair;
}

}  // namespace

KfacOptions KfacOptions::star() {
  KfacOptions options;
  options.step = Step::model;
  return options;
}

void KfacOptions::fields(FieldVisitor& v) {
  v.choice("step", step,
           "step and momentum: momentum given and the best of 1, 1/2, ..., 2^-halvings, or both from the "
           "exact quadratic model (K-FAC*)",
           {{"grid", Step::grid}, {"model", Step::model}});
  v.choice(
      "damping_rule", damping_rule,
      "how damping is shared: the same for every factor, or sqrt(damping) weighted by the traces of a pair",
      {{"same", Damping::same}, {"trace-norm", Damping::trace_norm}});
  v.choice("sharing", sharing,
           "how the derivative components of a point enter: as rows of their own, or summed up first",
           {{"expand", Sharing::expand}, {"reduce", Sharing::reduce}});
  v.real("damping", damping, "lambda", positive());
  v.real("averaging", averaging, "rho, the part of the averaged factors that is kept", unit_open_right());
  v.boolean("start_at_identity", start_at_identity,
            "averages start at the identity instead of the first factors");
  v.real("momentum", momentum, "mu (step=grid)", unit_open_right());
  v.integer("halvings", halvings, "smallest step of step=grid is 2^-halvings", non_negative());
}

void Kfac::average(KroneckerFactors factors) {
  if (factors_.layers.empty() && factors_.diagonal.empty()) {
    factors_ = factors;
    if (!options_.start_at_identity) return;
    for (auto& layer : factors_.layers)
      for (auto& pair : layer.groups)
        for (auto* square : {&pair.A, &pair.B}) {
          std::fill(square->begin(), square->end(), 0.0);
          add_to_diagonal(*square, 1);
        }
  }
  const double rho = options_.averaging;
  for (std::size_t l = 0; l < factors.layers.size(); ++l)
    for (std::size_t g = 0; g < factors.layers[l].groups.size(); ++g) {
      ema(factors_.layers[l].groups[g].A, rho, factors.layers[l].groups[g].A);
      ema(factors_.layers[l].groups[g].B, rho, factors.layers[l].groups[g].B);
    }
  ema(factors_.diagonal, rho, factors.diagonal);
}

// False if a factor is not finite.
bool Kfac::precondition(std::span<const double> Jtr, std::span<double> Delta) const {
  for (std::size_t i = 0; i < Delta.size(); ++i)
    Delta[i] = -Jtr[i] / (factors_.diagonal[i] + options_.damping);
  for (const auto& layer : factors_.layers) {
    const auto& weight = layout_.blocks()[layer.weight];
    const std::size_t rows = weight.rows + (layer.bias >= 0), cols = weight.cols;
    AlignedVector G(rows * cols), X(rows * cols);
    std::copy_n(Jtr.data() + weight.offset, weight.size(), G.data());
    double* bias = nullptr;  // the last row
    if (layer.bias >= 0) {
      const std::size_t offset = layout_.blocks()[static_cast<std::size_t>(layer.bias)].offset;
      bias = Delta.data() + offset;
      std::copy_n(Jtr.data() + offset, cols, G.data() + weight.size());
    }
    std::vector<KroneckerFactors::Pair> pairs;
    for (const auto& group : layer.groups)
      pairs.push_back(damped(group, options_.damping, options_.damping_rule));
    KroneckerSum sum;
    const bool two = pairs.size() > 1;
    if (!sum.decompose(square_view(pairs[0].A), square_view(pairs[0].B),
                       two ? square_view(pairs[1].A) : linalg::ConstMatrixView{},
                       two ? square_view(pairs[1].B) : linalg::ConstMatrixView{}))
      return false;
    sum.solve({G.data(), rows, cols}, {X.data(), rows, cols});
    for (std::size_t i = 0; i < weight.size(); ++i) Delta[weight.offset + i] = -X[i];
    if (bias)
      for (std::size_t j = 0; j < cols; ++j) bias[j] = -X[weight.size() + j];
  }
  return all_finite(Delta);
}

StepReport Kfac::take_step(Objective& objective, std::span<double> x) {
  require_residuals(objective, "kfac");
  StepReport report;
  diagnostics_.clear();
  std::vector<double> Jtr(x.size()), Delta(x.size());
  const double value = objective.value_and_gradient(x, Jtr);
  for (double& entry : Jtr) entry /= 2;  // grad = 2 J^T r
  report.evaluations = 1;
  if (!may_step(value, Jtr, report)) return report;
  average(objective.kronecker_factors(x, options_.sharing));
  ++report.evaluations;
  if (!precondition(Jtr, Delta)) {
    report.status = Status::non_finite;
    report.message = "the Kronecker factors are not finite";
    return report;
  }
  if (options_.step == KfacOptions::Step::grid)
    search(objective, x, Delta, report);
  else
    follow_model(objective, x, Delta, Jtr, report);
  return report;
}

void Kfac::search(Objective& objective, std::span<double> x, std::span<const double> Delta,
                  StepReport& report) {
  const bool moving = options_.momentum > 0 && norm(step_) > 0;
  for (double& entry : step_) entry *= options_.momentum;
  add_scaled(step_, 1, Delta);  // Delta^ = mu Delta^_prev + Delta
  double eta = grid_search(objective, x, step_, report.loss, options_.halvings, report);
  if (eta == 0 && moving) {
    // Not in the paper: momentum that points uphill is forgotten.
    std::copy(Delta.begin(), Delta.end(), step_.begin());
    eta = grid_search(objective, x, step_, report.loss, options_.halvings, report);
    report.message = "momentum reset: it pointed uphill";
  }
  diagnostics_.push_back({"all", "eta", eta});
  if (eta == 0)
    say_stalled(options_.halvings, "the rounding floor may be reached", report);
  else
    move(x, eta, step_, report);
}

// Minimizes |r + J (alpha Delta + mu delta)|^2 + lambda |alpha Delta + mu delta|^2 over alpha and mu.
void Kfac::follow_model(Objective& objective, std::span<double> x, std::span<const double> Delta,
                        std::span<const double> Jtr, StepReport& report) {
  const std::size_t m = objective.residual_count();
  const double lambda = options_.damping;
  std::vector<double> J_Delta(m), J_delta(m);
  objective.jacobian_times(x, Delta, J_Delta);
  objective.jacobian_times(x, step_, J_delta);
  report.evaluations += 2;
  const double a = dot(J_Delta, J_Delta) + lambda * dot(Delta, Delta),
               b = dot(J_Delta, J_delta) + lambda * dot(Delta, step_),
               c = dot(J_delta, J_delta) + lambda * dot(step_, step_), f = dot(Jtr, Delta),
               g = dot(Jtr, step_);
  // Departs from the paper: if there is no previous step (or it is parallel to Delta), alpha is the minimizer
  // along Delta; the authors' code uses 1e-6 for its first step.
  const double determinant = a * c - b * b;
  const bool two = determinant > 1e-14 * a * c;
  const double alpha = two ? -(c * f - b * g) / determinant : -f / a;
  const double mu = two ? -(a * g - b * f) / determinant : 0;
  diagnostics_.push_back({"all", "alpha", alpha});
  diagnostics_.push_back({"all", "mu", mu});
  if (!std::isfinite(alpha) || !std::isfinite(mu)) {
    report.status = Status::stalled;
    report.message = "the quadratic model is flat along the direction";
    return;
  }
  for (std::size_t i = 0; i < x.size(); ++i) step_[i] = alpha * Delta[i] + mu * step_[i];
  move(x, 1, step_, report);
}

void Kfac::state(StateVisitor& visitor) {
  std::int64_t layers = static_cast<std::int64_t>(factors_.layers.size());
  visitor.integer("layers", layers);
  factors_.layers.resize(static_cast<std::size_t>(layers));
  for (auto& layer : factors_.layers) {
    std::int64_t weight = static_cast<std::int64_t>(layer.weight), bias = layer.bias,
                 groups = static_cast<std::int64_t>(layer.groups.size());
    visitor.integer("weight", weight);
    visitor.integer("bias", bias);
    visitor.integer("groups", groups);
    layer.weight = static_cast<std::size_t>(weight);
    layer.bias = bias;
    layer.groups.resize(static_cast<std::size_t>(groups));
    for (auto& pair : layer.groups) {
      visitor.array("A", pair.A);
      visitor.array("B", pair.B);
    }
  }
  visitor.array("diagonal", factors_.diagonal);
  visitor.array("step", std::span<double>(step_));
}

}  // namespace lather::optim
