// Adam and AdamW on the GPU: one kernel.
#include "lather/optim/cuda/device_method.hpp"
#include "lather/optim/cuda/make_on_device.hpp"

namespace lather::optim {

namespace {

class DeviceAdam final : public DeviceMethod {
 public:
  DeviceAdam(const ParameterLayout& layout, const AdamOptions& o)
      : DeviceMethod(
            layout,
            {o.learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay, o.decay == WeightDecay::coupled},
            {}, [](const ParameterBlock&) { return std::size_t{0}; }, 0) {
    if (o.amsgrad) largest_v_ = cuda::Memory<double>(layout.size());
  }
  void state(StateVisitor& visitor) override {
    DeviceMethod::state(visitor);
    device_array(visitor, "largest_v", largest_v_);
  }

 protected:
  void enqueue_change(int) override { enqueue_descent(); }
};

}  // namespace

std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const AdamOptions& options) {
  return std::make_unique<DeviceAdam>(layout, options);
}

}  // namespace lather::optim
