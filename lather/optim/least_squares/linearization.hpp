#pragma once
// The linearized problem at one x, min over d of |r + J d|^2 + lambda d^T D d, and its solutions for any
// lambda.
//
//   r, J     residuals (value = r^T r) and their Jacobian at x
//   D        mean of diag(J^T J) times I, or diag(J^T J) itself
//
// Four forms of the same solution: primal (Cholesky of J^T J + lambda D, size = parameters), dual (Cholesky
// of J J^T + lambda D, size = residuals, d = -J^T (J J^T + lambda D)^{-1} r), matrix-free conjugate
// gradients, and orthogonal (R of J = Q R, then of [R; sqrt(lambda D)]), which does not square the condition
// number. A fifth, sketch, is the orthogonal form in a random subspace of d.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lather/optim/least_squares/solvers/normal_matrix.hpp"
#include "lather/optim/residuals.hpp"

namespace lather::optim {

enum class LeastSquaresForm { automatic, primal, dual, conjugate_gradients, orthogonal, sketch };
enum class DampingMatrix { identity, marquardt };
enum class Preconditioner { diagonal, nystrom };

struct LinearizationOptions {
  LeastSquaresForm form = LeastSquaresForm::primal;  // not automatic
  DampingMatrix damping = DampingMatrix::identity;
  double cg_tolerance = 1e-8;
  std::int64_t cg_iterations = 500;
  Preconditioner preconditioner = Preconditioner::diagonal;  // for conjugate gradients
  std::size_t rank = 0;                                      // of the Nyström approximation
  std::size_t sketch_columns = 0, sketch_rows = 0;           // rows 0: all rows of J
  bool damp_whole = false;  // orthogonal form: lambda (x + d)^T D (x + d) instead of lambda d^T D d
};

class Linearization {
 public:
  virtual ~Linearization() = default;

  // Linearizes at x, which must stay unchanged until the last solve. `draw` numbers random sketches.
  void build(std::span<const double> x, std::int64_t draw = 0);
  // build(x), damp(lambda) and the resulting path, with the second difference over h: on a GPU, without
  // returning to the host in between. If this is not supported, nothing is done.
  std::optional<Path> build_along_path(std::span<const double> x, double lambda, double h);
  // Conjugate gradients: builds the preconditioner at x, number `draw`.
  virtual void precondition(std::span<const double> /*x*/, std::int64_t /*draw*/) {}
  virtual bool has_preconditioner() const { return true; }  // or needs none
  // Sets the damping for what follows. False if the damped matrix is not positive definite in this
  // precision.
  virtual bool damp(double lambda) = 0;
  virtual void solve(std::span<double> d) = 0;  // d = -(J^T J + lambda D)^{-1} J^T r
  virtual void solve_for(std::span<const double> w, std::span<double> d);  // the same with w for r
  // damp(lambda), and solve(d) unless that failed.
  virtual bool damp_and_solve(double lambda, std::span<double> d);
  // -d|d| / d lambda for the d of solve (not with damp_whole).
  double shrinkage(std::span<const double> d);
  // The decrease the damped model promises for the d of solve (not with damp_whole):
  // -2 d.J^T r - |J d|^2 = d.(lambda D d - J^T r).
  double predicted_decrease(std::span<const double> d) const;

  double value() const { return value_; }
  std::span<const double> Jtr() const { return Jtr_; }
  double mean_diagonal() const { return mean_diagonal_; }  // of J^T J
  double lambda() const { return lambda_; }

  virtual std::string description() const = 0;
  virtual std::size_t bytes() const { return 0; }  // of matrices
  // Eigenvalues of the matrix, descending; empty: there is none, or it is not finite.
  virtual std::vector<double> spectrum() const { return {}; }
  virtual std::int64_t most_cg_iterations() const { return 0; }  // of any solve since build()

  const Residuals& source() const { return residuals_; }
  LeastSquaresForm form() const { return options_.form; }
  bool fits(const Residuals& residuals) const;  // could be built from these

 protected:
  Linearization(Residuals& residuals, const LinearizationOptions& options);
  // Fills value_, Jtr_ and what the form needs; returns the diagonal of J^T J or of J J^T: they have the same
  // sum.
  virtual std::vector<double> linearize() = 0;
  // The same along a path; empty: not supported.
  virtual std::vector<double> linearize_along(const PathRequest& /*request*/, Path& /*path*/) { return {}; }
  void take_diagonal(std::span<const double> diagonal);
  virtual void solve_normal(std::span<double> b) = 0;  // b = (J^T J + lambda D)^{-1} b
  std::vector<double> damping_matrix(std::span<const double> diagonal) const;  // D from diag(J^T J)

  Residuals& residuals_;
  LinearizationOptions options_;
  std::size_t n_, m_;  // parameters, residuals
  std::span<const double> x_;
  std::vector<double> Jtr_, D_;
  double value_ = 0, mean_diagonal_ = 0, lambda_ = 0;
  std::int64_t draw_ = 0;
};

// For the residuals' source; matrices are held next to it.
std::unique_ptr<Linearization> make_linearization(Residuals& residuals, const LinearizationOptions& options);

}  // namespace lather::optim
