#pragma once
// Symmetric and triangular matrices on the GPU, row-major, rows cuda::row_stride(size) apart.

#include <span>
#include <vector>

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/cuda/runtime.hpp"
#include "lather/optim/cuda/least_squares/cholesky.hpp"

namespace lather::optim {

// Copies a matrix on the device to rows of `columns` numbers.
void download_rows(const double* from, std::size_t rows, std::size_t columns, double* to);

// A symmetric matrix and its shifted Cholesky factor in one square of memory: the matrix above the diagonal,
// the factor C (C C^T) on and below it. The matrix's own diagonal is kept separately. Below the square is a
// row for the right side that is solved for on the way.
class DeviceGram {
 public:
  DeviceGram(std::size_t size, const cuda::Blas& blas, cudaStream_t stream);
  std::size_t size() const { return size_; }
  std::size_t bytes() const {
    return matrix_.bytes() + diagonal_.bytes() + shift_.bytes() + right_side_.bytes() + cholesky_.bytes();
  }
  static double bytes_of(double size);

  double* upper() { return matrix_.data(); }  // to be written, with the diagonal; then:
  void written();
  void enqueue_written(cudaStream_t stream);  // the same behind the work of a stream that is then waited for
  std::vector<double> diagonal() const;
  void copy_lower(std::span<double> matrix) const;  // of the matrix, to the host, rows of size() numbers

  // Factors the matrix + diag(shift). False if that is not positive definite in this precision.
  bool factor(std::span<const double> shift);
  // The same, and if it is, b = (C C^T)^{-1} b.
  bool factor_and_solve(std::span<const double> shift, std::span<double> b);
  // The same in steps without the host, all on the stream: the caller writes the shift, b is on the device,
  // and was_positive() is valid once the stream has been waited for.
  const double* device_diagonal() const { return diagonal_.data(); }
  double* device_shift() const { return shift_.data(); }
  double* device_right_side() const { return right_side_.data(); }
  void enqueue_factor();
  void enqueue_solution(double* x);  // for the right side given when the matrix was factored
  void enqueue_solve(double* b);     // for any
  bool was_positive() const { return host_failed_[0] == 0; }
  const double* factor() const { return matrix_.data(); }  // the lower triangle
  std::vector<double> factor_diagonal() { return diagonal_of(matrix_.data()); }
  std::vector<double> diagonal_of(double* matrix);  // of another matrix of this size, on the device
  void copy_factor(double* to);                     // with zeros above the diagonal, on the device
  void write_roots(std::span<const double> shift, double* to);  // diag(sqrt(shift)), on the device
  void solve(std::span<double> b);                              // b = (C C^T)^{-1} b
  // The same for b on the device, after the work of `stream`.
  void solve(const double* b, cudaStream_t stream, std::span<double> solution);

 private:
  void launch(cudaKernel_t kernel, const double* matrix, double* to, bool square, cudaStream_t stream);
  // On the stream, through page-locked memory: one vector is under way at a time.
  void enqueue_upload(const cuda::PinnedMemory<double>& through, std::span<const double> values,
                      const cuda::Memory<double>& to);
  void download(std::span<double> values);

  std::size_t size_;
  const cuda::Blas& blas_;
  cudaStream_t stream_;
  cuda::KernelModule module_;
  cudaKernel_t keep_, lower_, roots_;
  DeviceCholesky cholesky_;
  cuda::Graph factorization_;
  cuda::Solver solver_;
  cuda::Memory<double> matrix_, diagonal_, shift_, right_side_, solution_;
  cuda::Memory<int> failed_;
  cuda::PinnedMemory<double> host_diagonal_, host_shift_, host_solution_;
  cuda::PinnedMemory<int> host_failed_;
  cuda::Event ready_;  // the result of another stream
};

}  // namespace lather::optim
