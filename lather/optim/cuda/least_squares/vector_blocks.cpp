#include <algorithm>

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/optim/cuda/kernels/vector_arguments.cuh"
#include "lather/optim/cuda/least_squares/normal_matrix.hpp"

namespace lather::optim {

namespace {

constexpr std::size_t kMultipliedRows = 4096;  // of J at a time

class CudaVectorBlocks final : public VectorBlocks {
 public:
  CudaVectorBlocks(DeviceJacobian& jacobian, std::size_t count, std::size_t size, ThreadTeam* team)
      : jacobian_(jacobian),
        k_(count),
        n_(size),
        team_(team),
        module_("#include \"lather/optim/cuda/kernels/vector_blocks.cuh\"\n"),
        scale_kernel_(module_.kernel("scale_columns")),
        blas_(stream_),
        solver_(stream_),
        A_(count * size),
        B_(count * size),
        small_(count * count),
        values_(count),
        v_(size),
        info_(1) {}

  std::size_t count() const override { return k_; }
  std::size_t bytes() const override { return A_.bytes() + B_.bytes() + W_.bytes() + small_.bytes(); }

  void draw(std::uint64_t seed, std::uint64_t stream) override {
    std::vector<double> numbers(k_ * n_);
    draw_normal_numbers(numbers, seed, stream, team_);
    A_.upload(numbers);
  }

  void multiply_normal(std::span<const double> x, std::span<const double> scale) override {
    scale_columns(A_, scale, false);
    if (W_.size() == 0) W_ = cuda::Memory<double>(k_ * kMultipliedRows);
    bool first = true;
    jacobian_.visit_rows(x, [&](const double* rows, const double*, std::size_t count) {
      for (std::size_t begin = 0; begin < count; begin += kMultipliedRows) {
        const int height = static_cast<int>(std::min(kMultipliedRows, count - begin));
        const std::size_t stride = cuda::row_stride(n_);
        const double* J = rows + begin * stride;
        const int ldj = static_cast<int>(stride);
        blas_.multiply<double>({.m = k(), .n = height, .k = n(), .transpose_b = true}, A_.data(), n(), J, ldj,
                               W_.data(), height);
        blas_.multiply<double>({.m = k(), .n = n(), .k = height, .beta = first ? 0.0 : 1.0}, W_.data(),
                               height, J, ldj, B_.data(), n());
        first = false;
      }
      stream_.synchronize();
    });
    scale_columns(B_, scale, false);
    scale_columns(A_, scale, true);
  }

  void add_shift(double shift) override {  // B += (shift I) A
    std::vector<double> diagonal(k_ * k_);
    for (std::size_t i = 0; i < k_; ++i) diagonal[i * (k_ + 1)] = shift;
    small_.upload(diagonal);
    blas_.multiply<double>({.m = k(), .n = n(), .k = k(), .beta = 1}, small_.data(), k(), A_.data(), n(),
                           B_.data(), n());
    stream_.synchronize();
  }
  std::vector<double> inner(Block left, Block right) const override {
    blas_.multiply<double>({.m = k(), .n = k(), .k = n(), .transpose_b = true}, block(left).data(), n(),
                           block(right).data(), n(), small_.data(), k());
    return fetch(small_, k_ * k_);
  }
  void solve_lower(std::span<const double> C, Block which) override {
    small_.upload(C);
    blas_.solve_lower({.n = k(), .k = n(), .left = true}, small_.data(), k(), block(which).data(), n());
    stream_.synchronize();
  }
  void combine(std::span<const double> W) override {
    small_.upload(W);
    blas_.multiply<double>({.m = k(), .n = n(), .k = k()}, small_.data(), k(), B_.data(), n(), A_.data(),
                           n());
    stream_.synchronize();
  }
  bool eigenvectors(std::span<double> K, std::span<double> values) override {
    small_.upload(K);
    solver_.eigenvectors(k(), 1, small_.data(), values_.data(), info_.data());
    stream_.synchronize();
    int failed = 0;
    info_.download(std::span(&failed, 1));
    if (failed != 0) return false;
    const auto ascending = fetch(values_, k_), vectors = fetch(small_, k_ * k_);
    for (std::size_t i = 0; i < k_; ++i) {
      values[i] = ascending[k_ - 1 - i];
      std::copy_n(&vectors[(k_ - 1 - i) * k_], k_, &K[i * k_]);
    }
    return true;
  }

  std::vector<double> project(std::span<const double> v) const override {
    v_.upload(v);
    blas_.multiply_vector({.rows = k(), .cols = n(), .stride = n()}, A_.data(), v_.data(), values_.data());
    return fetch(values_, k_);
  }
  void add_combination(std::span<const double> c, std::span<double> v) const override {
    values_.upload(c);
    v_.upload(v);
    blas_.multiply_vector({.rows = k(), .cols = n(), .stride = n(), .transpose = true, .beta = 1}, A_.data(),
                          values_.data(), v_.data());
    stream_.synchronize();
    v_.download(v);
  }

 private:
  int k() const { return static_cast<int>(k_); }
  int n() const { return static_cast<int>(n_); }
  const cuda::Memory<double>& block(Block which) const { return which == Block::A ? A_ : B_; }
  std::vector<double> fetch(const cuda::Memory<double>& memory, std::size_t count) const {
    stream_.synchronize();
    std::vector<double> values(count);
    memory.download(values);
    return values;
  }
  void scale_columns(const cuda::Memory<double>& rows, std::span<const double> scale, bool divide) {
    if (scale.empty()) return;
    v_.upload(scale);
    const ScaleColumnsKernelArgs work{rows.data(), v_.data(), static_cast<long long>(n_), k(),
                                      divide ? 1 : 0};
    cuda::launch(scale_kernel_, {dim3(static_cast<unsigned>(n_ / 256 + 1)), dim3(256)},
                 cuda::Parameter().add(work), stream_);
    stream_.synchronize();
  }

  DeviceJacobian& jacobian_;
  std::size_t k_, n_;
  ThreadTeam* team_;
  cuda::Stream stream_;
  cuda::KernelModule module_;
  cudaKernel_t scale_kernel_;
  cuda::Blas blas_;
  cuda::Solver solver_;
  cuda::Memory<double> A_, B_, W_;
  mutable cuda::Memory<double> small_, values_, v_;
  cuda::Memory<int> info_;
};

}  // namespace

std::unique_ptr<VectorBlocks> make_device_vector_blocks(DeviceJacobian& jacobian, std::size_t count,
                                                        std::size_t parameters, ThreadTeam* team) {
  return std::make_unique<CudaVectorBlocks>(jacobian, count, parameters, team);
}

}  // namespace lather::optim
