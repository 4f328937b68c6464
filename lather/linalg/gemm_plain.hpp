#pragma once
// The specification of gemm.hpp as plain loops; the fast kernels are tested against it.

#include <cstddef>

namespace lather::linalg::plain {

// Z = A W + bias on the first bias_rows rows (bias may be null); with accumulate, += instead of =. W is
// row-major k x n.
template <class T>
void multiply(std::size_t rows, const T* A, std::size_t lda, const T* W, std::size_t k, std::size_t n, T* Z,
              std::size_t ldz, const T* bias, std::size_t bias_rows, bool accumulate) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      T sum = accumulate ? Z[i * ldz + j] : T(0);
      if (bias && i < bias_rows) sum += bias[j];
      for (std::size_t p = 0; p < k; ++p) sum += A[i * lda + p] * W[p * n + j];
      Z[i * ldz + j] = sum;
    }
}

// W += A^T G.
template <class T>
void add_outer(std::size_t rows, const T* A, std::size_t lda, std::size_t k, const T* G, std::size_t ldg,
               std::size_t n, T* W, std::size_t ldw) {
  for (std::size_t p = 0; p < k; ++p)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < rows; ++i) W[p * ldw + j] += A[i * lda + p] * G[i * ldg + j];
}

// b += the sum of the rows of G.
template <class T>
void add_column_sums(std::size_t rows, const T* G, std::size_t ldg, std::size_t n, T* b) {
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < rows; ++i) b[j] += G[i * ldg + j];
}

}  // namespace lather::linalg::plain
