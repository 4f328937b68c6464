#include "lather/optim/cuda/normal_matrix.hpp"

#include <fmt/format.h>

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/cuda/runtime.hpp"
#include "lather/core/error.hpp"
#include "lather/optim/cuda/kernels/arguments.cuh"

namespace lather::optim {

namespace {

class CudaNormalMatrix final : public NormalMatrix {
 public:
  CudaNormalMatrix(DeviceJacobian& jacobian, std::size_t size)
      : jacobian_(jacobian),
        size_(size),
        module_("#include \"lather/optim/cuda/kernels/normal_matrix.cuh\"\n"),
        keep_(module_.kernel("keep_diagonal")),
        mirror_(module_.kernel("mirror")),
        solver_(stream_),
        matrix_(size * size),
        diagonal_(size),
        vector_(size),
        info_(1) {}

  std::size_t dimension() const override { return size_; }
  std::size_t bytes() const override { return matrix_.bytes() + diagonal_.bytes() + vector_.bytes(); }

  double build_normal(std::span<const double> x, std::span<double> Jtr) override {
    if (Jtr.size() != size_)
      throw Error(fmt::format("J^T J of {} parameters in a matrix of {}", Jtr.size(), size_));
    const double value = jacobian_.normal_matrix(x, matrix_.data(), Jtr);
    keep_diagonal();
    return value;
  }
  void build_gram(std::span<const double> x, std::span<double> r) override {
    if (r.size() != size_)
      throw Error(fmt::format("J J^T of {} residuals in a matrix of {}", r.size(), size_));
    jacobian_.gram_matrix(x, matrix_.data(), r);
    keep_diagonal();
  }

  std::vector<double> diagonal() const override {
    std::vector<double> values(size_);
    diagonal_.download(values);
    return values;
  }
  void copy_lower(std::span<double> matrix) const override {
    matrix_.download(matrix);
    const auto on_diagonal = diagonal();
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < i; ++j) matrix[i * size_ + j] = matrix[j * size_ + i];
      matrix[i * size_ + i] = on_diagonal[i];
    }
  }

  bool factor(double lambda, std::span<const double> D) override {
    std::vector<double> shift(D.begin(), D.end());
    for (double& value : shift) value *= lambda;
    vector_.upload(shift);
    const auto tiles = static_cast<unsigned>((size_ + 31) / 32);
    cuda::launch(mirror_, {dim3(tiles, tiles), dim3(256)}, cuda::Parameter().add(work()), stream_);
    solver_.cholesky(static_cast<int>(size_), matrix_.data(), info_.data());
    stream_.synchronize();
    int failed = 0;
    info_.download(std::span(&failed, 1));
    return failed == 0;
  }

  void solve(std::span<double> b) override {
    vector_.upload(b);
    solver_.cholesky_solve(static_cast<int>(size_), matrix_.data(), vector_.data(), info_.data());
    stream_.synchronize();
    vector_.download(b);
  }

 private:
  TriangleKernelArgs work() const {
    return {matrix_.data(), diagonal_.data(), vector_.data(), static_cast<int>(size_), 0};
  }
  void keep_diagonal() {
    cuda::launch(keep_, {dim3(static_cast<unsigned>(size_ / 256 + 1)), dim3(256)},
                 cuda::Parameter().add(work()), stream_);
    stream_.synchronize();
  }

  DeviceJacobian& jacobian_;
  std::size_t size_;
  cuda::KernelModule module_;
  cudaKernel_t keep_, mirror_;
  cuda::Stream stream_;
  cuda::Solver solver_;
  cuda::Memory<double> matrix_, diagonal_, vector_;
  cuda::Memory<int> info_;
};

}  // namespace

std::unique_ptr<NormalMatrix> make_device_normal_matrix(DeviceJacobian& jacobian, std::size_t dimension) {
  return std::make_unique<CudaNormalMatrix>(jacobian, dimension);
}

double device_normal_matrix_bytes(std::size_t dimension) {
  return static_cast<double>(dimension + 2) * static_cast<double>(dimension) * sizeof(double);
}

}  // namespace lather::optim
