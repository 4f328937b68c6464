#include "lather/core/cuda.hpp"

#include <fmt/format.h>

#include "lather/core/device.hpp"
#include "lather/core/error.hpp"

namespace lather::cuda {

namespace {

[[noreturn]] void fail(const char* library, const std::string& why, const std::source_location& where) {
  throw Error(fmt::format("{}: {} ({}:{})", library, why, where.file_name(), where.line()));
}

}  // namespace

void check(cudaError_t status, std::source_location where) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // so that the next call does not report this one again
  fail("CUDA", cudaGetErrorString(status), where);
}
void check(cublasStatus_t status, std::source_location where) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail("cuBLAS", fmt::format("status {}", static_cast<int>(status)), where);
}
void check(cusolverStatus_t status, std::source_location where) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    fail("cuSOLVER", fmt::format("status {}", static_cast<int>(status)), where);
}

void require_device() {
  if (const auto report = cuda_report(); !report.usable) throw Error("device cuda: " + report.text);
}

Blas::Blas(cudaStream_t stream) : workspace_(std::size_t(32) << 20) {
  check(blas_library().create(&handle_));
  check(blas_library().set_stream(handle_, stream));
  check(blas_library().set_workspace(handle_, workspace_.data(), workspace_.size()));
}
Blas::~Blas() {
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

void Blas::multiply(const Product& p, const Batch& batch, const double* a, int lda, const double* b, int ldb,
                    double* c, int ldc) const {
  const auto op = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const auto far = [](std::size_t stride) { return static_cast<long long>(stride); };
  check(blas_library().dgemm_batched(handle_, op(p.transpose_b), op(p.transpose_a), p.n, p.m, p.k, &p.alpha,
                                     b, ldb, far(batch.stride_b), a, lda, far(batch.stride_a), &p.beta, c,
                                     ldc, far(batch.stride_c), batch.count));
}

Graph::~Graph() {
  if (executable_) cudaGraphExecDestroy(executable_);
}
void Graph::begin(cudaStream_t stream) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
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
