#include "matrix/matrix_problem_parts.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "lather/linalg/factorizations.hpp"
#include "lather/linalg/products.hpp"
#include "matrix/matrix_problems.hpp"

namespace lather::lab {

std::vector<double> MatrixProblem::initial_point() const {
  const Random random(seed_, matrix_problem::kStart);
  std::vector<double> x(size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = random.uniform(i, -1, 1);
  return x;
}

namespace matrix_problem {

namespace {
linalg::MatrixView whole(Matrix& A) {
  return {A.data(), static_cast<std::size_t>(A.rows()), static_cast<std::size_t>(A.cols())};
}
Matrix sized(std::size_t rows, std::size_t cols) {
  return Matrix(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(cols));
}
}  // namespace

Matrix product(linalg::ConstMatrixView A, linalg::ConstMatrixView B) {
  Matrix result = sized(A.rows, B.cols);
  linalg::multiply(whole(result), A, B);
  return result;
}
Matrix product_left_transposed(linalg::ConstMatrixView A, linalg::ConstMatrixView B) {
  Matrix result = sized(A.cols, B.cols);
  linalg::multiply_left_transposed(whole(result), A, B);
  return result;
}
Matrix product_right_transposed(linalg::ConstMatrixView A, linalg::ConstMatrixView B) {
  Matrix result = sized(A.rows, B.rows);
  linalg::multiply_right_transposed(whole(result), A, B);
  return result;
}

Matrix least_squares(const Matrix& A, const Matrix& B) {
  Matrix X(A.cols(), B.cols());
  const double threshold =
      std::numeric_limits<double>::epsilon() * static_cast<double>(std::min(A.rows(), A.cols()));
  linalg::solve_least_squares(view(A), view(B), whole(X), threshold);
  return X;
}

Spectrum spectrum(const Matrix& matrix) {
  std::vector<double> sigma(static_cast<std::size_t>(std::min(matrix.rows(), matrix.cols())));
  if (!linalg::singular_values(view(matrix), sigma))
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  return {sigma.back() > 0 ? sigma[0] / sigma.back() : std::numeric_limits<double>::infinity(),
          std::accumulate(sigma.begin(), sigma.end(), 0.0)};
}

}  // namespace matrix_problem
}  // namespace lather::lab
