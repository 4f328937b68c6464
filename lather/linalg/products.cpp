#include "lather/linalg/products.hpp"

#include "lather/core/interrupt.hpp"
#include "lather/linalg/eigen_maps.hpp"

namespace lather::linalg {

WorkCount& work_count() {
  thread_local WorkCount count;
  return count;
}

namespace {

// Before every product; those of layers' factors take less than a second.
void count_product(std::size_t rows, std::size_t inner, std::size_t cols) {
  poll_stop();
  auto& count = work_count();
  ++count.products;
  count.multiplications += static_cast<std::int64_t>(rows * inner * cols);
}

// Half the work of a full product: the lower triangle, then its mirror image.
template <class Factor>
void accumulate(MatrixView s, double keep, double weight, const Factor& factor) {
  auto S = eigen(s);
  S.template triangularView<Eigen::Lower>() *= keep;
  S.template selfadjointView<Eigen::Lower>().rankUpdate(factor, weight);
  S.template triangularView<Eigen::StrictlyUpper>() = S.transpose();
}

}  // namespace

void multiply(MatrixView out, ConstMatrixView a, ConstMatrixView b) {
  assert(a.cols == b.rows && out.rows == a.rows && out.cols == b.cols);
  count_product(a.rows, a.cols, b.cols);
  eigen(out).noalias() = eigen(a) * eigen(b);
}

void multiply_left_transposed(MatrixView out, ConstMatrixView a, ConstMatrixView b) {
  assert(a.rows == b.rows && out.rows == a.cols && out.cols == b.cols);
  count_product(a.cols, a.rows, b.cols);
  eigen(out).noalias() = eigen(a).transpose() * eigen(b);
}

void multiply_right_transposed(MatrixView out, ConstMatrixView a, ConstMatrixView b) {
  assert(a.cols == b.cols && out.rows == a.rows && out.cols == b.rows);
  count_product(a.rows, a.cols, b.rows);
  eigen(out).noalias() = eigen(a) * eigen(b).transpose();
}

void accumulate_rows(MatrixView s, double keep, double weight, ConstMatrixView g) {
  assert(s.rows == g.rows && s.cols == g.rows);
  count_product(g.rows, g.cols, g.rows);
  accumulate(s, keep, weight, eigen(g));
}

void accumulate_cols(MatrixView s, double keep, double weight, ConstMatrixView g) {
  assert(s.rows == g.cols && s.cols == g.cols);
  count_product(g.cols, g.rows, g.cols);
  accumulate(s, keep, weight, eigen(g).transpose());
}

}  // namespace lather::linalg
