#include "lather/optim/cuda/least_squares/cholesky.hpp"

#include <algorithm>

#include "lather/optim/cuda/kernels/cholesky_arguments.cuh"

namespace lather::optim {

namespace {

constexpr int kThreads = 256;

// Row-major C (m × n) -= A B^T, A m × k, B n × k.
struct Difference {
  int m, n, k;
};
void subtract_product(const cuda::Blas& blas, const Difference& d, const double* a, const double* b,
                      int stride, double* c) {
  blas.multiply<double>({.m = d.m, .n = d.n, .k = d.k, .transpose_b = true, .alpha = -1, .beta = 1}, a,
                        stride, b, stride, c, kCholeskyPanel);
}

}  // namespace

DeviceCholesky::DeviceCholesky(std::size_t size, const cuda::Blas& blas, cudaStream_t stream)
    : size_(static_cast<int>(size)),
      blas_(blas),
      stream_(stream),
      module_("#include \"lather/optim/cuda/kernels/cholesky.cuh\"\n"),
      load_(module_.kernel("load_panel")),
      store_(module_.kernel("store_panel")),
      factor_(module_.kernel("factor_block")),
      panel_((size + 1) * kCholeskyPanel),
      blocks_(kCholeskyPanel * kCholeskyBlock) {}

double DeviceCholesky::bytes_of(double size) {
  return (size + 1 + kCholeskyBlock) * kCholeskyPanel * sizeof(double);
}

void DeviceCholesky::enqueue(double* matrix, const double* diagonal, const double* shift, int* failed,
                             const double* right_side) {
  const std::size_t stride = cuda::row_stride(static_cast<std::size_t>(size_));
  cuda::check(cudaMemsetAsync(failed, 0, sizeof(int), stream_));
  for (int from = 0; from < size_; from += kCholeskyPanel) {
    const int rows = size_ - from + (right_side ? 1 : 0), width = std::min(kCholeskyPanel, size_ - from);
    const CholeskyPanelKernelArgs work{matrix,        diagonal,       shift, right_side,
                                       panel_.data(), blocks_.data(), size_, static_cast<int>(stride),
                                       from,          width};
    const auto tiles = [](int count) { return static_cast<unsigned>((count + 31) / 32); };
    const cuda::Launch shape{dim3(tiles(rows), tiles(width)), dim3(kThreads)};
    cuda::launch(load_, shape, cuda::Parameter().add(work), stream_);
    const double* before = matrix + static_cast<std::size_t>(from) * stride;
    if (from > 0)
      subtract_product(blas_, {rows, width, from}, before, before, static_cast<int>(stride), panel_.data());
    factor_panel(rows, width, failed);
    cuda::launch(store_, shape, cuda::Parameter().add(work), stream_);
  }
}

// Block by block; each is then subtracted from the columns to its right.
void DeviceCholesky::factor_panel(int rows, int width, int* failed) {
  constexpr int kMultiprocessors = 132;  // of an H200: each takes its share of the rows, in one go
  for (int from = 0; from < width; from += kCholeskyBlock) {
    const int block = std::min(kCholeskyBlock, width - from), below = rows - from - block,
              right = width - from - block;
    const int share = std::clamp((below + kMultiprocessors - 1) / kMultiprocessors, 32, kThreads);
    const int thread_blocks = std::max(1, (below + share - 1) / share);
    double* corner = panel_.data() + static_cast<std::size_t>(from) * kCholeskyPanel + from;
    const CholeskyBlockKernelArgs work{
        corner, blocks_.data() + from * kCholeskyBlock, failed, block, below, share, 0};
    cuda::launch(factor_, {dim3(static_cast<unsigned>(thread_blocks)), dim3(kThreads)},
                 cuda::Parameter().add(work), stream_);
    double* under = corner + static_cast<std::size_t>(block) * kCholeskyPanel;
    if (right > 0)
      subtract_product(blas_, {below, right, block}, under, under, kCholeskyPanel, under + block);
  }
}

}  // namespace lather::optim
