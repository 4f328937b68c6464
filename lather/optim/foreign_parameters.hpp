#pragma once
// Steps with given gradients on parameters in someone else's memory, block by block: tensors of a
// deep-learning framework. The optimizer itself works in double, whatever the type of the blocks.

#include <memory>
#include <span>

#include "lather/core/device.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

// Contiguous, in the order of the layout's blocks.
struct ForeignBlock {
  enum class Type { float64, float32 };
  void* parameter;
  const void* gradient;
  Type type;
  std::size_t size;  // elements
};

class ForeignParameters {
 public:
  explicit ForeignParameters(const ParameterLayout& layout) : layout_(layout) {}
  virtual ~ForeignParameters() = default;
  // For methods that ask for one gradient at the current parameters. `stream` (cudaStream_t) orders the step
  // on the GPU; the host ignores it. Throws Error if the blocks are not as many and as large as the layout's.
  StepReport step(Optimizer& optimizer, std::span<const ForeignBlock> blocks, double loss, void* stream);

 protected:
  virtual StepReport take_step(Optimizer& optimizer, std::span<const ForeignBlock> blocks, double loss,
                               void* stream) = 0;
  ParameterLayout layout_;
};

// On `cuda` the optimizer must live there too. Throws Error if this program has no CUDA.
std::unique_ptr<ForeignParameters> make_foreign_parameters(const ParameterLayout& layout, Device device);
std::unique_ptr<ForeignParameters> make_foreign_parameters_on_device(const ParameterLayout& layout);

// Value and gradient of an objective on the GPU, with x and gradient in device memory, ordered on `stream`.
double gradient_on_device(Objective& objective, const double* x, double* gradient, void* stream);

}  // namespace lather::optim
