// SOAP on the GPU: the steps of optim/kronecker/soap.cpp, all blocks at once.

#include <numeric>

#include "lather/optim/cuda/device_method.hpp"
#include "lather/optim/cuda/make_on_device.hpp"

namespace lather::optim {

namespace {

std::vector<std::size_t> all_blocks(const ParameterLayout& layout) {
  std::vector<std::size_t> blocks(layout.blocks().size());
  std::iota(blocks.begin(), blocks.end(), 0);
  return blocks;
}

class DeviceSoap final : public DeviceMethod {
 public:
  DeviceSoap(const ParameterLayout& layout, const SoapOptions& o)
      : DeviceMethod(
            layout, {o.learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay, false, o.correct_bias},
            all_blocks(layout),
            [&](const ParameterBlock& block) {
              return block.matrix || o.precondition_vectors ? static_cast<std::size_t>(o.max_dimension)
                                                            : std::size_t{0};
            },
            0),
        options_(o),
        order_(layers_.value_count() + 1),
        new_M_(layout.size()),
        new_V_(layout.size()),
        partials_(layer_grid_ * layer_blocks_.size()) {}

  void state(StateVisitor& visitor) override {
    DeviceMethod::state(visitor);
    kronecker_state(visitor);
  }

 protected:
  enum Form { kPlain = 0, kRefresh = 1, kFirst = kUncaptured };

  int graph_variant(std::int64_t t) const override {
    if (t == 1) return kFirst;
    return (t - 1) % options_.precondition_frequency == 0 ? kRefresh : kPlain;
  }

  void enqueue_change(int form) override {
    const auto parameter = cuda::Parameter().add(work());
    if (form == kFirst) {  // the first gradient only builds the bases
      layers_.launch("soap_skip", 32, 1, parameter);
      return;
    }
    layers_.rotate_in(step_work().gradient, rotated_.data());  // G' = Q_L^T G Q_R
    launch_per_layer("soap_direction", parameter);
    layers_.rotate_out(U_rotated_.data(), U_.data());
    if (options_.normalize_gradients) launch_per_layer("soap_squares", parameter);
    launch_per_layer("soap_descend", parameter);
  }

  void enqueue_after(int form) override {
    using Square = DeviceLayers::Square;
    const double beta = options_.factor_beta < 0 ? options_.beta2 : options_.factor_beta;
    accumulate_factors(step_work().gradient, beta, 1 - beta);
    if (form == kFirst) {
      layers_.change_all();
      layers_.replace_bases(
          {.from = Square::factor, .compose = false, .descending = true, .values_into_factor = false});
    } else if (form == kRefresh) {
      const auto parameter = cuda::Parameter().add(work());
      layers_.rotate_out(m_.data(), U_.data());  // the momentum keeps its direction in parameter space
      layers_.multiply(Square::factor, false, Square::basis, false, Square::product);  // A Q
      launch_per_side("soap_sort", 1, parameter);
      layers_.orthonormalize(control_.data());
      launch_per_layer("soap_permute", parameter);
      layers_.rotate_in(U_.data(), new_M_.data());
      launch_per_layer("soap_carry_over", parameter);
    }
  }

 private:
  SoapKernelArgs work() const {
    return {elements(),
            layers_.work(),
            order_.data(),
            new_M_.data(),
            new_V_.data(),
            partials_.data(),
            options_.normalize_gradients,
            0};
  }

  SoapOptions options_;
  cuda::Memory<int> order_;
  cuda::Memory<double> new_M_, new_V_, partials_;
};

}  // namespace

std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const SoapOptions& o) {
  return std::make_unique<DeviceSoap>(layout, o);
}

}  // namespace lather::optim
