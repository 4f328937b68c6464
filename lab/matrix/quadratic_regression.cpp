//   E = A X B - C    f = 1/2 |E|^2    gradient A^T E B^T    Hessian (B B^T) (x) (A^T A)

#include "matrix/matrix_problem_parts.hpp"
#include "matrix/matrix_problems.hpp"

namespace lather::lab {

using namespace matrix_problem;

void QuadraticRegressionOptions::fields(FieldVisitor& v) {
  v.integer("m", m, "rows of X", at_least(1));
  v.integer("n", n, "columns of X", at_least(1));
  v.integer("p", p, "rows of A", at_least(1));
  v.integer("q", q, "columns of B", at_least(1));
  v.integer("seed", seed, "of data and starting point", non_negative());
}

struct QuadraticRegression::Data {
  Matrix A, B, C, X_best;
  template <class X>
  Matrix model(const X& x) const {  // A X B
    return product(view(product(view(A), view(x))), view(B));
  }
  Matrix E(const ConstMap& X) const { return model(X) - C; }
  Matrix gradient(const Matrix& E) const {
    return product_left_transposed(view(A), view(product_right_transposed(view(E), view(B))));
  }
};

QuadraticRegression::QuadraticRegression(const QuadraticRegressionOptions& o)
    : MatrixProblem(static_cast<std::uint64_t>(o.seed)), data_(std::make_unique<Data>()) {
  layout_.add_matrix("X", static_cast<std::size_t>(o.m), static_cast<std::size_t>(o.n));
  auto& [A, B, C, X_best] = *data_;
  A = normal_matrix(seed_, kA, o.p, o.m);
  B = normal_matrix(seed_, kB, o.n, o.q);
  C = normal_matrix(seed_, kC, o.p, o.q);
  // The least-squares solution A^+ C B^+.
  X_best = least_squares(B.transpose(), least_squares(A, C).transpose()).transpose();
}
QuadraticRegression::~QuadraticRegression() = default;

namespace {
ConstMap as_X(const optim::ParameterLayout& layout, std::span<const double> x) {
  const auto& block = layout.blocks()[0];
  return {x.data(), static_cast<Eigen::Index>(block.rows), static_cast<Eigen::Index>(block.cols)};
}
}  // namespace

double QuadraticRegression::value(std::span<const double> x) {
  return 0.5 * data_->E(as_X(layout_, x)).squaredNorm();
}

double QuadraticRegression::value_and_gradient(std::span<const double> x, std::span<double> gradient) {
  const Matrix E = data_->E(as_X(layout_, x));
  Map G(gradient.data(), data_->A.cols(), data_->B.rows());
  G = data_->gradient(E);
  return 0.5 * E.squaredNorm();
}

std::size_t QuadraticRegression::residual_count() const { return static_cast<std::size_t>(data_->C.size()); }
void QuadraticRegression::residuals(std::span<const double> x, std::span<double> r) {
  Map(r.data(), data_->C.rows(), data_->C.cols()) = data_->E(as_X(layout_, x)) * std::sqrt(0.5);
}

std::vector<std::string> QuadraticRegression::metric_names() const {
  return {"loss", "gap", "gradient_condition", "residual_condition", "gradient_nuclear_norm"};
}
std::vector<Metric> QuadraticRegression::metrics(std::span<const double> x) {
  const auto X = as_X(layout_, x);
  const Matrix E = data_->E(X);
  // f(X) - f(X_best) = 1/2 |A (X - X_best) B|^2, because the residual at X_best is orthogonal to the range:
  // no cancellation.
  const double gap = 0.5 * data_->model(Matrix(X - data_->X_best)).squaredNorm();
  const Spectrum gradient = spectrum(data_->gradient(E));
  return {{"loss", 0.5 * E.squaredNorm()},
          {"gap", gap},
          {"gradient_condition", gradient.condition},
          {"residual_condition", spectrum(E).condition},
          {"gradient_nuclear_norm", gradient.nuclear_norm}};
}

}  // namespace lather::lab
