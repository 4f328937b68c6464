#include "lather/core/cuda/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "lather/core/device.hpp"
#include "lather/core/error.hpp"
#include "lather/core/gpu_choice.hpp"
#include "lather/core/memory.hpp"

namespace lather::cuda {

namespace {

std::atomic<int> chosen_gpu = -1;  // CUDA's choice

std::string failure(const char* library, const std::string& why, CallSite where) {
  return fmt::format("{}: {} ({}:{})", library, why, where.file, where.line);
}

}  // namespace

void check(cudaError_t status, CallSite where) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // so that the next call does not report this one again
  const std::string message = failure("CUDA", cudaGetErrorString(status), where);
  if (status == cudaErrorMemoryAllocation) throw OutOfMemory(message);
  throw Error(message);
}
void check(cublasStatus_t status, CallSite where) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error(failure("cuBLAS", fmt::format("status {}", static_cast<int>(status)), where));
}
void check(cusolverStatus_t status, CallSite where) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    throw Error(failure("cuSOLVER", fmt::format("status {}", static_cast<int>(status)), where));
}

std::unique_lock<std::recursive_mutex> alone() {
  static std::recursive_mutex mutex;
  return std::unique_lock(mutex);
}

void require_device() {
  if (const auto report = cuda_report(); !report.usable) throw Error("device cuda: " + report.text);
  if (chosen_gpu < 0) return;
  int count = 1;
  check(cudaGetDeviceCount(&count));
  check(cudaSetDevice(chosen_gpu % count));  // for this thread
}

Blas::Blas(cudaStream_t stream) : workspace_(std::size_t(32) << 20) {
  const auto lock = alone();
  check(blas_library().create(&handle_));
  check(blas_library().set_stream(handle_, stream));
  check(blas_library().set_workspace(handle_, workspace_.data(), workspace_.size()));
}
Blas::~Blas() {
  const auto lock = alone();
  if (handle_) blas_library().destroy(handle_);
}

// cuBLAS is column-major: the row-major product C = A B is the column-major C^T = B^T A^T on the same memory.
template <class T>
void Blas::multiply(const Product& p, const T* a, int lda, const T* b, int ldb, T* c, int ldc) const {
  const auto op = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const T alpha = static_cast<T>(p.alpha), beta = static_cast<T>(p.beta);
  const auto gemm = [] {
    if constexpr (sizeof(T) == 8)
      return blas_library().dgemm;
    else
      return blas_library().sgemm;
  }();
  check(gemm(handle_, op(p.transpose_b), op(p.transpose_a), p.n, p.m, p.k, &alpha, b, ldb, a, lda, &beta, c,
             ldc));
}
template void Blas::multiply(const Product&, const double*, int, const double*, int, double*, int) const;
template void Blas::multiply(const Product&, const float*, int, const float*, int, float*, int) const;

void Blas::multiply(const Product& p, int count, const double* const* a, int lda, const double* const* b,
                    int ldb, double* const* c, int ldc) const {
  const auto op = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  check(blas_library().dgemm_batched(handle_, op(p.transpose_b), op(p.transpose_a), p.n, p.m, p.k, &p.alpha,
                                     b, ldb, a, lda, &p.beta, c, ldc, count));
}

// Row-major A is column-major A^T.
void Blas::multiply_vector(const VectorProduct& p, const double* a, const double* v, double* out) const {
  const double one = 1;
  check(blas_library().dgemv(handle_, p.transpose ? CUBLAS_OP_N : CUBLAS_OP_T, p.cols, p.rows, &one, a,
                             p.stride, v, 1, &p.beta, out, 1));
}

// Row-major A is column-major A^T, and the row-major upper triangle is the column-major lower one. On an H200
// general products are faster than dsyrk, so they are used below the diagonal blocks of large matrices
// (16,897 columns, 20,000 rows: 115 ms in four blocks, 125 in sixteen, 149 as a whole; 4,353 columns, 12,000
// rows: 5.05 in two, 5.4 as a whole, 5.5 in four).
void Blas::square(const Square& s, const double* a, int lda, double* c, int ldc) const {
  constexpr int kBlock = 4200, kLeast = 4096;  // measured: bench/cholesky_cuda.cpp
  const double one = 1;
  const auto op = s.of_rows ? CUBLAS_OP_T : CUBLAS_OP_N, other = s.of_rows ? CUBLAS_OP_N : CUBLAS_OP_T;
  const auto rows_from = [&](int i) { return s.of_rows ? a + static_cast<std::size_t>(i) * lda : a + i; };
  const int blocks = s.n < kLeast ? 1 : std::max(2, s.n / kBlock), even = (s.n / blocks + 63) / 64 * 64;
  const int block = s.block > 0 ? s.block : blocks == 1 ? s.n : even;
  for (int from = 0; from < s.n; from += block) {
    const int width = std::min(block, s.n - from), below = s.n - from - width;
    double* corner = c + static_cast<std::size_t>(from) * ldc + from;
    check(blas_library().dsyrk(handle_, CUBLAS_FILL_MODE_LOWER, op, width, s.k, &one, rows_from(from), lda,
                               &s.beta, corner, ldc));
    if (below > 0)
      check(blas_library().dgemm(handle_, op, other, below, width, s.k, &one, rows_from(from + width), lda,
                                 rows_from(from), lda, &s.beta, corner + width, ldc));
  }
}

