// Foreign blocks on the GPU. Optimizers there capture their steps into graphs, which the default stream does
// not allow, so they have their own stream; events order it after the caller's work, and the caller's next
// work after it.
#include "lather/optim/foreign_parameters.hpp"

#include <algorithm>
#include <cstring>

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/error.hpp"
#include "lather/optim/cuda/cuda_objective.hpp"
#include "lather/optim/cuda/kernels/foreign_arguments.cuh"

namespace lather::optim {

namespace {

class ForeignOnDevice final : public ForeignParameters, public Objective, public CudaObjective {
 public:
  explicit ForeignOnDevice(const ParameterLayout& layout)
      : ForeignParameters(layout),
        module_("#include \"lather/optim/cuda/kernels/foreign_parameters.cuh\"\n"),
        gather_(module_.kernel("gather_foreign")),
        scatter_(module_.kernel("scatter_foreign")),
        blocks_(layout.blocks().size()),
        staged_blocks_(layout.blocks().size()),
        x_(layout.size()),
        gradient_(layout.size()),
        given_(layout.size()),
        losses_(1),
        host_loss_(1) {
    std::size_t largest = 1;
    for (const auto& block : layout.blocks()) largest = std::max(largest, block.size());
    grid_ = {static_cast<unsigned>(std::clamp<std::size_t>(largest / 1024, 1, 64)),
             static_cast<unsigned>(layout.blocks().size())};
  }

  StepReport take_step(Optimizer& optimizer, std::span<const ForeignBlock> blocks, double loss,
                       void* stream) override {
    const auto callers = static_cast<cudaStream_t>(stream);
    cuda::enqueue_behind(callers, stream_, event_);
    put_blocks(blocks);
    host_loss_[0] = loss;
    cuda::check(
        cudaMemcpyAsync(losses_.data(), host_loss_.data(), sizeof(double), cudaMemcpyHostToDevice, stream_));
    launch(gather_);
    auto report = optimizer.step(*this, {});
    launch(scatter_);
    cuda::enqueue_behind(stream_, callers, event_);
    return report;
  }

  const ParameterLayout& layout() const override { return layout_; }
  double value(std::span<const double>) override { throw_unavailable(); }
  double value_and_gradient(std::span<const double>, std::span<double>) override { throw_unavailable(); }
  CudaObjective* cuda_objective() override { return this; }

  cudaStream_t stream() override { return stream_; }
  double* device_parameters() override { return x_.data(); }
  bool holds_parameters() const override { return true; }
  double* device_gradient() override { return gradient_.data(); }
  const double* device_losses() override { return losses_.data(); }
  std::vector<double> loss_scales() const override { return {1}; }
  void refresh() override {}
  void enqueue_points(const int*, int*) override {}
  // A copy: clipping changes it, and a step may be enqueued twice.
  void enqueue_gradient() override { enqueue_copy(gradient_.data()); }
  void set_groups(std::span<const std::size_t>) override {}
  void enqueue_group_gradients(double* gradients) override { enqueue_copy(gradients); }
  std::size_t version() const override { return 1; }

 private:
  [[noreturn]] static void throw_unavailable() {
    throw Error("gradients of foreign parameters on the GPU were asked for on the host");
  }
  void enqueue_copy(double* to) {
    cuda::check(cudaMemcpyAsync(to, given_.data(), given_.bytes(), cudaMemcpyDeviceToDevice, stream_));
  }
  void put_blocks(std::span<const ForeignBlock> blocks) {
    std::vector<ForeignBlockArgs> list(blocks.size());
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      const auto& block = layout_.blocks()[k];
      list[k] = {blocks[k].parameter,
                 blocks[k].gradient,
                 static_cast<long long>(block.offset),
                 static_cast<long long>(block.size()),
                 blocks[k].type == ForeignBlock::Type::float32,
                 0};
    }
    const std::size_t bytes = list.size() * sizeof(ForeignBlockArgs);
    if (list.size() == known_.size() && std::memcmp(list.data(), known_.data(), bytes) == 0) return;
    std::memcpy(staged_blocks_.data(), list.data(), bytes);
    cuda::check(
        cudaMemcpyAsync(blocks_.data(), staged_blocks_.data(), bytes, cudaMemcpyHostToDevice, stream_));
    known_ = std::move(list);
  }
  void launch(cudaKernel_t kernel) {
    const ForeignKernelArgs work{blocks_.data(), x_.data(), given_.data()};
    cuda::launch(kernel, {grid_, dim3(256)}, cuda::Parameter().add(work), stream_);
  }

  cuda::Stream stream_;
  cuda::Event event_;
  cuda::KernelModule module_;
  cudaKernel_t gather_, scatter_;
  dim3 grid_;
  cuda::Memory<ForeignBlockArgs> blocks_;
  cuda::PinnedMemory<ForeignBlockArgs> staged_blocks_;
  std::vector<ForeignBlockArgs> known_;
  cuda::Memory<double> x_, gradient_, given_, losses_;
  cuda::PinnedMemory<double> host_loss_;
};

}  // namespace

std::unique_ptr<ForeignParameters> make_foreign_parameters_on_device(const ParameterLayout& layout) {
  cuda::require_device();
  return std::make_unique<ForeignOnDevice>(layout);
}

double gradient_on_device(Objective& objective, const double* x, double* gradient, void* stream) {
  CudaObjective* device = objective.cuda_objective();
  if (!device) throw Error("the objective does not live on the GPU; give it the setting device = cuda");
  const auto callers = static_cast<cudaStream_t>(stream);
  const std::size_t bytes = objective.size() * sizeof(double);
  const cuda::Event event;
  device->refresh();
  cuda::enqueue_behind(callers, device->stream(), event);
  cuda::check(
      cudaMemcpyAsync(device->device_parameters(), x, bytes, cudaMemcpyDeviceToDevice, device->stream()));
  device->enqueue_gradient();
  cuda::check(cudaMemcpyAsync(gradient, device->device_gradient(), bytes, cudaMemcpyDeviceToDevice,
                              device->stream()));
  cuda::enqueue_behind(device->stream(), callers, event);
  const auto scales = device->loss_scales();
  std::vector<double> losses(scales.size());
  cuda::check(cudaMemcpyAsync(losses.data(), device->device_losses(), losses.size() * sizeof(double),
                              cudaMemcpyDeviceToHost, device->stream()));
  cuda::check(cudaStreamSynchronize(device->stream()));
  double value = 0;
  for (std::size_t k = 0; k < scales.size(); ++k) value += scales[k] * losses[k];
  return value;
}

}  // namespace lather::optim
