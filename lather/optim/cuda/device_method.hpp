#pragma once
// The loop shared by gradient methods on the GPU, like optim/first_order/gradient_method.hpp
// on the host: parameters and state stay on the device, a step is a CUDA graph, and several
// steps are launched before the host looks. The bits do not depend on how many.

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "lather/core/cuda/runtime.hpp"
#include "lather/optim/cuda/cuda_objective.hpp"
#include "lather/optim/cuda/device_layers.hpp"
#include "lather/optim/cuda/kernels/arguments.cuh"
#include "lather/optim/optimizer.hpp"
#include "lather/optim/wrappers/clipped.hpp"

namespace lather::optim {

struct DeviceMethodConstants {
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  bool coupled_decay = false, correct_bias = true;
  double adam_rate_ratio = 1;  // of Adam's rate for the blocks that are not layers
};

class DeviceMethod : public Optimizer {
 public:
  void set_learning_rate_factor(double factor) final { factor_ = factor; }
  bool clip_gradients(const ClipOptions& options) override;
  std::span<const Diagnostic> diagnostics() const final { return diagnostics_; }
  std::size_t memory_bytes() const override { return layers_.bytes() + 10 * change_.bytes(); }
  void state(StateVisitor& visitor) override;  // of Kronecker methods; those with more state call this first

 protected:
  // `layer_blocks`: the blocks that are not Adam's.
  DeviceMethod(const ParameterLayout& layout, const DeviceMethodConstants& constants,
               const std::vector<std::size_t>& layer_blocks, const DeviceLayers::MaxDimension& max_dimension,
               double initial_diagonal);

  // Before the steps of one call are enqueued.
  virtual void prepare(Objective& /*objective*/, CudaObjective& /*on_device*/) {}
  // Losses and gradient.
  virtual void enqueue_gradient() { objective_->enqueue_gradient(); }
  // Which form step t (from 1) takes; forms below kUncaptured become graphs.
  virtual int graph_variant(std::int64_t /*t*/) const { return 0; }
  static constexpr int kUncaptured = 8;
  static constexpr std::size_t kMostSteps = 1024;  // of one call
  // The step from its gradient to the change of the parameters (`change`, `change_norms`).
  virtual void enqueue_change(int form) = 0;
  // The rest of a step that was halted for new bases, up to the same point.
  virtual void enqueue_after_halt(int /*form*/) {}
  // After the parameters have changed.
  virtual void enqueue_after(int /*form*/) {}
  // Of the last step.
  virtual void read_diagnostics() {}

  void launch_per_layer(const char* kernel, const cuda::Parameter& parameter) const {
    if (!layers_.layers().empty())
      layers_.launch(kernel, layer_grid_, static_cast<unsigned>(layers_.layers().size()), parameter);
  }
  // For kernels that walk over all parameters and write one sum of squared changes per thread block.
  void launch_flat(const char* kernel, const cuda::Parameter& parameter) const {
    layers_.launch(kernel, static_cast<unsigned>(work_.change_blocks), 1, parameter);
  }
  void launch_per_side(const char* kernel, unsigned x, const cuda::Parameter& parameter) const {
    if (layers_.side_count() > 0)
      layers_.launch(kernel, x, static_cast<unsigned>(layers_.side_count()), parameter);
  }
  void accumulate_factors(const double* g, double keep, double weight);
  ElementKernelArgs elements() const;
  void enqueue_descent();  // the change: along U for layers, Adam's for the rest
  const StepKernelArgs& step_work() const { return work_; }
  CudaObjective& objective() const { return *objective_; }
  void forget_graphs();  // addresses have changed
  cudaStream_t stream() const { return objective_->stream(); }
  static std::vector<std::size_t> matrix_blocks(const ParameterLayout& layout, bool vectors_too);
  // Parts of the state: GradientMethod's; KroneckerBlocks'; a flat device array.
  void counters(StateVisitor& visitor);
  void kronecker_state(StateVisitor& visitor);
  void device_array(StateVisitor& visitor, const char* name, cuda::Memory<double>& memory) const;

  DeviceMethodConstants constants_;
  std::vector<std::size_t> layer_blocks_;
  DeviceLayers layers_;
  unsigned layer_grid_ = 1, block_grid_ = 1;  // thread blocks per layer, per block of parameters
  cuda::Memory<Control> control_;
  Control now_{};  // as the host knows it
  cuda::Memory<double> m_, v_, largest_v_, change_, previous_, rotated_, U_rotated_, U_;
  std::vector<Diagnostic> diagnostics_;
  double factor_ = 1;
  std::optional<ClipOptions> clip_;

 private:
  StepReport take_step(Objective& objective, std::span<double> x) final;
  StepReport take_steps(Objective& objective, std::span<double> x, std::span<const double> factors,
                        std::int64_t& done) final;
  void bind(CudaObjective& objective);
  void put_parameters(std::span<const double> x);
  void put_factors(std::span<const double> factors);
  void put_control();
  void read_control();
  void enqueue_evaluation();
  void enqueue_step(int form);
  void finish_step(int form);
  void perform(int form, int count);
  void launch(int form, int count);
  int how_many(std::size_t left) const;
  void resume(int form);
  void end_in_trouble(StepReport& report) const;

  CudaObjective* objective_ = nullptr;
  std::size_t version_ = 0;
  StepKernelArgs work_{};
  cuda::Memory<DeviceBlock> blocks_;
  cuda::Memory<double> losses_scales_, factors_, gradient_norms_, change_norms_;
  cuda::PinnedMemory<Control> host_control_;
  cuda::PinnedMemory<double> host_parameters_;
  std::vector<double> factors_on_device_, scales_on_device_;
  std::map<std::pair<int, int>, cuda::Graph> graphs_;                    // form, number of steps
  std::map<std::pair<int, std::vector<int>>, cuda::Graph> resumptions_;  // form, bases to change by dimension
  double steps_between_halts_ = 0;                                       // running mean
  std::int64_t last_halt_ = 0;
};

}  // namespace lather::optim
