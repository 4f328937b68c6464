#include "lather/optim/cuda/least_squares/triangles.hpp"

#include <algorithm>

#include "lather/optim/cuda/kernels/arguments.cuh"

namespace lather::optim {

namespace {

void enqueue_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  cuda::check(cudaMemcpyAsync(to, from, bytes, kind, stream));
}

}  // namespace

void download_rows(const double* from, std::size_t rows, std::size_t columns, double* to) {
  constexpr std::size_t kRows = 4096;
  const std::size_t stride = cuda::row_stride(columns);
  std::vector<double> some(std::min(rows, kRows) * stride);
  for (std::size_t first = 0; first < rows; first += kRows) {
    const std::size_t count = std::min(kRows, rows - first);
    cuda::check(cudaMemcpy(some.data(), from + first * stride, count * stride * sizeof(double),
                           cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < count; ++i) to = std::copy_n(some.data() + i * stride, columns, to);
  }
}

DeviceGram::DeviceGram(std::size_t size, const cuda::Blas& blas, cudaStream_t stream)
    : size_(size),
      blas_(blas),
      stream_(stream),
      module_("#include \"lather/optim/cuda/kernels/normal_matrix.cuh\"\n"),
      keep_(module_.kernel("keep_diagonal")),
      lower_(module_.kernel("lower_part")),
      roots_(module_.kernel("shift_roots")),
      cholesky_(size, blas, stream),
      solver_(stream),
      matrix_((size + 1) * cuda::row_stride(size)),
      diagonal_(size),
      shift_(size),
      right_side_(size),
      solution_(size),
      failed_(1),
      host_diagonal_(size),
      host_shift_(size),
      host_solution_(size),
      host_failed_(1) {}

double DeviceGram::bytes_of(double size) {
  constexpr double kVectors = 5, kPadding = 16;
  return (size + kPadding + kVectors) * size * sizeof(double) + DeviceCholesky::bytes_of(size);
}

void DeviceGram::launch(cudaKernel_t kernel, const double* matrix, double* to, bool square,
                        cudaStream_t stream) {
  const TriangleKernelArgs work{matrix, shift_.data(), to, static_cast<int>(size_),
                                static_cast<int>(cuda::row_stride(size_))};
  const auto tiles = static_cast<unsigned>((size_ + 31) / 32);
  const dim3 grid = square ? dim3(tiles, tiles) : dim3(static_cast<unsigned>(size_ / 256 + 1));
  cuda::launch(kernel, {grid, dim3(256)}, cuda::Parameter().add(work), stream);
}

void DeviceGram::enqueue_written(cudaStream_t stream) {
  launch(keep_, matrix_.data(), diagonal_.data(), false, stream);
  enqueue_copy(host_diagonal_.data(), diagonal_.data(), diagonal_.bytes(), cudaMemcpyDeviceToHost, stream);
}
void DeviceGram::written() {
  enqueue_written(stream_);
  cuda::check(cudaStreamSynchronize(stream_));
}

std::vector<double> DeviceGram::diagonal() const {
  return {host_diagonal_.data(), host_diagonal_.data() + size_};
}

void DeviceGram::copy_lower(std::span<double> matrix) const {
  download_rows(matrix_.data(), size_, size_, matrix.data());
  const auto on_diagonal = diagonal();
  for (std::size_t i = 0; i < size_; ++i) {
    for (std::size_t j = 0; j < i; ++j) matrix[i * size_ + j] = matrix[j * size_ + i];
    matrix[i * size_ + i] = on_diagonal[i];
  }
}

void DeviceGram::enqueue_upload(const cuda::PinnedMemory<double>& through, std::span<const double> values,
                                const cuda::Memory<double>& to) {
  std::copy(values.begin(), values.end(), through.data());
  enqueue_copy(to.data(), through.data(), to.bytes(), cudaMemcpyHostToDevice, stream_);
}

void DeviceGram::enqueue_factor() {
  const auto enqueue = [&] {
    cholesky_.enqueue(matrix_.data(), diagonal_.data(), shift_.data(), failed_.data(), right_side_.data());
  };
  if (!factorization_) {
    const auto lock = cuda::alone();
    enqueue();  // loads kernels and library code, which must not happen in a capture
    factorization_ = cuda::Graph(stream_, enqueue);
  }
  factorization_.launch(stream_);
  enqueue_copy(host_failed_.data(), failed_.data(), failed_.bytes(), cudaMemcpyDeviceToHost, stream_);
}

bool DeviceGram::factor(std::span<const double> shift) {
  enqueue_upload(host_shift_, shift, shift_);
  enqueue_factor();
  cuda::check(cudaStreamSynchronize(stream_));
  return was_positive();
}

bool DeviceGram::factor_and_solve(std::span<const double> shift, std::span<double> b) {
  enqueue_upload(host_shift_, shift, shift_);
  enqueue_upload(host_solution_, b, right_side_);
  enqueue_factor();
  enqueue_solution(solution_.data());
  download(b);
  return was_positive();
}

void DeviceGram::enqueue_solution(double* x) {
  const std::size_t stride = cuda::row_stride(size_);
  enqueue_copy(x, matrix_.data() + size_ * stride, solution_.bytes(), cudaMemcpyDeviceToDevice, stream_);
  blas_.solve_transposed(static_cast<int>(size_), matrix_.data(), static_cast<int>(stride), x);
}

void DeviceGram::enqueue_solve(double* b) {
  solver_.cholesky_solve(static_cast<int>(size_), matrix_.data(), static_cast<int>(cuda::row_stride(size_)),
                         b, failed_.data());
}

void DeviceGram::download(std::span<double> values) {
  enqueue_copy(host_solution_.data(), solution_.data(), solution_.bytes(), cudaMemcpyDeviceToHost, stream_);
  cuda::check(cudaStreamSynchronize(stream_));
  std::copy_n(host_solution_.data(), size_, values.begin());
}

void DeviceGram::solve(std::span<double> b) {
  enqueue_upload(host_solution_, b, solution_);
  enqueue_solve(solution_.data());
  download(b);
}

void DeviceGram::solve(const double* b, cudaStream_t stream, std::span<double> solution) {
  cuda::enqueue_behind(stream, stream_, ready_);
  enqueue_copy(solution_.data(), b, solution_.bytes(), cudaMemcpyDeviceToDevice, stream_);
  enqueue_solve(solution_.data());
  download(solution);
}

std::vector<double> DeviceGram::diagonal_of(double* matrix) {
  launch(keep_, matrix, solution_.data(), false, stream_);
  std::vector<double> values(size_);
  download(values);
  return values;
}

void DeviceGram::copy_factor(double* to) { launch(lower_, matrix_.data(), to, true, stream_); }

void DeviceGram::write_roots(std::span<const double> shift, double* to) {
  enqueue_upload(host_shift_, shift, shift_);
  launch(roots_, matrix_.data(), to, true, stream_);
  cuda::check(cudaStreamSynchronize(stream_));  // host_shift_ may now be reused
}

}  // namespace lather::optim
