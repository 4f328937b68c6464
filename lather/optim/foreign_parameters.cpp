#include "lather/optim/foreign_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lather/core/error.hpp"

namespace lather::optim {

namespace {

template <class From>
void copy_to(std::span<double> to, const void* from) {
  std::copy_n(static_cast<const From*>(from), to.size(), to.begin());
}

class ForeignOnHost final : public ForeignParameters, public Objective {
 public:
  explicit ForeignOnHost(const ParameterLayout& layout)
      : ForeignParameters(layout), x_(layout.size()), gradient_(layout.size()) {}

  StepReport take_step(Optimizer& optimizer, std::span<const ForeignBlock> blocks, double loss,
                       void*) override {
    loss_ = loss;
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      const bool wide = blocks[k].type == ForeignBlock::Type::float64;
      (wide ? copy_to<double> : copy_to<float>)(part(x_, k), blocks[k].parameter);
      (wide ? copy_to<double> : copy_to<float>)(part(gradient_, k), blocks[k].gradient);
    }
    auto report = optimizer.step(*this, x_);
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      const auto values = part(x_, k);
      if (blocks[k].type == ForeignBlock::Type::float64)
        std::copy(values.begin(), values.end(), static_cast<double*>(blocks[k].parameter));
      else
        std::transform(values.begin(), values.end(), static_cast<float*>(blocks[k].parameter),
                       [](double v) { return static_cast<float>(v); });
    }
    return report;
  }

  const ParameterLayout& layout() const override { return layout_; }
  double value(std::span<const double>) override { return loss_; }
  double value_and_gradient(std::span<const double>, std::span<double> gradient) override {
    std::copy(gradient_.begin(), gradient_.end(), gradient.begin());
    return loss_;
  }

 private:
  std::span<double> part(std::vector<double>& flat, std::size_t block) const {
    const auto& b = layout_.blocks()[block];
    return std::span(flat).subspan(b.offset, b.size());
  }
  std::vector<double> x_, gradient_;
  double loss_ = 0;
};

}  // namespace

StepReport ForeignParameters::step(Optimizer& optimizer, std::span<const ForeignBlock> blocks, double loss,
                                   void* stream) {
  const auto& own = layout_.blocks();
  if (blocks.size() != own.size())
    throw Error(fmt::format("{} tensors for an optimizer of {} blocks", blocks.size(), own.size()));
  for (std::size_t k = 0; k < own.size(); ++k)
    if (blocks[k].size != own[k].size())
      throw Error(fmt::format("tensor {} has {} elements, block '{}' of the optimizer has {}", k + 1,
                              blocks[k].size, own[k].name, own[k].size()));
  return take_step(optimizer, blocks, loss, stream);
}

std::unique_ptr<ForeignParameters> make_foreign_parameters(const ParameterLayout& layout, Device device) {
  if (device == Device::cuda) return make_foreign_parameters_on_device(layout);
  return std::make_unique<ForeignOnHost>(layout);
}

}  // namespace lather::optim
