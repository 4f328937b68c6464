#include "lather/optim/cuda/least_squares/path.hpp"

#include <algorithm>

#include "lather/optim/cuda/kernels/path_arguments.cuh"

namespace lather::optim {

namespace {

dim3 flat(std::size_t size, std::size_t rows = 1) {
  return {static_cast<unsigned>((size + 255) / 256), static_cast<unsigned>(rows)};
}
template <class Work>
void launch(cudaKernel_t kernel, dim3 grid, const Work& work, cudaStream_t stream) {
  cuda::launch(kernel, {grid, dim3(256)}, cuda::Parameter().add(work), stream);
}

}  // namespace

DevicePath::DevicePath(std::size_t size, cudaStream_t stream)
    : size_(size),
      stream_(stream),
      module_("#include \"lather/optim/cuda/kernels/path.cuh\"\n"),
      shift_kernel_(module_.kernel("damping_shift")),
      points_kernel_(module_.kernel("path_points")),
      negate_kernel_(module_.kernel("negate_vector")),
      bend_kernel_(module_.kernel("limit_bend")),
      x_(size),
      d_(size),
      a_(size),
      host_(3 * size) {}

void DevicePath::start(std::span<const double> x) {
  std::copy(x.begin(), x.end(), host_.data());
  cuda::check(cudaMemcpyAsync(x_.data(), host_.data(), x_.bytes(), cudaMemcpyHostToDevice, stream_));
}

void DevicePath::write_shift(const double* diagonal, double lambda, bool marquardt, double* shift) {
  launch(shift_kernel_, dim3(1),
         DampingKernelArgs{diagonal, shift, lambda, static_cast<int>(size_), marquardt ? 1 : 0}, stream_);
}

double* DevicePath::negated(const double* from, double* to) {
  launch(negate_kernel_, flat(size_), NegateKernelArgs{from, to, static_cast<long long>(size_)}, stream_);
  return to;
}

void DevicePath::limit_bend() {
  launch(bend_kernel_, dim3(1), BendKernelArgs{d_.data(), a_.data(), static_cast<long long>(size_)}, stream_);
}

void DevicePath::write_points(std::span<const double> lengths, Bent bent, double* to) {
  PathKernelArgs work{x_.data(), d_.data(), bent == Bent::yes ? a_.data() : nullptr,
                      to,        {},        static_cast<long long>(size_)};
  std::copy(lengths.begin(), lengths.end(), work.s);
  launch(points_kernel_, flat(size_, lengths.size()), work, stream_);
}

void DevicePath::enqueue_download() {
  for (const auto* vector : {&d_, &a_})
    cuda::check(cudaMemcpyAsync(host_.data() + (vector == &d_ ? size_ : 2 * size_), vector->data(),
                                vector->bytes(), cudaMemcpyDeviceToHost, stream_));
}

}  // namespace lather::optim
