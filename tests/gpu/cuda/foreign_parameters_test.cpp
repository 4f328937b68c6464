// Blocks in someone else's memory: on the device as on the host.
#include "lather/optim/foreign_parameters.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "gpu/cuda/device_stream.hpp"
#include "gpu/require_gpu.hpp"
#include "lather/optim/optimizer_spec.hpp"
#include "lather/optim/wrappers/composed.hpp"

namespace lather::optim {
namespace {

using testing_support::normal_numbers;
using testing_support::SeparatedGradients;

ParameterLayout foreign_layout() {
  ParameterLayout layout;
  layout.add_matrix("a", 6, 5);
  layout.add_vector("b", 5);
  layout.add_matrix("c", 5, 6);
  return layout;
}

// Every block in its own memory, like tensors.
template <class T>
class DeviceTensors {
 public:
  explicit DeviceTensors(const ParameterLayout& layout) : layout_(layout) {
    for (const auto& block : layout.blocks()) {
      x_.emplace_back(block.size());
      g_.emplace_back(block.size());
    }
  }
  void put(const std::vector<double>& x, bool gradient) {
    for (std::size_t k = 0; k < x_.size(); ++k) {
      const auto& block = layout_.blocks()[k];
      const std::vector<T> part(x.begin() + block.offset, x.begin() + block.offset + block.size());
      (gradient ? g_ : x_)[k].upload(part);
    }
  }
  std::vector<double> parameters() const {
    std::vector<double> all(layout_.size());
    for (std::size_t k = 0; k < x_.size(); ++k) {
      std::vector<T> part(x_[k].size());
      x_[k].download(part);
      std::copy(part.begin(), part.end(), all.begin() + layout_.blocks()[k].offset);
    }
    return all;
  }
  std::vector<ForeignBlock> blocks() const {
    using Type = ForeignBlock::Type;
    std::vector<ForeignBlock> list;
    for (std::size_t k = 0; k < x_.size(); ++k)
      list.push_back(
          {x_[k].data(), g_[k].data(), sizeof(T) == 4 ? Type::float32 : Type::float64, x_[k].size()});
    return list;
  }

 private:
  ParameterLayout layout_;
  std::vector<cuda::Memory<T>> x_, g_;
};

template <class T>
double largest_departure(const nlohmann::json& settings, int steps) {
  const auto layout = foreign_layout();
  const auto spec = optimizer_spec(settings);
  const auto host = make_composed(layout, spec), device = make_composed(layout, spec, Device::cuda);
  const auto on_host = make_foreign_parameters(layout, Device::cpu),
             on_device = make_foreign_parameters(layout, Device::cuda);
  const SeparatedGradients gradients(layout, 5);
  const auto start = normal_numbers(3, 1, layout.size());
  std::vector<T> x(start.begin(), start.end());
  DeviceTensors<T> tensors(layout);
  tensors.put(start, false);
  double worst = 0, change = 0;
  for (int t = 0; t < steps; ++t) {
    const auto g = gradients(static_cast<std::size_t>(t));
    const std::vector<T> rounded(g.begin(), g.end());
    std::vector<ForeignBlock> blocks;
    for (const auto& block : layout.blocks())
      blocks.push_back({x.data() + block.offset, rounded.data() + block.offset,
                        sizeof(T) == 4 ? ForeignBlock::Type::float32 : ForeignBlock::Type::float64,
                        block.size()});
    on_host->step(*host, blocks, 1, nullptr);
    tensors.put(g, true);
    const auto report = on_device->step(*device, tensors.blocks(), 1, nullptr);
    EXPECT_EQ(report.status, Status::running) << report.message;
    EXPECT_EQ(report.loss, 1);
    const auto y = tensors.parameters();
    for (std::size_t i = 0; i < x.size(); ++i) {
      worst = std::max(worst, std::abs(x[i] - y[i]));
      change = std::max(change, std::abs(x[i] - start[i]));
    }
  }
  EXPECT_GT(change, 1e-3);
  return worst / change;
}

TEST(ForeignParameters, StepOnTheDeviceAsOnTheHost) {
  REQUIRE_GPU();
  EXPECT_LT(largest_departure<double>({{"name", "adam"}}, 6), 1e-12);
  EXPECT_LT(
      largest_departure<double>({{"name", "sgd"}, {"learning_rate", 0.1}, {"clip", {{"limit", 0.1}}}}, 6),
      1e-12);
  EXPECT_LT(largest_departure<double>({{"name", "soap"}, {"precondition_frequency", 8}}, 12), 1e-10);
  // One rounding to float32 more or less per step.
  EXPECT_LT(largest_departure<float>({{"name", "adam"}, {"learning_rate", 0.1}}, 6), 1e-5);
}

TEST(ForeignParameters, AGradientThatIsNotFiniteLeavesThemAsTheyWere) {
  REQUIRE_GPU();
  const auto layout = foreign_layout();
  const auto adam = make_composed(layout, optimizer_spec({{"name", "adam"}}), Device::cuda);
  const auto foreign = make_foreign_parameters(layout, Device::cuda);
  DeviceTensors<double> tensors(layout);
  const auto start = normal_numbers(3, 1, layout.size());
  auto g = start;
  g[7] = std::nan("");
  tensors.put(start, false);
  tensors.put(g, true);
  EXPECT_EQ(foreign->step(*adam, tensors.blocks(), 0, nullptr).status, Status::non_finite);
  EXPECT_EQ(tensors.parameters(), start);
}

}  // namespace
}  // namespace lather::optim
