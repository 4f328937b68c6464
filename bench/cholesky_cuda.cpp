// Cholesky factors on the GPU beside those of cuSOLVER, and what rows that begin anywhere cost cuBLAS.
//   bench_cholesky_cuda [SIZE ROWS]
#include <cublas_v2.h>
#include <cusolverDn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "lather/core/clock.hpp"
#include "lather/core/device.hpp"
#include "lather/core/rng.hpp"
#include "lather/optim/cuda/least_squares/cholesky.hpp"

namespace {

using namespace lather;

template <class F>
double milliseconds(int repeats, const F& f) {
  std::vector<double> times;
  for (int repeat = -1; repeat < repeats; ++repeat) {
    cuda::check(cudaDeviceSynchronize());
    const Stopwatch watch;
    f();
    cuda::check(cudaDeviceSynchronize());
    if (repeat >= 0) times.push_back(1e3 * watch.seconds());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

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
  const int repeats = n > 20000 ? 1 : n > 10000 ? 3 : 9;
  const auto size = static_cast<std::size_t>(n);
  const std::size_t stride = cuda::row_stride(size);
  const int ld = static_cast<int>(stride);
  fmt::print("\n{} columns, {} rows\n", n, rows);
  const cuda::Stream stream;
  const cuda::Blas blas(stream);
  CuSolver solver(stream);
  optim::DeviceCholesky cholesky(size, blas, stream);
  // The same numbers again and again, at another column in every row.
  std::vector<double> drawn(1048583);
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = Random(1, 2).uniform(i) - 0.5;
  cuda::Memory<double> J(static_cast<std::size_t>(rows) * stride), matrix(size * stride), diagonal(size),
      shift(size);
  cuda::Memory<int> failed(1);
  for (std::size_t at = 0; at < J.size(); at += drawn.size())
    J.upload(std::span(drawn).first(std::min(drawn.size(), J.size() - at)), at);
  diagonal.upload(std::vector<double>(size, rows));  // that of J^T J and more
  const auto square = [&](int leading) {
    return milliseconds(repeats,
                        [&] { blas.square({.n = n, .k = rows}, J.data(), leading, matrix.data(), leading); });
  };
  const double apart = square(n);
  line("J^T J, rows aligned", square(ld), "rows without a gap", apart);

  const double ours = milliseconds(
      repeats, [&] { cholesky.enqueue(matrix.data(), diagonal.data(), shift.data(), failed.data()); });
  // On the factor, taken for a symmetric matrix: its diagonal is large enough.
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
