#pragma once
// R of the QR decomposition of a tall matrix that is never held whole (TSQR): rows arrive in chunks, each
// rotated into the triangle by blocked Householder reflections. R^T R is the sum of products of all rows,
// but R is found without it: singular values are right down to 1e-16 of the largest, those from J^T J only
// down to 1e-8.

#include <cstddef>
#include <span>

#include "lather/core/buffer.hpp"
#include "lather/linalg/matrix.hpp"

namespace lather {
class ThreadTeam;
}

namespace lather::linalg {

class TallQr {
 public:
  // Starts over with R = 0. The last column may be a right-hand side r: it becomes Q^T r, and the corner
  // +-|r - Q Q^T r|.
  void reset(std::size_t columns);
  // Starts from another's R.
  void reset(const TallQr& other);
  // Rotates these rows into R. The bits do not depend on the number of threads.
  void add_rows(ConstMatrixView rows, ThreadTeam* team = nullptr);
  // The same for the rows of diag(values), which may be fewer than there are columns.
  void add_diagonal(std::span<const double> values, ThreadTeam* team = nullptr);
  // Upper triangle, row-major.
  ConstMatrixView R() const { return {R_.data(), columns_, columns_}; }
  std::size_t bytes() const {
    return (R_.size() + chunk_.size() + V_.size() + minus_T_.size()) * sizeof(double);
  }
  static double bytes_of(std::size_t columns, std::size_t rows);  // with `rows` rows at a time

 private:
  static constexpr std::size_t kDiagonalRows = 512;  // at a time
  // The rows are zero before column `first`; diagonal: row i is zero except in column first + i.
  struct Shape {
    std::size_t first;
    bool diagonal;
  };
  void reserve(std::size_t rows);
  double* block(std::size_t b, std::size_t rows);
  // fill(b) writes block b of the rows.
  template <class Fill>
  void rotate(std::size_t rows, Shape shape, ThreadTeam* team, const Fill& fill);

  std::size_t columns_ = 0;
  Buffer<double> R_;
  Buffer<double> chunk_, V_, minus_T_;  // the rows being rotated; reflectors and their triangles
};

// R^{-1} b and R^{-T} b in place, with the leading b.size() rows and columns of an upper triangle.
void solve_upper(ConstMatrixView R, std::span<double> b);
void solve_upper_transposed(ConstMatrixView R, std::span<double> b);

}  // namespace lather::linalg
