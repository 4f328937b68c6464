#include "lather/optim/least_squares/linearization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lather/core/error.hpp"
#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/factorizations.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/formulas/geodesic.hpp"
#include "lather/optim/least_squares/forms.hpp"
#include "lather/optim/least_squares/least_squares.hpp"
#include "lather/optim/least_squares/solvers/orthogonal_factor.hpp"

namespace lather::optim {

Linearization::Linearization(Residuals& residuals, const LinearizationOptions& options)
    : residuals_(residuals),
      options_(options),
      n_(residuals.size()),
      m_(residuals.residual_count()),
      Jtr_(n_) {}

bool Linearization::fits(const Residuals& residuals) const {
  return &residuals == &residuals_ && residuals.size() == n_ && residuals.residual_count() == m_;
}

void Linearization::build(std::span<const double> x, std::int64_t draw) {
  x_ = x;
  draw_ = draw;
  take_diagonal(linearize());
}

std::optional<Path> Linearization::build_along_path(std::span<const double> x, double lambda, double h) {
  x_ = x;
  Path path;
  const auto diagonal = linearize_along({lambda, h, options_.damping == DampingMatrix::marquardt}, path);
  if (diagonal.empty()) return std::nullopt;
  take_diagonal(diagonal);
  lambda_ = lambda;
  return path;
}

void Linearization::take_diagonal(std::span<const double> diagonal) {
  mean_diagonal_ = std::accumulate(diagonal.begin(), diagonal.end(), 0.0) / static_cast<double>(n_);
  D_ = damping_matrix(diagonal);
}

std::vector<double> Linearization::damping_matrix(std::span<const double> diagonal) const {
  const double mean = std::accumulate(diagonal.begin(), diagonal.end(), 0.0) / static_cast<double>(n_);
  std::vector<double> D(n_, mean);
  if (options_.damping == DampingMatrix::marquardt)
    for (std::size_t i = 0; i < n_; ++i) D[i] = damping_element(true, diagonal[i], mean);
  return D;
}

bool Linearization::damp_and_solve(double lambda, std::span<double> d) {
  if (!damp(lambda)) return false;
  solve(d);
  return true;
}

// By the semi-normal equations: w is a correction (the bend of r), known to a few digits only.
void Linearization::solve_for(std::span<const double> w, std::span<double> d) {
  residuals_.transposed_jacobian_times(x_, w, d);
  negate(d, d);
  solve_normal(d);
}

double Linearization::shrinkage(std::span<const double> d) {
  std::vector<double> z(n_);  // -dd / d lambda
  for (std::size_t i = 0; i < n_; ++i) z[i] = D_[i] * d[i];
  solve_normal(z);
  return dot(d, z) / norm(d);
}

double Linearization::predicted_decrease(std::span<const double> d) const {
  double sum = 0;
  for (std::size_t i = 0; i < n_; ++i) sum += d[i] * (lambda_ * D_[i] * d[i] - Jtr_[i]);
  return sum;
}

namespace {

// A form with a matrix that is factored for every lambda.
class FactoredForm : public Linearization {
 public:
  FactoredForm(Residuals& residuals, const LinearizationOptions& options, std::size_t dimension)
      : Linearization(residuals, options), matrix_(residuals.make_normal_matrix(dimension)) {}

  bool damp(double lambda) override {
    lambda_ = lambda;
    if (form() == LeastSquaresForm::primal) return matrix_->factor(lambda, D_);
    return matrix_->factor(1, std::vector<double>(m_, lambda * mean_diagonal_));
  }

  std::string description() const override {
    const std::size_t d = matrix_->dimension();
    return fmt::format("{} form: Cholesky of a {} × {} matrix, {:.2f} GiB",
                       form() == LeastSquaresForm::primal ? "primal" : "dual", d, d,
                       gibibytes(static_cast<double>(bytes()) / sizeof(double)));
  }
  std::size_t bytes() const override { return matrix_->bytes(); }
  std::vector<double> spectrum() const override {
    const std::size_t d = matrix_->dimension();
    std::vector<double> matrix(d * d), values(d);
    matrix_->copy_lower(matrix);
    if (!linalg::eigenvalues({matrix.data(), d, d}, values)) values.clear();
    return values;
  }

 protected:
  std::unique_ptr<NormalMatrix> matrix_;
};

class PrimalForm final : public FactoredForm {
 public:
  PrimalForm(Residuals& residuals, const LinearizationOptions& options)
      : FactoredForm(residuals, options, residuals.size()) {}

