// Purifying Shampoo on the GPU: the steps of optim/kronecker/purifying_shampoo.cpp,
// all layers at once. If a look at the bases finds one that no longer fits, the step
// halts and the host launches the eigensolver and the rest.

#include "lather/optim/cuda/device_method.hpp"
#include "lather/optim/cuda/make_on_device.hpp"

namespace lather::optim {

namespace {

class DevicePurifyingShampoo final : public DeviceMethod {
 public:
  DevicePurifyingShampoo(const ParameterLayout& layout, const PurifyingShampooOptions& o)
      : DeviceMethod(
            layout, {o.learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay, false, o.correct_bias},
            matrix_blocks(layout, o.precondition_vectors),
            [&](const ParameterBlock&) { return static_cast<std::size_t>(o.max_dimension); }, 0),
        options_(o) {}

  void state(StateVisitor& visitor) override {
    DeviceMethod::state(visitor);
    kronecker_state(visitor);
  }

 protected:
  enum Form { kPlain = 0, kLook = 1 };

  int graph_variant(std::int64_t t) const override {
    const auto& o = options_;
    const auto start =
        o.start_preconditioning_step < 0 ? o.precondition_frequency : o.start_preconditioning_step;
    return t == start || (t > start && t % o.precondition_frequency == 0) ? kLook : kPlain;
  }

  void enqueue_change(int form) override {
    accumulate_factors(step_work().gradient, options_.beta2, options_.beta2 < 1 ? 1 - options_.beta2 : 1);
    if (form == kLook) enqueue_look();
    enqueue_rest();
  }

  void enqueue_after_halt(int) override {
    using Square = DeviceLayers::Square;
    const auto parameter = cuda::Parameter().add(work());
    launch_per_side("purify_factors", layers_.factor_blocks(), parameter);
    layers_.replace_bases(
        {.from = Square::result, .compose = false, .descending = false, .values_into_factor = false});
    layers_.launch("purify_resume", 1, 1, parameter);
    enqueue_rest();
  }

 private:
  PurifyKernelArgs work() const {
    return {elements(), layers_.work(), options_.tolerance, options_.tolerance == 0, 0};
  }

  // B = Q^T A Q, and whether it is still close to diagonal.
  void enqueue_look() {
    using Square = DeviceLayers::Square;
    const auto parameter = cuda::Parameter().add(work());
    launch_per_side("purify_factors", layers_.factor_blocks(), parameter);
    layers_.multiply(Square::result, false, Square::basis, false, Square::spare);
    layers_.multiply(Square::basis, true, Square::spare, false, Square::product);
    launch_per_side("purify_squares", layers_.factor_blocks(), parameter);
    layers_.launch("purify_check", 1, 1, parameter);
  }

  void enqueue_rest() {
    const auto parameter = cuda::Parameter().add(work());
    layers_.rotate_in(step_work().gradient, rotated_.data());
    launch_per_layer("purify_moments", parameter);
    layers_.rotate_in(m_.data(), rotated_.data());
    launch_per_layer("purify_direction", parameter);
    layers_.rotate_out(U_rotated_.data(), U_.data());
    enqueue_descent();
  }

  PurifyingShampooOptions options_;
};

}  // namespace

std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const PurifyingShampooOptions& o) {
  // The QR iteration spares the host an eigensolver; here one eigensolver call serves all layers.
  if (o.eigensolver != Eigensolver::eigh) return nullptr;
  return std::make_unique<DevicePurifyingShampoo>(layout, o);
}

}  // namespace lather::optim
