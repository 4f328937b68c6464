#pragma once
// Training points drawn on the GPU, inside the graph of a
// step: the same bits as pde/sampling/sampling.cpp draws.

#include <memory>

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/cuda/runtime.hpp"
#include "lather/pde/sampling/point_plan.hpp"

namespace lather::pde {

class DevicePoints {
 public:
  // Which methods it supports.
  static bool draws(SamplingMethod method) {
    return method == SamplingMethod::uniform || method == SamplingMethod::sobol ||
           method == SamplingMethod::sobol_plain;
  }

  // Where the coordinates of a set are: coordinate k of point i at k * points + i, in single or double
  // precision. Null address: the set is not used.
  struct Target {
    void* coordinates = nullptr;
    std::size_t points = 0;
  };
  DevicePoints(const PointPlan& plan, const std::vector<Target>& targets, bool single_precision);

  void set_step(std::int64_t step) { step_.upload(std::span<const std::int64_t>(&step, 1)); }
  // Draws new points if step + *index is a step at which they are due; *changed says whether it is.
  void enqueue(const int* index, int* changed, cudaStream_t stream) const;

 private:
  std::int64_t every_;
  std::uint64_t seed_;
  unsigned parts_count_ = 0, blocks_ = 1;
  cuda::Memory<std::int64_t> step_;
  cuda::Memory<std::uint32_t> directions_;
  cuda::Memory<std::byte> parts_;
  std::unique_ptr<cuda::KernelModule> module_;
  cudaKernel_t kernel_;
};

}  // namespace lather::pde
