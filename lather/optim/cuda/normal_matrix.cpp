#include "lather/optim/cuda/normal_matrix.hpp"
#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/cuda/runtime.hpp"
#include "lather/optim/cuda/cuda_objective.hpp"

namespace lather::optim {

namespace {

struct DiagonalWork {
  double* matrix;
  double* diagonal;
  int size, add;  // add the diagonal to the matrix, or read it
};

constexpr const char* kKernel = R"(
struct DiagonalWork { double* matrix; double* diagonal; int size, add; };
extern "C" __global__ void __launch_bounds__(256) matrix_diagonal(const __grid_constant__ DiagonalWork w) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < w.size; i += gridDim.x * 256) {
    double* entry = w.matrix + (long long)i * (w.size + 1);
    if (w.add) *entry += w.diagonal[i];
    else w.diagonal[i] = *entry;
  }
}
)";

class NormalMatrixOnCuda final : public DeviceNormalMatrix {
 public:
  explicit NormalMatrixOnCuda(CudaObjective& objective, std::size_t size)
      : objective_(&objective),
        size_(size),
        module_(kKernel),
        kernel_(module_.kernel("matrix_diagonal")),
        solver_(stream_),
        matrix_(size * size),
        factor_(size * size),
        vector_(size),
        info_(1) {}

  std::size_t dimension() const override { return size_; }

  double build_normal(std::span<const double> x, std::span<double> Jtr) override {
    return objective_->normal_equations(x, matrix_.data(), Jtr);
  }

  void build_gram(std::span<const double> x, std::span<double> r) override {
    objective_->residual_gram(x, matrix_.data(), r);
  }

  std::vector<double> diagonal() override {
    diagonal_kernel(matrix_.data(), false);
    stream_.synchronize();
    std::vector<double> values(size_);
    vector_.download(values);
    return values;
  }

  void copy_to(std::span<double> matrix) const override { matrix_.download(matrix); }

  bool factor(std::span<const double> shift) override {
    vector_.upload(shift);
    cuda::check(
        cudaMemcpyAsync(factor_.data(), matrix_.data(), matrix_.bytes(), cudaMemcpyDeviceToDevice, stream_));
    diagonal_kernel(factor_.data(), true);
    solver_.cholesky(static_cast<int>(size_), factor_.data(), info_.data());
    stream_.synchronize();
    int failed = 0;
    info_.download(std::span(&failed, 1));
    return failed == 0;
  }

  void solve(std::span<double> b) override {
    vector_.upload(b);
    solver_.cholesky_solve(static_cast<int>(size_), factor_.data(), vector_.data(), info_.data());
    stream_.synchronize();
    vector_.download(b);
  }

 private:
  void diagonal_kernel(double* matrix, bool add) {
    const DiagonalWork work{matrix, vector_.data(), static_cast<int>(size_), add};
    cuda::launch(kernel_, {dim3(static_cast<unsigned>(size_ / 256 + 1)), dim3(256)},
                 cuda::Parameter().add(work), stream_);
  }

  CudaObjective* objective_;
  std::size_t size_;
  cuda::KernelModule module_;
  cudaKernel_t kernel_;
  cuda::Stream stream_;
  cuda::Solver solver_;
  cuda::Memory<double> matrix_, factor_, vector_;
  cuda::Memory<int> info_;
};

}  // namespace

std::unique_ptr<DeviceNormalMatrix> make_device_normal_matrix(Objective& objective, std::size_t dimension) {
  CudaObjective* device = objective.cuda_objective();
  return device ? std::make_unique<NormalMatrixOnCuda>(*device, dimension) : nullptr;
}

}  // namespace lather::optim
