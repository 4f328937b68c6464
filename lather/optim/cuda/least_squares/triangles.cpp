#include "lather/optim/cuda/least_squares/triangles.hpp"

#include <algorithm>

#include "lather/optim/cuda/kernels/arguments.cuh"

namespace lather::optim {

DeviceGram::DeviceGram(std::size_t size, cudaStream_t stream)
    : size_(size),
      stream_(stream),
      module_("#include \"lather/optim/cuda/kernels/normal_matrix.cuh\"\n"),
      keep_(module_.kernel("keep_diagonal")),
      mirror_(module_.kernel("mirror")),
      lower_(module_.kernel("lower_part")),
      roots_(module_.kernel("shift_roots")),
      solver_(stream),
      matrix_(size * size),
      diagonal_(size),
      shift_(size),
      info_(1),
      host_diagonal_(size),
      host_shift_(size),
      host_info_(1) {}

void DeviceGram::enqueue_upload(std::span<const double> values) {
  std::copy(values.begin(), values.end(), host_shift_.data());
  cuda::check(
      cudaMemcpyAsync(shift_.data(), host_shift_.data(), shift_.bytes(), cudaMemcpyHostToDevice, stream_));
}

void DeviceGram::download(std::span<double> values) {
  cuda::check(
      cudaMemcpyAsync(host_shift_.data(), shift_.data(), shift_.bytes(), cudaMemcpyDeviceToHost, stream_));
  cuda::check(cudaStreamSynchronize(stream_));
  std::copy_n(host_shift_.data(), size_, values.begin());
}

void DeviceGram::launch(cudaKernel_t kernel, double* matrix, double* to, bool square) {
  const TriangleKernelArgs work{matrix, diagonal_.data(), shift_.data(), to, static_cast<int>(size_), 0};
  const auto tiles = static_cast<unsigned>((size_ + 31) / 32);
  const dim3 grid = square ? dim3(tiles, tiles) : dim3(static_cast<unsigned>(size_ / 256 + 1));
  cuda::launch(kernel, {grid, dim3(256)}, cuda::Parameter().add(work), stream_);
}

void DeviceGram::written() {
  launch(keep_, matrix_.data(), diagonal_.data(), false);
  cuda::check(cudaMemcpyAsync(host_diagonal_.data(), diagonal_.data(), diagonal_.bytes(),
                              cudaMemcpyDeviceToHost, stream_));
  cuda::check(cudaStreamSynchronize(stream_));
}

std::vector<double> DeviceGram::diagonal() const {
  return {host_diagonal_.data(), host_diagonal_.data() + size_};
}

void DeviceGram::copy_lower(std::span<double> matrix) const {
  matrix_.download(matrix);
  const auto on_diagonal = diagonal();
  for (std::size_t i = 0; i < size_; ++i) {
    for (std::size_t j = 0; j < i; ++j) matrix[i * size_ + j] = matrix[j * size_ + i];
    matrix[i * size_ + i] = on_diagonal[i];
  }
}

bool DeviceGram::factor(std::span<const double> shift) {
  enqueue_upload(shift);
  launch(mirror_, matrix_.data(), nullptr, true);
  solver_.cholesky(static_cast<int>(size_), matrix_.data(), info_.data());
  cuda::check(
      cudaMemcpyAsync(host_info_.data(), info_.data(), info_.bytes(), cudaMemcpyDeviceToHost, stream_));
  cuda::check(cudaStreamSynchronize(stream_));
  return host_info_[0] == 0;
}

std::vector<double> DeviceGram::diagonal_of(double* matrix) {
  launch(keep_, matrix, shift_.data(), false);  // the shift has done its work
  std::vector<double> values(size_);
  download(values);
  return values;
}

void DeviceGram::copy_factor(double* to) { launch(lower_, matrix_.data(), to, true); }

void DeviceGram::write_roots(std::span<const double> shift, double* to) {
  enqueue_upload(shift);
  launch(roots_, matrix_.data(), to, true);
  cuda::check(cudaStreamSynchronize(stream_));  // the next shift may come
}

void DeviceGram::solve(std::span<double> b) {
  enqueue_upload(b);
  solver_.cholesky_solve(static_cast<int>(size_), matrix_.data(), shift_.data(), info_.data());
  download(b);
}

}  // namespace lather::optim
