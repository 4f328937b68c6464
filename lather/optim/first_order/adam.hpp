#pragma once
// Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019), as torch.optim defines them.

#include "lather/core/options.hpp"
#include "lather/optim/first_order/gradient_method.hpp"

namespace lather::optim {

enum class WeightDecay { coupled, decoupled };

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  WeightDecay decay = WeightDecay::coupled;
  bool amsgrad = false;
  void fields(FieldVisitor& v) {
    v.real("learning_rate", learning_rate, "step size", positive());
    v.real("beta1", beta1, "decay rate of the first moment", unit_open_right());
    v.real("beta2", beta2, "decay rate of the second moment", unit_open_right());
    v.real("epsilon", epsilon, "added to the root of the second moment", non_negative());
    v.real("weight_decay", weight_decay, "strength of weight decay", non_negative());
    v.choice("decay", decay, "weight decay as part of the gradient (Adam) or of the step (AdamW)",
             {{"coupled", WeightDecay::coupled}, {"decoupled", WeightDecay::decoupled}});
    v.boolean("amsgrad", amsgrad, "divide by the largest second moment so far");
  }
  static AdamOptions adamw() {
    AdamOptions o;
    o.decay = WeightDecay::decoupled;
    o.weight_decay = 0.01;
    return o;
  }
};

class Adam final : public GradientMethod {
 public:
  Adam(const ParameterLayout& layout, const AdamOptions& options);
  std::size_t memory_bytes() const override {
    return GradientMethod::memory_bytes() + bytes_of(m_, v_, largest_v_);
  }
  void state(StateVisitor& visitor) override;

 protected:
  void update(std::span<const double> x) override;

 private:
  AdamOptions options_;
  std::vector<double> m_, v_, largest_v_;
};

}  // namespace lather::optim
