//   D = mask o (X Y^T - M)    f = |D|^2 / |mask|^2    gradients 2 D Y / |mask|^2 and 2 D^T X / |mask|^2

#include <cmath>

#include "matrix/matrix_problem_parts.hpp"
#include "matrix/matrix_problems.hpp"

namespace lather::lab {

using namespace matrix_problem;

void MatrixCompletionOptions::fields(FieldVisitor& v) {
  v.integer("m", m, "rows of M", at_least(1));
  v.integer("n", n, "columns of M", at_least(1));
  v.integer("r", r, "rank of M and of its model", at_least(1));
  v.integer("seed", seed, "of data and starting point", non_negative());
  v.real("observed", observed, "probability that an entry is observed", unit_open_left());
}

struct MatrixCompletion::Data {
  Matrix M, mask;
  double observed = 0;  // |mask|_F^2, the number of observed entries
  Eigen::Index m = 0, n = 0, r = 0;
  ConstMap X(std::span<const double> x) const { return {x.data(), m, r}; }
  ConstMap Y(std::span<const double> x) const { return {x.data() + m * r, n, r}; }
  Matrix model(std::span<const double> x) const { return product_right_transposed(view(X(x)), view(Y(x))); }
  Matrix D(std::span<const double> x) const { return mask.cwiseProduct(model(x) - M); }
};

MatrixCompletion::MatrixCompletion(const MatrixCompletionOptions& o)
    : MatrixProblem(static_cast<std::uint64_t>(o.seed)), data_(std::make_unique<Data>()) {
  layout_.add_matrix("X", static_cast<std::size_t>(o.m), static_cast<std::size_t>(o.r));
  layout_.add_matrix("Y", static_cast<std::size_t>(o.n), static_cast<std::size_t>(o.r));
  auto& d = *data_;
  d.m = o.m, d.n = o.n, d.r = o.r;
  d.M = product_right_transposed(view(normal_matrix(seed_, kA, o.m, o.r)),
                                 view(normal_matrix(seed_, kB, o.n, o.r)));
  d.mask.resize(o.m, o.n);
  const Random random(seed_, kMask);
  for (Eigen::Index i = 0; i < d.mask.size(); ++i)
    d.mask.data()[i] = random.uniform(static_cast<std::uint64_t>(i)) < o.observed ? 1 : 0;
  if (d.mask.sum() == 0) d.mask(0, 0) = 1;
  d.observed = d.mask.sum();
}
MatrixCompletion::~MatrixCompletion() = default;

double MatrixCompletion::value(std::span<const double> x) {
  return data_->D(x).squaredNorm() / data_->observed;
}

double MatrixCompletion::value_and_gradient(std::span<const double> x, std::span<double> gradient) {
  const auto& d = *data_;
  const Matrix D = d.D(x);
  Map(gradient.data(), d.m, d.r) = (2 / d.observed) * product(view(D), view(d.Y(x)));
  Map(gradient.data() + d.m * d.r, d.n, d.r) =
      (2 / d.observed) * product_left_transposed(view(D), view(d.X(x)));
  return D.squaredNorm() / d.observed;
}

std::size_t MatrixCompletion::residual_count() const { return static_cast<std::size_t>(data_->M.size()); }
void MatrixCompletion::residuals(std::span<const double> x, std::span<double> r) {
  Map(r.data(), data_->m, data_->n) = data_->D(x) / std::sqrt(data_->observed);
}

std::vector<std::string> MatrixCompletion::metric_names() const {
  return {"loss",
          "relative_error",
          "gradient_x_condition",
          "gradient_y_condition",
          "gradient_x_nuclear_norm",
          "gradient_y_nuclear_norm"};
}
std::vector<Metric> MatrixCompletion::metrics(std::span<const double> x) {
  const auto& d = *data_;
  std::vector<double> gradient(size());
  const double loss = value_and_gradient(x, gradient);
  const Spectrum gx = spectrum(ConstMap(gradient.data(), d.m, d.r)),
                 gy = spectrum(ConstMap(gradient.data() + d.m * d.r, d.n, d.r));
  return {{"loss", loss},
          {"relative_error", (d.model(x) - d.M).norm() / d.M.norm()},
          {"gradient_x_condition", gx.condition},
          {"gradient_y_condition", gy.condition},
          {"gradient_x_nuclear_norm", gx.nuclear_norm},
          {"gradient_y_nuclear_norm", gy.nuclear_norm}};
}

}  // namespace lather::lab
