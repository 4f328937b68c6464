// cuBLAS of the emulated device: plain loops.
#include "lather/core/cuda/runtime.hpp"
#include "stream.hpp"

namespace lather::cuda {

namespace {

// A handle is the place of its stream.
cudaStream_t& stream_of(cublasHandle_t handle) { return *reinterpret_cast<cudaStream_t*>(handle); }
template <class Work>
void enqueue(cublasHandle_t handle, const Work& work) {
  emulator::enqueue(stream_of(handle), work);
}

// C = alpha op(A) op(B) + beta C, column-major, as in cuBLAS.
template <class T>
void multiply(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, T alpha, const T* a, int lda,
              const T* b, int ldb, T beta, T* c, int ldc) {
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      double sum = 0;
      for (int l = 0; l < k; ++l)
        sum += static_cast<double>(ta == CUBLAS_OP_N ? a[i + static_cast<std::size_t>(l) * lda]
                                                     : a[l + static_cast<std::size_t>(i) * lda]) *
               (tb == CUBLAS_OP_N ? b[l + static_cast<std::size_t>(j) * ldb]
                                  : b[j + static_cast<std::size_t>(l) * ldb]);
      T& target = c[i + static_cast<std::size_t>(j) * ldc];
      target = static_cast<T>(alpha * sum + (beta == 0 ? 0 : beta * target));
    }
}
template <class T>
cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                    const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc) {
  enqueue(handle,
          [=, al = *alpha, be = *beta] { multiply(ta, tb, m, n, k, al, a, lda, b, ldb, be, c, ldc); });
  return CUBLAS_STATUS_SUCCESS;
}

// The same for matrices whose addresses are read when the work is done.
cublasStatus_t gemm_batched(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                            int k, const double* alpha, const double* const* a, int lda,
                            const double* const* b, int ldb, const double* beta, double* const* c, int ldc,
                            int count) {
  enqueue(handle, [=, al = *alpha, be = *beta] {
    for (int i = 0; i < count; ++i) multiply(ta, tb, m, n, k, al, a[i], lda, b[i], ldb, be, c[i], ldc);
  });
  return CUBLAS_STATUS_SUCCESS;
}

// y = alpha op(A) x + beta y with A m x n.
cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t t, int m, int n, const double* alpha,
                    const double* a, int lda, const double* x, int incx, const double* beta, double* y,
                    int incy) {
  if (incx != 1 || incy != 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  const int size = t == CUBLAS_OP_N ? m : n, inner = t == CUBLAS_OP_N ? n : m;
  return gemm<double>(handle, t, CUBLAS_OP_N, size, 1, inner, alpha, a, lda, x, inner, beta, y, size);
}

// One triangle of C = alpha op(A) op(A)^T + beta C; the other is left alone.
cublasStatus_t syrk(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t t, int n, int k,
                    const double* alpha, const double* a, int lda, const double* beta, double* c, int ldc) {
  enqueue(handle, [=, al = *alpha, be = *beta] {
    const auto entry = [&](int i, int l) {
      return t == CUBLAS_OP_N ? a[i + static_cast<std::size_t>(l) * lda]
                              : a[l + static_cast<std::size_t>(i) * lda];
    };
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        if (fill == CUBLAS_FILL_MODE_LOWER ? i < j : i > j) continue;
        double sum = 0;
        for (int l = 0; l < k; ++l) sum += entry(i, l) * entry(j, l);
        double& target = c[i + static_cast<std::size_t>(j) * ldc];
        target = al * sum + (be == 0 ? 0 : be * target);
      }
  });
  return CUBLAS_STATUS_SUCCESS;
}

// The entry of op(A) of an upper triangle.
double upper_entry(const double* a, int lda, cublasOperation_t op, int i, int j) {
  if (op == CUBLAS_OP_T) std::swap(i, j);
  return i > j ? 0 : a[i + static_cast<std::size_t>(j) * lda];
}

// B (m x n) = op(A)^{-1} B or B op(A)^{-1}, A upper triangular, in the forms Lather uses.
cublasStatus_t trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,
                    cublasDiagType_t, int m, int n, const double* alpha, const double* a, int lda, double* b,
                    int ldb) {
  if (fill != CUBLAS_FILL_MODE_UPPER || *alpha != 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  enqueue(handle, [=] {
    const bool left = side == CUBLAS_SIDE_LEFT;
    const int size = left ? m : n, others = left ? n : m;
    // One right-hand side after another: T y = b with T = op(A), or with T = op(A)^T for rows of B.
    const bool from_the_last = (op == CUBLAS_OP_N) == left;
    for (int k = 0; k < others; ++k)
      for (int step = 0; step < size; ++step) {
        const int i = from_the_last ? size - 1 - step : step;
        const auto at = [&](int l) -> double& {
          return left ? b[l + static_cast<std::size_t>(k) * ldb] : b[k + static_cast<std::size_t>(l) * ldb];
        };
        double sum = at(i);
        for (int before = 0; before < step; ++before) {
          const int l = from_the_last ? size - 1 - before : before;
          sum -= (left ? upper_entry(a, lda, op, i, l) : upper_entry(a, lda, op, l, i)) * at(l);
        }
        at(i) = sum / upper_entry(a, lda, op, i, i);
      }
  });
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t trsv(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op,
                    cublasDiagType_t diagonal, int n, const double* a, int lda, double* x, int step) {
  static const double one = 1;
  if (step != 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  return trsm(handle, CUBLAS_SIDE_LEFT, fill, op, diagonal, n, 1, &one, a, lda, x, n);
}

// C (m x n) = A B, A upper triangular.
cublasStatus_t trmm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,
                    cublasDiagType_t, int m, int n, const double* alpha, const double* a, int lda,
                    const double* b, int ldb, double* c, int ldc) {
  if (side != CUBLAS_SIDE_LEFT || fill != CUBLAS_FILL_MODE_UPPER || *alpha != 1)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  enqueue(handle, [=] {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int l = 0; l < m; ++l)
          sum += upper_entry(a, lda, op, i, l) * b[l + static_cast<std::size_t>(j) * ldb];
        c[i + static_cast<std::size_t>(j) * ldc] = sum;
      }
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

const BlasLibrary& blas_library() {
  static const BlasLibrary table{[](cublasHandle_t* h) {
                                   *h = reinterpret_cast<cublasHandle_t>(new cudaStream_t{});
                                   return CUBLAS_STATUS_SUCCESS;
                                 },
                                 [](cublasHandle_t h) {
                                   delete &stream_of(h);
                                   return CUBLAS_STATUS_SUCCESS;
                                 },
                                 [](cublasHandle_t h, cudaStream_t stream) {
                                   stream_of(h) = stream;
                                   return CUBLAS_STATUS_SUCCESS;
                                 },
                                 [](cublasHandle_t, void*, std::size_t) { return CUBLAS_STATUS_SUCCESS; },
                                 gemm<double>,
                                 gemm<float>,
                                 gemm_batched,
                                 gemv,
                                 syrk,
                                 trsm,
                                 trsv,
                                 trmm};
  return table;
}

}  // namespace lather::cuda
