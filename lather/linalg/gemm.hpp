#pragma once
// The three matrix products of a dense layer on stacked jets, for T = double and float, single-threaded,
// without allocation. Their specification is gemm_plain.hpp. All matrices are row-major with a leading
// dimension (distance between rows, in elements); any sizes, including 0 and 1.
//
// Padding contract. padded_columns(n) is n rounded up to whole vectors. For a matrix of n columns that a
// product writes (Z, W of add_outer) or reads by vectors (G) the leading dimension is >= padded_columns(n),
// and the last row has its padding too: allocate rows * ld elements. Columns n .. padded_columns(n) - 1 of an
// output are overwritten: by multiply with zeros (with accumulate: left as they are), by add_outer with +=
// the products of G's padding. The contents of the padding of G or A never reach a column below n. A of
// either product is read only in its own columns and needs no padding.
//
// Order of summation. Every element is one chain of multiply-adds that starts from its previous value
// (accumulate, add_outer, add_column_sums), else from the bias or 0, and runs over the summed index in
// increasing order. So a row of multiply does not depend on which rows it is computed together with, and
// sums over rows may be split over consecutive calls: same bits. With Sums::apart, chains start from 0,
// cover at most 256 terms in multiply and 96 in add_outer, and are added to the previous value at their end:
// much less is lost when that value is large compared with the terms.

#include <cstddef>

#include "lather/core/buffer.hpp"

namespace lather::linalg {

enum class Sums { in_chain, apart };

// n rounded up to whole vectors of T on this machine.
template <class T>
std::size_t padded_columns(std::size_t n);

// The leading dimension to use for a matrix of n columns: padded_columns(n), plus one vector if rows would
// otherwise be a multiple of 512 bytes apart and compete for the same sets of the first-level cache.
// Measured: add_outer gains 2 to 5 %, multiply nothing.
template <class T>
std::size_t padded_width(std::size_t n);

// A right-hand factor W (k x n), converted from double and stored in column panels as wide as the
// micro-kernel's tile (the last panel one vector wide if that is enough), zero-padded.
template <class T>
class PackedMatrix {
 public:
  // W is the contiguous row-major rows x cols matrix at `source`, or its transpose (then k = cols, n = rows).
  // Reuses its memory: allocates only when the size grows.
  void pack(const double* source, std::size_t rows, std::size_t cols, bool transpose);

  std::size_t rows() const { return rows_; }  // k
  std::size_t cols() const { return cols_; }  // n
  const T* data() const { return data_.data(); }

 private:
  Buffer<T> data_;
  std::size_t rows_ = 0, cols_ = 0;
};

// Z (rows x n) = A (rows x k) W, or += with accumulate; bias (n values, may be null) is added to the first
// bias_rows rows.
template <class T>
void multiply(std::size_t rows, const T* A, std::size_t lda, const PackedMatrix<T>& W, T* Z, std::size_t ldz,
              const T* bias, std::size_t bias_rows, bool accumulate, Sums sums = Sums::in_chain);

// W (k x n) += A^T G, with A rows x k and G rows x n.
template <class T>
void add_outer(std::size_t rows, const T* A, std::size_t lda, std::size_t k, const T* G, std::size_t ldg,
               std::size_t n, T* W, std::size_t ldw, Sums sums = Sums::in_chain);

// b (n values, no padding) += the sum of the rows of G (rows x n).
template <class T>
void add_column_sums(std::size_t rows, const T* G, std::size_t ldg, std::size_t n, T* b);

}  // namespace lather::linalg