// Row-major lower C is column-major upper U = C^T: B C^{-1} is (U^{-1} B^T)^T, C^{-1} B is (B^T U^{-1})^T.
void Blas::solve_lower(const LowerSolve& s, const double* c, int ldc, double* b, int ldb) const {
  const double one = 1;
  const auto op = s.transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
  if (s.left)
    check(blas_library().dtrsm(handle_, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, op, CUBLAS_DIAG_NON_UNIT,
                               s.k, s.n, &one, c, ldc, b, ldb));
  else
    check(blas_library().dtrsm(handle_, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, op, CUBLAS_DIAG_NON_UNIT,
                               s.n, s.k, &one, c, ldc, b, ldb));
}

void Blas::solve_transposed(int n, const double* c, int ldc, double* b) const {
  check(blas_library().dtrsv(handle_, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, n, c, ldc, b,
                             1));
}

void Blas::multiply_by_lower(int n, int k, int stride, const double* b, const double* c, double* to) const {
  const double one = 1;
  check(blas_library().dtrmm(handle_, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
                             CUBLAS_DIAG_NON_UNIT, n, k, &one, c, stride, b, stride, to, stride));
}

void Blas::set_stream(cudaStream_t stream) const {
  check(blas_library().set_stream(handle_, stream));
  // Changing the stream resets the workspace.
  check(blas_library().set_workspace(handle_, workspace_.data(), workspace_.size()));
}

Solver::Solver(cudaStream_t stream) {
  const auto lock = alone();
  check(solver_library().create(&handle_));
  check(solver_library().create_params(&params_));
  set_stream(stream);
}
Solver::~Solver() {
  const auto lock = alone();
  if (params_) solver_library().destroy_params(params_);
  if (handle_) solver_library().destroy(handle_);
}
void Solver::set_stream(cudaStream_t stream) const { check(solver_library().set_stream(handle_, stream)); }

void Solver::reserve(std::size_t device_bytes, std::size_t host_bytes) {
  if (workspace_.size() < device_bytes) {
    outgrown_.push_back(std::move(workspace_));
    workspace_ = Memory<std::byte>(device_bytes);
  }
  if (host_workspace_.size() < host_bytes) {
    outgrown_on_host_.push_back(std::move(host_workspace_));
    host_workspace_ = std::vector<std::byte>(host_bytes);
  }
}

// A symmetric matrix is its own transpose: column-major eigenvectors, one per column, are rows to us.
void Solver::eigenvectors(int d, int count, double* matrices, double* values, int* info) {
  std::size_t device_bytes = 0, host_bytes = 0;
  check(solver_library().syev_batched_size(handle_, params_, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER,
                                           d, CUDA_R_64F, matrices, d, CUDA_R_64F, values, CUDA_R_64F,
                                           &device_bytes, &host_bytes, count));
  reserve(device_bytes, host_bytes);
  check(solver_library().syev_batched(handle_, params_, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, d,
                                      CUDA_R_64F, matrices, d, CUDA_R_64F, values, CUDA_R_64F,
                                      workspace_.data(), workspace_.size(), host_workspace_.data(),
                                      host_workspace_.size(), info, count));
}

// The lower triangle of a row-major matrix is the upper one of the column-major matrix cuSOLVER sees.
void Solver::cholesky_solve(int n, const double* factor, int stride, double* b, int* info) {
  check(solver_library().potrs(handle_, params_, CUBLAS_FILL_MODE_UPPER, n, 1, CUDA_R_64F, factor, stride,
                               CUDA_R_64F, b, n, info));
}

Graph::~Graph() {
  if (!executable_) return;
  const auto lock = alone();
  cudaGraphExecDestroy(executable_);
}
void Graph::begin(cudaStream_t stream) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
}
void Graph::give_up(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(stream, &graph) == cudaSuccess) cudaGraphDestroy(graph);
  cudaGetLastError();
}
void Graph::end(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph));
  cudaGraphGetNodes(graph, nullptr, &nodes_);
  const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
  cudaGraphDestroy(graph);
  check(status);
}

}  // namespace lather::cuda

namespace lather {

void use_gpu(int number) { cuda::chosen_gpu = number; }

CudaReport cuda_report() {
  static const CudaReport report = []() -> CudaReport {
    int count = 0;
    if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess || count == 0) {
      cudaGetLastError();
      if (status == cudaErrorInsufficientDriver)
        return {false, "no NVIDIA driver is installed, or it is older than CUDA needs"};
      return {false, fmt::format("no usable GPU: {}",
                                 status == cudaSuccess ? "none is installed" : cudaGetErrorString(status))};
    }
    try {
      cuda::blas_library();
      cuda::rtc_library();
    } catch (const Error& e) {
      return {false, e.what()};
    }
    cudaDeviceProp properties;
    cuda::check(cudaGetDeviceProperties(&properties, 0));
    return {true, fmt::format("{}, compute capability {}.{}, {:.0f} GiB", properties.name, properties.major,
                              properties.minor, static_cast<double>(properties.totalGlobalMem) / (1 << 30))};
  }();
  return report;
}

}  // namespace lather
