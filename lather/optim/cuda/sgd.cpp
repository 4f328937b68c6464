// SGD on the GPU: one kernel.
#include "lather/optim/cuda/device_method.hpp"
#include "lather/optim/cuda/make_on_device.hpp"

namespace lather::optim {

namespace {

class DeviceSgd final : public DeviceMethod {
 public:
  DeviceSgd(const ParameterLayout& layout, const SgdOptions& o)
      : DeviceMethod(
            layout, {o.learning_rate, 0, 0, 0, o.weight_decay}, {},
            [](const ParameterBlock&) { return std::size_t{0}; }, 0),
        options_(o) {}

  void state(StateVisitor& visitor) override {
    counters(visitor);
    device_array(visitor, "momentum", m_);
  }

 protected:
  void enqueue_change(int) override {
    const auto& o = options_;
    const SgdKernelArgs work{step_work(), m_.data(), o.momentum, o.dampening, o.nesterov, 0};
    launch_flat("sgd_descend", cuda::Parameter().add(work));
  }

 private:
  SgdOptions options_;
};

}  // namespace

std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const SgdOptions& options) {
  return std::make_unique<DeviceSgd>(layout, options);
}

}  // namespace lather::optim
