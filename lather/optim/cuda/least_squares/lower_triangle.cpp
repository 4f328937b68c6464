#include "lather/optim/cuda/least_squares/lower_triangle.hpp"

#include <algorithm>

#include "lather/optim/cuda/kernels/cholesky_arguments.cuh"

namespace lather::optim {

namespace {

using Work = LowerTriangle::Work;

// The two halves of C, of whole blocks as far as they go, and C21 between them.
struct Halves {
  explicit Halves(const Work& w) {
    const int blocks = (w.n + kCholeskyBlock - 1) / kCholeskyBlock;
    n1 = blocks / 2 * kCholeskyBlock;
    n2 = w.n - n1;
    between = w.c + static_cast<std::size_t>(n1) * static_cast<std::size_t>(w.c_stride);
  }
  Work first(const Work& w) const { return {n1, w.k, w.c, w.c_stride, w.b, w.b_stride}; }
  Work second(const Work& w, double* b) const { return {n2, w.k, between + n1, w.c_stride, b, w.b_stride}; }
  int n1, n2;
  const double* between;
};

}  // namespace

LowerTriangle::LowerTriangle(const cuda::Blas& blas, cudaStream_t stream)
    : blas_(blas),
      stream_(stream),
      module_("#include \"lather/optim/cuda/kernels/lower_triangle.cuh\"\n"),
      solve_(module_.kernel("solve_block")),
      multiply_(module_.kernel("multiply_block")) {}

void LowerTriangle::launch(cudaKernel_t kernel, const Work& w, const Vectors& vectors) const {
  constexpr int kThreads = 256, kMultiprocessors = 132;  // of an H200: each takes its share, in one go
  const int share = std::clamp((w.k + kMultiprocessors - 1) / kMultiprocessors, 32, kThreads);
  const TriangleBlockKernelArgs work{w.c, w.b, vectors.step, vectors.apart, w.c_stride, w.n, w.k, share};
  cuda::launch(kernel, {dim3(static_cast<unsigned>((w.k + share - 1) / share)), dim3(kThreads)},
               cuda::Parameter().add(work), stream_);
}

void LowerTriangle::solve_rows(const Work& w) const {
  if (w.n <= kCholeskyBlock) return launch(solve_, w, {1, w.b_stride});
  const Halves half(w);
  solve_rows(half.first(w));
  blas_.multiply<double>({.m = w.k, .n = half.n2, .k = half.n1, .transpose_b = true, .alpha = -1, .beta = 1},
                         w.b, w.b_stride, half.between, w.c_stride, w.b + half.n1, w.b_stride);
  solve_rows(half.second(w, w.b + half.n1));
}

void LowerTriangle::solve_columns(const Work& w) const {
  if (w.n <= kCholeskyBlock) return launch(solve_, w, {w.b_stride, 1});
  const Halves half(w);
  double* const lower_rows = w.b + static_cast<std::size_t>(half.n1) * static_cast<std::size_t>(w.b_stride);
  solve_columns(half.first(w));
  blas_.multiply<double>({.m = half.n2, .n = w.k, .k = half.n1, .alpha = -1, .beta = 1}, half.between,
                         w.c_stride, w.b, w.b_stride, lower_rows, w.b_stride);
  solve_columns(half.second(w, lower_rows));
}

void LowerTriangle::multiply_rows(const Work& w) const {
  if (w.n <= kCholeskyBlock) return launch(multiply_, w, {1, w.b_stride});
  const Halves half(w);
  multiply_rows(half.first(w));
  blas_.multiply<double>({.m = w.k, .n = half.n1, .k = half.n2, .beta = 1}, w.b + half.n1, w.b_stride,
                         half.between, w.c_stride, w.b, w.b_stride);
  multiply_rows(half.second(w, w.b + half.n1));
}

}  // namespace lather::optim
