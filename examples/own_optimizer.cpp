// Your own optimizer, registered at run time: Lion (Chen et al. 2023, "Symbolic Discovery of Optimization
// Algorithms"). From then on it has options, checkpoints, schedules and clipping like the others.
//
//   c = b1 m + (1 - b1) g      m = b2 m + (1 - b2) g      x = x - eta (sign(c) + lambda x)
#include <cstdio>
#include <fstream>
#include <lather/lather.hpp>
#include <lather/optim/first_order/gradient_method.hpp>

namespace {

using namespace lather;

struct LionOptions {
  double learning_rate = 3e-4, beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
  void fields(FieldVisitor& v) {
    v.real("learning_rate", learning_rate, "step size", positive());
    v.real("beta1", beta1, "share of the momentum in the direction", unit_open_right());
    v.real("beta2", beta2, "decay rate of the momentum", unit_open_right());
    v.real("weight_decay", weight_decay, "decoupled weight decay", non_negative());
  }
};

// GradientMethod asks for the gradient, checks that it is
// finite and applies change_; a method gives the formula.
class Lion final : public optim::GradientMethod {
 public:
  Lion(const optim::ParameterLayout& layout, const LionOptions& options)
      : GradientMethod(layout), options_(options), m_(layout.size()) {}
  void state(StateVisitor& visitor) override {
    GradientMethod::state(visitor);
    visitor.array("m", std::span(m_));
  }

 protected:
  void update(std::span<const double> x) override {
    const auto& o = options_;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double g = gradient_[i], c = o.beta1 * m_[i] + (1 - o.beta1) * g;
      m_[i] = o.beta2 * m_[i] + (1 - o.beta2) * g;
      change_[i] = -o.learning_rate * factor_ * ((c > 0) - (c < 0) + o.weight_decay * x[i]);
    }
  }

 private:
  LionOptions options_;
  std::vector<double> m_;
};

}  // namespace

int main() {
  optim::register_optimizer(optim::entry<Lion>("lion", "sign of an interpolated momentum", LionOptions{}));

  train::ConfigRequest request;
  request.problem = "heat-1d";
  request.optimizer = "lion";
  request.settings = {{"optimizer.learning_rate", "1e-3"}, {"network.width", "16"}};
  request.steps = 400;
  train::Trainer trainer(train::resolve(request));
  const double before = trainer.loss();
  while (trainer.step() < 400) trainer.advance();
  std::printf("loss %.3e -> %.3e\n", before, trainer.loss());
  return trainer.loss() < before / 10 ? 0 : 1;
}
