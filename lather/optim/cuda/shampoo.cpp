// Shampoo on the GPU: the steps of optim/kronecker/shampoo.cpp, all layers at once.

#include "lather/optim/cuda/device_method.hpp"
#include "lather/optim/cuda/make_on_device.hpp"

namespace lather::optim {

namespace {

class DeviceShampoo final : public DeviceMethod {
 public:
  DeviceShampoo(const ParameterLayout& layout, const ShampooOptions& o)
      : DeviceMethod(
            layout,
            {o.learning_rate, o.beta1, o.grafting_beta2, o.grafting_epsilon, o.weight_decay, false,
             o.correct_bias},
            matrix_blocks(layout, o.precondition_vectors),
            [&](const ParameterBlock&) { return static_cast<std::size_t>(o.max_dimension); }, 0),
        options_(o),
        partials_(2 * layer_grid_ * layer_blocks_.size()) {}

  void state(StateVisitor& visitor) override {
    DeviceMethod::state(visitor);
    kronecker_state(visitor);
  }

 protected:
  enum Form { kGraftedAlone = 0, kPreconditioned = 1, kNewRoots = 2 };

  int graph_variant(std::int64_t t) const override {
    if (options_.updates_roots(t)) return layers_.captures() ? kNewRoots : kUncaptured + kNewRoots;
    return t >= options_.start() || options_.grafting == Grafting::none ? kPreconditioned : kGraftedAlone;
  }

  void enqueue_change(int form) override {
    const auto parameter = cuda::Parameter().add(work());
    accumulate_factors(step_work().gradient, options_.beta2, options_.beta2 < 1 ? 1 - options_.beta2 : 1);
    if (form % kUncaptured == kNewRoots) enqueue_roots();
    launch_per_layer("shampoo_moments", parameter);
    if (form != kGraftedAlone) {
      layers_.rotate_out(rotated_.data(), U_rotated_.data());  // the inverse roots are symmetric
      launch_per_layer("shampoo_precondition", parameter);
      launch_per_layer("shampoo_graft", parameter);
    }
    enqueue_descent();
  }

 private:
  ShampooKernelArgs work() const {
    return {elements(),
            layers_.work(),
            partials_.data(),
            options_.beta2,
            options_.epsilon,
            options_.grafting == Grafting::adam,
            0};
  }

  // basis = (A / correction + eps I)^(-1/r)
  void enqueue_roots() {
    using Square = DeviceLayers::Square;
    const auto parameter = cuda::Parameter().add(work());
    launch_per_side("shampoo_factors", layers_.factor_blocks(), parameter);
    layers_.diagonalize_products();
    launch_per_side("shampoo_scale", layers_.factor_blocks(), parameter);
    layers_.multiply(Square::product, true, Square::product, false, Square::result);
    launch_per_side("shampoo_install", layers_.factor_blocks(), parameter);
  }

  ShampooOptions options_;
  cuda::Memory<double> partials_;
};

}  // namespace

std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const ShampooOptions& options) {
  return std::make_unique<DeviceShampoo>(layout, options);
}

}  // namespace lather::optim
