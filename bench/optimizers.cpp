// Time of the optimizer step alone, on the matrices of an MLP with two inputs, four hidden layers and one
// output. Gradients come from memory at no cost. The plain transcription of Algorithm 2 is timed next to the
// fast form.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "lather/core/rng.hpp"
#include "lather/optim/first_order/adam.hpp"
#include "lather/optim/first_order/muon.hpp"
#include "lather/optim/kronecker/purifying_shampoo.hpp"
#include "lather/optim/kronecker/soap.hpp"
#include "lather/optim/kronecker/ss_esoap.hpp"
#include "tests/optim/ss_esoap_literal.hpp"

namespace {

using namespace lather;
using namespace lather::optim;
using Mat = linalg::EigenMatrix;

ParameterLayout mlp(std::size_t d) {
  ParameterLayout layout;
  layout.add_matrix("layer1.weight", 2, d, Role::input);
  layout.add_vector("layer1.bias", d);
  for (int k = 2; k <= 4; ++k) {
    layout.add_matrix("layer" + std::to_string(k) + ".weight", d, d);
    layout.add_vector("layer" + std::to_string(k) + ".bias", d);
  }
  layout.add_matrix("layer5.weight", d, 1, Role::output);
  layout.add_vector("layer5.bias", 1);
  return layout;
}

// Two alternating gradients: their sum of squares settles, so a basis stays good once found.
class Recorded final : public Objective {
 public:
  explicit Recorded(const ParameterLayout& layout)
      : layout_(layout), gradients_(2, std::vector<double>(layout.size())) {
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t i = 0; i < layout.size(); ++i) gradients_[k][i] = 1e-3 * Random(1, k).normal(i);
  }
  const ParameterLayout& layout() const override { return layout_; }
  double value(std::span<const double>) override { return 0; }
  double value_and_gradient(std::span<const double>, std::span<double> g) override {
    const auto& from = gradients_[turn_++ % 2];
    std::copy(from.begin(), from.end(), g.begin());
    return 0;
  }
  const std::vector<double>& gradient(std::size_t k) const { return gradients_[k % 2]; }

 private:
  ParameterLayout layout_;
  std::vector<std::vector<double>> gradients_;
  std::size_t turn_ = 0;
};

// The fastest of several runs: the machine is shared, interruptions only add.
template <class Work>
double milliseconds(int warm_up, int runs, Work work) {
  for (int i = 0; i < warm_up; ++i) work();
  double best = 1e300;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(
        best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

template <class Method, class Options>
double step_time(const ParameterLayout& layout, const Options& options, int runs) {
  Method method(layout, options);
  Recorded objective(layout);
  std::vector<double> x(layout.size(), 0.1);
  return milliseconds(3, runs, [&] { method.step(objective, x); });
}

double literal_step_time(const ParameterLayout& layout, const SsEsoapOptions& options, int runs) {
  Recorded objective(layout);
  std::vector<testing_support::SsEsoapLiteral> layers;
  std::vector<const ParameterBlock*> blocks;
  for (const auto& block : layout.blocks())
    if (block.matrix) {
      blocks.push_back(&block);
      layers.emplace_back(Mat::Zero(block.rows, block.cols), options);
    }
  std::size_t t = 0;
  return milliseconds(1, runs, [&] {
    for (std::size_t k = 0; k < layers.size(); ++k)
      layers[k].step(Eigen::Map<const Mat>(objective.gradient(t).data() + blocks[k]->offset, blocks[k]->rows,
                                           blocks[k]->cols));
    ++t;
  });
}

}  // namespace

int main() {
  fmt::print("{:<44}{:>12}{:>12}\n", "optimizer step, milliseconds, one thread", "width 128", "width 256");
  const auto row = [](const char* name, auto time) {
    fmt::print("{:<44}{:>12.3f}{:>12.3f}\n", name, time(mlp(128)), time(mlp(256)));
  };
  SsEsoapOptions quiet, always;
  quiet.trigger = 1e9;
  always.trigger = 0;
  SoapOptions soap_quiet, soap_always;
  soap_quiet.precondition_frequency = 1000000;
  soap_always.precondition_frequency = 1;
  PurifyingShampooOptions purifying_quiet, purifying_always;
  purifying_quiet.precondition_frequency = 1000000;
  purifying_always.precondition_frequency = 1;
  purifying_always.tolerance = 0;
  row("adam", [](const auto& l) { return step_time<Adam>(l, AdamOptions{}, 50); });
  row("muon", [](const auto& l) { return step_time<Muon>(l, MuonOptions{}, 20); });
  row("ss-esoap, no basis change", [&](const auto& l) { return step_time<SsEsoap>(l, quiet, 20); });
  row("ss-esoap, all bases change", [&](const auto& l) { return step_time<SsEsoap>(l, always, 5); });
  row("soap, no refresh", [&](const auto& l) { return step_time<Soap>(l, soap_quiet, 20); });
  row("soap, all bases refreshed", [&](const auto& l) { return step_time<Soap>(l, soap_always, 5); });
  row("purifying-shampoo, no check",
      [&](const auto& l) { return step_time<PurifyingShampoo>(l, purifying_quiet, 20); });
  row("purifying-shampoo, all bases change",
      [&](const auto& l) { return step_time<PurifyingShampoo>(l, purifying_always, 5); });
  row("Algorithm 2 as written, no basis change",
      [&](const auto& l) { return literal_step_time(l, quiet, 10); });
  row("Algorithm 2 as written, all bases change",
      [&](const auto& l) { return literal_step_time(l, always, 3); });
}
