// MultiAdam on the GPU: the gradient of every group of terms, and one kernel.

#include "lather/optim/cuda/device_method.hpp"
#include "lather/optim/cuda/make_on_device.hpp"

namespace lather::optim {

namespace {

class DeviceMultiAdam final : public DeviceMethod {
 public:
  DeviceMultiAdam(const ParameterLayout& layout, const MultiAdamOptions& o)
      : DeviceMethod(
            layout, {o.learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay}, {},
            [](const ParameterBlock&) { return std::size_t{0}; }, 0),
        options_(o) {
    require_whole_groups(o);
    m_ = {};
    v_ = {};
  }

  std::size_t memory_bytes() const override { return DeviceMethod::memory_bytes() + 3 * m_.bytes(); }

  // Each term's gradient would have to be clipped separately.
  bool clip_gradients(const ClipOptions&) override { return false; }

  void state(StateVisitor& visitor) override {
    counters(visitor);
    auto groups = static_cast<std::int64_t>(groups_);
    visitor.integer("groups", groups);
    if (visitor.reading()) take_memory(static_cast<std::size_t>(groups));
    device_array(visitor, "m", m_);
    device_array(visitor, "v", v_);
  }

 protected:
  void prepare(Objective& objective, CudaObjective& on_device) override {
    const auto groups = loss_groups(options_, objective.term_is_equation(), now_.t > 0 ? groups_ : 0);
    if (groups.weights.size() != groups_) take_memory(groups.weights.size());
    group_weights_.upload(groups.weights);
    on_device.set_groups(groups.of_term);
  }

  void enqueue_gradient() override {
    objective().enqueue_group_gradients(gradients_.data());
    launch_flat("multiadam_gradient", cuda::Parameter().add(work()));
  }

  void enqueue_change(int) override { launch_flat("multiadam_descend", cuda::Parameter().add(work())); }

 private:
  MultiAdamKernelArgs work() const {
    return {step_work(), gradients_.data(), group_weights_.data(),     objective().device_gradient(),
            m_.data(),   v_.data(),         static_cast<int>(groups_), 0};
  }

  void take_memory(std::size_t groups) {
    groups_ = groups;
    for (auto* memory : {&m_, &v_, &gradients_}) *memory = cuda::Memory<double>(groups * layout_.size());
    group_weights_ = cuda::Memory<double>(groups);
    forget_graphs();
  }

  MultiAdamOptions options_;
  std::size_t groups_ = 0;  // known at the first step
  cuda::Memory<double> gradients_, group_weights_;
};

}  // namespace

std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const MultiAdamOptions& options) {
  return std::make_unique<DeviceMultiAdam>(layout, options);
}

}  // namespace lather::optim
