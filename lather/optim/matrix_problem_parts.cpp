#include "lather/optim/matrix_problem_parts.hpp"

#include <limits>

#include "lather/optim/matrix_problems.hpp"

namespace lather::optim {

std::vector<double> MatrixProblem::initial_point() const {
  const Random random(seed_, matrix_problem::kStart);
  std::vector<double> x(size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = random.uniform(i, -1, 1);
  return x;
}

namespace matrix_problem {

Spectrum spectrum(const Matrix& matrix) {
  if (!matrix.allFinite())
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  // The triangular factor has the same singular values and is no larger than the short side.
  const bool tall = matrix.rows() >= matrix.cols();
  const Eigen::MatrixXd upright = tall ? Eigen::MatrixXd(matrix) : Eigen::MatrixXd(matrix.transpose());
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(upright);
  const Eigen::MatrixXd R = qr.matrixQR().topRows(upright.cols()).triangularView<Eigen::Upper>();
  const Eigen::VectorXd sigma = Eigen::BDCSVD<Eigen::MatrixXd>(R).singularValues();
  const double smallest = sigma(sigma.size() - 1);
  return {smallest > 0 ? sigma(0) / smallest : std::numeric_limits<double>::infinity(), sigma.sum()};
}

}  // namespace matrix_problem
}  // namespace lather::optim
