// Cholesky factorization on the GPU against cuSOLVER's, what unaligned rows cost cuBLAS, and J^T J in blocks.
//   bench_cholesky_cuda [SIZE ROWS]
#include <cusolverDn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "device_time.hpp"
#include "lather/core/device.hpp"
#include "lather/optim/cuda/least_squares/cholesky.hpp"

namespace {

using namespace lather;

using bench::milliseconds;

void line(const char* what, double ours, const char* beside, double theirs) {
  fmt::print("  {:24} {:9.2f} ms   {:20} {:9.2f} ms\n", what, ours, beside, theirs);
}

class CuSolver {
 public:
  explicit CuSolver(cudaStream_t stream) {
    cuda::check(cusolverDnCreate(&handle_));
    cuda::check(cusolverDnCreateParams(&params_));
    cuda::check(cusolverDnSetStream(handle_, stream));
  }
  ~CuSolver() {
    cusolverDnDestroyParams(params_);
    cusolverDnDestroy(handle_);
  }
  CuSolver(const CuSolver&) = delete;
  CuSolver& operator=(const CuSolver&) = delete;
  void cholesky(int n, double* matrix, int stride, int* failed) {
    std::size_t on_device = 0, on_host = 0;
    cuda::check(cusolverDnXpotrf_bufferSize(handle_, params_, CUBLAS_FILL_MODE_UPPER, n, CUDA_R_64F, matrix,
                                            stride, CUDA_R_64F, &on_device, &on_host));
    if (device_.size() < on_device) device_ = cuda::Memory<std::byte>(on_device);
    host_.resize(std::max(host_.size(), on_host));
    cuda::check(cusolverDnXpotrf(handle_, params_, CUBLAS_FILL_MODE_UPPER, n, CUDA_R_64F, matrix, stride,
                                 CUDA_R_64F, device_.data(), on_device, host_.data(), on_host, failed));
  }

 private:
  cusolverDnHandle_t handle_ = nullptr;
  cusolverDnParams_t params_ = nullptr;
  cuda::Memory<std::byte> device_;
  std::vector<std::byte> host_;
};

void measure(int n, int rows) {
  const int repeats = bench::repeats_for(n);
  const auto size = static_cast<std::size_t>(n);
  const std::size_t stride = cuda::row_stride(size);
  const int ld = static_cast<int>(stride);
  fmt::print("\n{} columns, {} rows\n", n, rows);
  const cuda::Stream stream;
  const cuda::Blas blas(stream);
  CuSolver solver(stream);
  optim::DeviceCholesky cholesky(size, blas, stream);
  const cuda::Memory<double> J = bench::random_rows(rows, stride);
  cuda::Memory<double> matrix(size * stride), diagonal(size), shift(size);
  cuda::Memory<int> failed(1);
  diagonal.upload(std::vector<double>(size, rows));  // at least that of J^T J
  const auto square = [&](int leading) {
    return milliseconds(repeats,
                        [&] { blas.square({.n = n, .k = rows}, J.data(), leading, matrix.data(), leading); });
  };
  const double apart = square(n);
  line("J^T J, rows aligned", square(ld), "rows without a gap", apart);
  for (const int blocks : {1, 2, 3, 4}) {
    const int block = (n / blocks + 63) / 64 * 64;
    const double ms = milliseconds(
        repeats, [&] { blas.square({.n = n, .k = rows, .block = block}, J.data(), ld, matrix.data(), ld); });
    fmt::print("  J^T J in {} blocks        {:9.2f} ms\n", blocks, ms);
  }

  const double ours = milliseconds(
      repeats, [&] { cholesky.enqueue(matrix.data(), diagonal.data(), shift.data(), failed.data()); });
  // Runs on the factor, treated as a symmetric matrix: its diagonal is large enough.
  const double theirs =
      milliseconds(repeats,
                   [&] {
                     cholesky.enqueue(matrix.data(), diagonal.data(), shift.data(), failed.data());
                     solver.cholesky(n, matrix.data(), ld, failed.data());
                   }) -
      ours;
  line("Cholesky", ours, "cuSOLVER's", theirs);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const auto report = cuda_report();
  fmt::print("{}\n", report.text);
  if (!report.usable) return 0;
  if (argc == 3) {
    measure(std::atoi(argv[1]), std::atoi(argv[2]));
    return 0;
  }
  measure(2001, 9000);
  measure(4353, 12000);
  measure(6501, 20000);
  measure(16897, 20000);
  measure(33537, 8000);
}
