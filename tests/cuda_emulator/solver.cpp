// cuSOLVER of the emulated device: the host's factorizations.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "emulator.hpp"
#include "lather/core/cuda/runtime.hpp"
#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/factorizations.hpp"
#include "stream.hpp"

namespace lather::emulator {
int matrices_diagonalized = 0, failing_dimension = 0, illegal_accesses = 0;
}

namespace lather::cuda {

namespace {

// A handle is the place of its stream.
cudaStream_t& stream_of(cusolverDnHandle_t handle) { return *reinterpret_cast<cudaStream_t*>(handle); }

// Rows of the result are eigenvectors; values ascend.
void eigenvectors(int d, double* matrix, double* values, int* info) {
  std::vector<double> vectors(static_cast<std::size_t>(d) * d), descending(d);
  const auto n = static_cast<std::size_t>(d);
  ++emulator::matrices_diagonalized;
  *info = d == emulator::failing_dimension ||
          !linalg::eigenvectors({matrix, n, n}, descending, {vectors.data(), n, n});
  if (*info) return;
  for (int k = 0; k < d; ++k) {
    values[k] = descending[d - 1 - k];
    for (int i = 0; i < d; ++i) matrix[k * d + i] = vectors[static_cast<std::size_t>(i) * d + d - 1 - k];
  }
}

}  // namespace

const SolverLibrary& solver_library() {
  static const SolverLibrary table{
      [](cusolverDnHandle_t* handle) {
        *handle = reinterpret_cast<cusolverDnHandle_t>(new cudaStream_t{});
        return CUSOLVER_STATUS_SUCCESS;
      },
      [](cusolverDnHandle_t handle) {
        delete &stream_of(handle);
        return CUSOLVER_STATUS_SUCCESS;
      },
      [](cusolverDnHandle_t handle, cudaStream_t stream) {
        stream_of(handle) = stream;
        return CUSOLVER_STATUS_SUCCESS;
      },
      [](cusolverDnParams_t*) { return CUSOLVER_STATUS_SUCCESS; },
      [](cusolverDnParams_t) { return CUSOLVER_STATUS_SUCCESS; },
      // Workspaces grow with the work, as the library's do.
      [](cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, cublasFillMode_t, std::int64_t n,
         cudaDataType, const void*, std::int64_t, cudaDataType, const void*, cudaDataType,
         std::size_t* on_device, std::size_t* on_host, std::int64_t count) {
        *on_device = static_cast<std::size_t>(count * n) * sizeof(double);
        *on_host = 0;
        return CUSOLVER_STATUS_SUCCESS;
      },
      [](cusolverDnHandle_t handle, cusolverDnParams_t, cusolverEigMode_t, cublasFillMode_t, std::int64_t n,
         cudaDataType, void* a, std::int64_t, cudaDataType, void* values, cudaDataType, void* workspace,
         std::size_t workspace_bytes, void*, std::size_t, int* info, std::int64_t count) {
        emulator::enqueue(stream_of(handle), [=] {
          if (!emulator::is_allocated(workspace, workspace_bytes)) ++emulator::illegal_accesses;
          for (std::int64_t i = 0; i < count; ++i)
            eigenvectors(static_cast<int>(n), static_cast<double*>(a) + i * n * n,
                         static_cast<double*>(values) + i * n, info + i);
        });
        return CUSOLVER_STATUS_SUCCESS;
      },
      // The upper triangle of a column-major matrix is the lower one of a row-major matrix.
      [](cusolverDnHandle_t handle, cusolverDnParams_t, cublasFillMode_t, std::int64_t n, std::int64_t,
         cudaDataType, const void* a, std::int64_t lda, cudaDataType, void* b, std::int64_t, int* info) {
        emulator::enqueue(stream_of(handle), [=] {
          const auto d = static_cast<std::size_t>(n);
          std::vector<double> factor(d * d);
          for (std::size_t i = 0; i < d; ++i)
            std::copy_n(static_cast<const double*>(a) + i * lda, d, factor.data() + i * d);
          linalg::cholesky_solve({factor.data(), d, d}, {static_cast<double*>(b), d});
          *info = 0;
        });
        return CUSOLVER_STATUS_SUCCESS;
      }};
  return table;
}

}  // namespace lather::cuda
