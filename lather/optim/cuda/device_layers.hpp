#pragma once
// Kronecker factors and bases of matrix blocks on the GPU (notation of optim/kronecker/factors.hpp). Blocks
// of equal shape share a batched product, sides of equal dimension a call of the eigensolver.

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/cuda/runtime.hpp"
#include "lather/core/state.hpp"
#include "lather/optim/cuda/kernels/arguments.cuh"
#include "lather/optim/parameters.hpp"

namespace lather::optim {

inline constexpr unsigned kDeviceThreads = 256;

class DeviceLayers {
 public:
  // `blocks` of the layout become layers; a side longer than max_dimension of its block has no factor.
  using MaxDimension = std::function<std::size_t(const ParameterBlock&)>;
  DeviceLayers(const ParameterLayout& layout, const std::vector<std::size_t>& blocks,
               const MaxDimension& max_dimension, double initial_diagonal);
  void bind(cudaStream_t stream);  // before anything is enqueued

  const std::vector<DeviceLayer>& layers() const { return layers_; }
  std::size_t side_count() const { return sides_.size(); }
  std::size_t value_count() const { return values_.size(); }  // lengths of all sides
  std::size_t bytes() const;
  KroneckerKernelArgs work() const;  // for kernels

  // Flat arrays of all layers. Layers with nothing to rotate are skipped: rotated values are the values.
  void rotate_in(const double* x, double* out);         // out = Q_L^T X Q_R
  void rotate_out(const double* x, double* out);        // out = Q_L X Q_R^T
  void turn_by_products(const double* x, double* out);  // out = P_L X P_R^T
  // products: G G^T for left sides, G^T G for right sides
  void outer_products(const double* g);
  // out = alpha A B + beta out for the square arrays of every side; A and B may be transposed
  enum class Square { factor, basis, product, spare, result, old_basis };
  void multiply(Square a, bool transpose_a, Square b, bool transpose_b, Square out, double alpha = 1,
                double beta = 0);
  void copy(Square from, Square to);
  void reserve_old_bases() { old_basis_ = cuda::Memory<double>(basis_.size()); }  // before old_basis is used
  // products become their eigenvectors, row by row; eigenvalues ascend. Sides of length 1 are left unchanged.
  void diagonalize_products();

  // New bases for the sides whose flag in changed() is set: eigenvectors of the squares `from` (factor or
  // result), multiplied into the present basis (`compose`) or replacing it; canonical as in
  // linalg::make_canonical; eigenvalues in descending or ascending order. `values_into_factor`: the
  // factor becomes its eigenvalues.
  struct Replacement {
    Square from;
    bool compose, descending, values_into_factor;
  };
  void replace_bases(const Replacement& how);
  int* changed() const { return changed_.data(); }
  // basis <- the orthonormal factor of result, which is overwritten; does nothing if `control` says halt.
  void orthonormalize(const Control* control) const;
  // The host must know how many flags are set: that many matrices go to the eigensolver.
  void read_changed();
  void change_all();
  const std::vector<int>& to_change() const { return to_change_; }  // by dimension
  bool captures() const { return largest_ <= 512; }                 // the eigensolver into a graph

  void state(StateVisitor& visitor, std::size_t layer);
  const cuda::Blas& blas() const { return *blas_; }
  // On a grid of x × y blocks of kDeviceThreads.
  void launch(const char* kernel, unsigned x, unsigned y, const cuda::Parameter& parameter) const;
  unsigned factor_blocks() const { return factor_blocks_; }

 private:
  void add_layers(const ParameterLayout& layout, const std::vector<std::size_t>& blocks,
                  const MaxDimension& max_dimension);
  void allocate(double initial_diagonal);

  struct Group {  // of equal shape
    int rows, cols;
    bool left, right;  // sides that turn: those with a factor and more than one dimension
    std::vector<std::size_t> layers;
  };
  struct Dimension {  // sides of equal dimension, contiguous
    int d;
    std::size_t first, offset, count;  // first slot; where it begins in the square arrays
  };
  double* square(Square which) const;
  double* const* addresses(const void* key, int group, const std::vector<double*>& list);
  double* const* in_flat(std::size_t group, const double* base);
  double* const* of_sides(std::size_t group, bool left, Square which);
  double* const* of_dimension(std::size_t dimension, Square which);
  void diagonalize(const std::vector<int>& counts, double* values, int* info);
  void rotate(const double* x, double* out, bool in, Square by);
  void turn(std::size_t group, bool left, bool in, Square by, const double* x, double* out);

  std::vector<DeviceLayer> layers_;
  std::vector<DeviceSide> sides_;  // left then right of every layer
  std::vector<Group> groups_;
  std::vector<Dimension> dimensions_;
  std::vector<int> to_change_;
  int largest_ = 0;
  unsigned factor_blocks_ = 1;
  cuda::Memory<double> factor_, basis_, product_, spare_, result_, old_basis_, half_, values_, solved_values_,
      partials_, scratch_;
  cuda::Memory<int> info_, solved_info_, changed_;
  cuda::Memory<DeviceLayer> layers_on_device_;
  cuda::Memory<DeviceSide> sides_on_device_;
  std::map<std::pair<const void*, int>, cuda::Memory<double*>> addresses_;
  std::unique_ptr<cuda::KernelModule> module_;
  mutable std::map<std::string, cudaKernel_t> kernels_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<cuda::Blas> blas_;
  std::unique_ptr<cuda::Solver> solver_;
};

}  // namespace lather::optim
