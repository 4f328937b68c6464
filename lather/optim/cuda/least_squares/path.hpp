#pragma once
// The vectors of one step of lm on the GPU: x, its direction d and acceleration a, and points along the path.

#include <span>
#include <vector>

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/cuda/runtime.hpp"

namespace lather::optim {

class DevicePath {
 public:
  DevicePath(std::size_t size, cudaStream_t stream);

  // All enqueued on the stream.
  void start(std::span<const double> x);
  void write_shift(const double* diagonal, double lambda, bool marquardt, double* shift);
  double* negated(const double* from, double* to);  // returns `to`
  void limit_bend();
  enum class Bent { no, yes };
  void write_points(std::span<const double> lengths, Bent bent, double* to);
  void enqueue_download();

  double* d() const { return d_.data(); }
  double* a() const { return a_.data(); }
  // Valid once the download has been waited for.
  std::vector<double> host_d() const { return {host_.data() + size_, host_.data() + 2 * size_}; }
  std::vector<double> host_a() const { return {host_.data() + 2 * size_, host_.data() + 3 * size_}; }

 private:
  std::size_t size_;
  cudaStream_t stream_;
  cuda::KernelModule module_;
  cudaKernel_t shift_kernel_, points_kernel_, negate_kernel_, bend_kernel_;
  cuda::Memory<double> x_, d_, a_;
  cuda::PinnedMemory<double> host_;  // x, d, a
};

}  // namespace lather::optim