  void solve(std::span<double> d) override {
    negate(Jtr_, d);
    matrix_->solve(d);
  }
  bool damp_and_solve(double lambda, std::span<double> d) override {
    lambda_ = lambda;
    negate(Jtr_, d);
    return matrix_->factor_and_solve(lambda, D_, d);
  }
  void solve_for(std::span<const double> w, std::span<double> d) override {
    matrix_->solve_transposed(x_, w, d);
    negate(d, d);
  }

 private:
  void solve_normal(std::span<double> b) override { matrix_->solve(b); }
  std::vector<double> linearize() override {
    value_ = matrix_->build_normal(x_, Jtr_);
    return matrix_->diagonal();
  }
  std::vector<double> linearize_along(const PathRequest& request, Path& path) override {
    if (!matrix_->build_along_path(x_, request, Jtr_, value_, path)) return {};
    return matrix_->diagonal();
  }
};

class DualForm final : public FactoredForm {
 public:
  DualForm(Residuals& residuals, const LinearizationOptions& options)
      : FactoredForm(residuals, options, residuals.residual_count()), r_(m_) {}

  void solve(std::span<double> d) override { solve_for(r_, d); }
  void solve_for(std::span<const double> w, std::span<double> d) override {
    std::vector<double> v(m_);
    negate(w, v);
    matrix_->solve(v);
    residuals_.transposed_jacobian_times(x_, v, d);
  }

 private:
  // Subtracts from b its part in the row space of J, of which lambda leaves a remainder. Digits are lost if
  // that is small.
  void solve_normal(std::span<double> b) override {
    const double shift = lambda_ * mean_diagonal_;
    std::vector<double> v(m_), within(n_);
    residuals_.jacobian_times(x_, b, v);
    matrix_->solve(v);
    residuals_.transposed_jacobian_times(x_, v, within);
    for (std::size_t i = 0; i < n_; ++i) b[i] = (b[i] - within[i]) / shift;
  }
  std::vector<double> linearize() override {
    matrix_->build_gram(x_, r_);
    value_ = dot(r_, r_);
    residuals_.transposed_jacobian_times(x_, r_, Jtr_);
    return matrix_->diagonal();
  }
  std::vector<double> r_;
};

class OrthogonalForm final : public Linearization {
 public:
  OrthogonalForm(Residuals& residuals, const LinearizationOptions& options)
      : Linearization(residuals, options), factor_(residuals.make_orthogonal_factor()) {}

  bool damp(double lambda) override {
    lambda_ = lambda;
    return factor_->damp(lambda, D_);
  }
  void solve(std::span<double> d) override {
    factor_->solve(d);
    if (!options_.damp_whole) return;
    std::vector<double> whole(n_);  // (J^T J + lambda D)^{-1} lambda D x
    for (std::size_t i = 0; i < n_; ++i) whole[i] = lambda_ * D_[i] * x_[i];
    factor_->solve_normal(whole);
    for (std::size_t i = 0; i < n_; ++i) d[i] -= whole[i];
  }
  std::string description() const override {
    return fmt::format("orthogonal form: QR of the {} × {} Jacobian, {:.2f} GiB", m_, n_,
                       gibibytes(static_cast<double>(bytes()) / sizeof(double)));
  }
  std::size_t bytes() const override { return factor_->bytes(); }
  std::vector<double> spectrum() const override {
    std::vector<double> R(n_ * n_), values(n_);
    factor_->copy_upper(R);
    for (std::size_t i = 0; i < n_; ++i) std::fill_n(R.begin() + static_cast<std::ptrdiff_t>(i * n_), i, 0.0);
    if (!linalg::singular_values({R.data(), n_, n_}, values)) return {};
    for (double& value : values) value *= value;
    return values;
  }

 private:
  std::vector<double> linearize() override {
    value_ = factor_->build(x_, Jtr_);
    return factor_->diagonal();
  }
  void solve_normal(std::span<double> b) override { factor_->solve_normal(b); }
  std::unique_ptr<OrthogonalFactor> factor_;
};

}  // namespace

std::unique_ptr<Linearization> make_linearization(Residuals& residuals, const LinearizationOptions& options) {
  Residuals& source = residuals.source();
  if (options.damp_whole && options.form != LeastSquaresForm::orthogonal)
    throw Error("only the orthogonal form damps x + d");
  switch (options.form) {
    case LeastSquaresForm::primal: return std::make_unique<PrimalForm>(source, options);
    case LeastSquaresForm::dual: return std::make_unique<DualForm>(source, options);
    case LeastSquaresForm::conjugate_gradients: return make_matrix_free_form(source, options);
    case LeastSquaresForm::orthogonal: return std::make_unique<OrthogonalForm>(source, options);
    case LeastSquaresForm::sketch: return make_sketch_form(source, options);
    case LeastSquaresForm::automatic: break;
  }
  throw Error("a linearization needs a form that has been chosen");
}

}  // namespace lather::optim
