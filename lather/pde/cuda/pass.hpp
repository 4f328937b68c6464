#pragma once
// Networks and residuals of several point sets on the GPU: forward, loss, backward, as work enqueued on a
// stream. Points are taken in batches that fit in memory; a batch holds a share of every set
// (net/cuda/kernel_source.hpp describes the layout of its rows). With shards, batches are parts of shards,
// whose sums are kept separate, and neither depends on the memory: the bits of a shard are the same wherever
// it is computed.

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/threads.hpp"
#include "lather/pde/cuda/point_set_kernels.hpp"
#include "lather/pde/points.hpp"

namespace lather::pde {

struct CudaPassOptions {
  bool absorb = true;          // see net::Fusion; false keeps every layer's input and adjoint in memory
  bool gradient = true;        // false: values only
  bool signals = false;        // derivatives point by point, in windows only; for one set, and without absorb
  bool overlap = true;         // weight gradients in parallel with the chain that sends adjoints back
  std::size_t batch_rows = 0;  // most rows (points × derivatives) of a batch; 0: as many as fit in memory
  int shards = 0;              // parts of every sum, each with an equal share of every set; 0: one
};

// Device addresses an evaluation reads and writes.
struct CudaAddresses {
  const double* parameters = nullptr;  // the network's, then the unknowns
  const double* frozen = nullptr;
  const double* scales = nullptr;  // per term: d loss / d residual = scale * point weight * residual
  double* losses = nullptr;        // per term: sum of point weight * residual^2
  double* gradient = nullptr;      // like parameters
  std::size_t shard_stride = 0;    // those of shard s are s times this many numbers after the first
};

template <class T>
class CudaPass {
 public:
  // Terms are the expressions of all sets, in order.
  CudaPass(const net::Tape& tape, std::vector<const CompiledPointSet*> sets, int unknowns,
           const CudaAddresses& addresses, const CudaPassOptions& options);

  // True if addresses or shapes changed: graphs made before are invalid.
  bool set_points(int set, const Points& points);
  bool set_point_weights(int term, std::span<const double> weights);  // one per residual; empty: all 1
  bool set_shards(IndexRange own);  // those to be computed; by default all of them

  // Coordinate k of point i at k * (number of points) + i. After writing them, enqueue the inputs again.
  T* coordinates(int set) const { return set_memory_[set].coordinates.data(); }
  void inputs();

  // The loss and, if wanted, its gradient, of all points, by shards.
  void enqueue(bool with_gradient);
  // Values of all expressions at all points of the shards.
  void enqueue_values();
  std::vector<double> values(int set, int expression);
  // Where they are, per term.
  std::vector<std::span<const std::byte>> results();

  // With `signals`: points [first, first + count), count <= window(), forward; then, for one expression after
  // another, its values and what d residual / d residual = 1 sends back, valid until the next call.
  std::size_t window() const { return batches_[0].points; }
  void enqueue_window(std::size_t first, std::size_t count);
  void enqueue_signals(int expression);
  const T* window_values(int expression) const {
    return results_[expression].data() + batches_[0].pieces[0].point;
  }
  struct LayerView {  // rows: component * count + point
    std::size_t operation;
    const T* in;
    std::size_t in_stride;
    const T* out_bar;
    std::size_t out_stride;
  };
  std::vector<LayerView> layers() const;  // trainable dense layers, last first
  struct ScalarView {                     // d residual_p / d parameter = sum of row p
    std::size_t parameter;
    const T* rows;
    std::size_t width, stride;
  };
  std::vector<ScalarView> scalars() const;  // of the network, then the unknowns the set depends on
  int components(int set) const { return sets_[set]->jets.size(); }

  cudaStream_t stream() const { return stream_; }
  std::size_t bytes() const;

 private:
  struct Batch {
    std::size_t first_row = 0, rows = 0, points = 0;
    std::size_t shard = 0;                           // counted from the first one of this pass
    std::vector<net::KernelPiece> pieces;            // blocks unset
    std::vector<std::vector<double*>> adjoint_sums;  // per operation: where its kernel's partial sums go
    double* head_sums = nullptr;
  };
  struct SumTarget {  // the partial sums of a block of parameters, in sums_
    std::size_t columns = 0, rows = 0, at = 0;
  };
  struct ShardTargets {
    SumTarget head;
    std::map<int, SumTarget> blocks;  // of parameters
  };
  struct SetMemory {
    std::size_t points = 0;
    cuda::Memory<T> coordinates, columns;
  };

  void compile_kernels();
  void lay_out();
  void make_batches();
  void allocate();
  void assign_sums();
  void place_sums();
  void add_head_jobs(const SumTarget& head, const CudaAddresses& to);
  void add_target_jobs(const ShardTargets& targets, const CudaAddresses& to);
  void add_weight_jobs(const CudaAddresses& to);
  CudaAddresses addresses_of(std::size_t shard) const;
  bool complete() const;
  void add_job(const double* from, double* to, std::size_t rows, std::size_t columns, std::size_t leading);
  std::size_t batch_bytes(std::size_t rows, std::size_t points) const;
  bool uses_products(std::size_t operation) const;
  bool has_values(int buffer) const;
  bool has_bar(int buffer) const;
  int leading(int buffer) const { return kernel_options_.leading(tape_->buffer_widths()[buffer]); }
  T* values_at(const net::Value& v) const;
  T* bar_at(const net::Value& v) const;
  const double* block_address(net::WeightRef ref) const;
  void* weights_at(net::WeightRef ref) const { return const_cast<double*>(block_address(ref)); }

  void make_results();
  void weights();
  void inputs(const Batch& batch);
  void forward(const Batch& batch);
  void head(const Batch& batch, const HeadKernel& kernel, const double* scales);
  void add_groups(const Batch& batch);
  bool has_groups() const;
  std::size_t groups_of(std::size_t set) const { return set_memory_[set].points / sets_[set]->group; }
  void backward(const Batch& batch, bool first);
  void close(bool with_gradient, std::size_t shard);
  void run_pointwise(const net::PointwiseKernel& kernel, const Batch& batch, std::span<double* const> sums);
  void run(const std::string& name, const cuda::Launch& shape, std::span<const net::KernelPiece> pieces,
           std::span<void* const> pointers);
  // Deals thread blocks to the sets; returns how many there are.
  int deal_blocks(std::span<net::KernelPiece> pieces, int points_per_block, int most) const;

  const net::Tape* tape_;
  std::vector<const CompiledPointSet*> sets_;
  int unknowns_;
  CudaAddresses addresses_;
  CudaPassOptions options_;
  net::KernelOptions kernel_options_;
  net::Fusion fusion_;
  std::size_t terms_ = 0;
  std::vector<std::pair<int, int>> term_place_;  // term -> set, expression

  std::vector<net::PointwiseKernel> forward_, adjoint_;  // per operation
  SetKernel input_kernel_;
  HeadKernel head_gradient_, head_values_;
  std::unique_ptr<cuda::KernelModule> module_;
  std::map<std::string, cudaKernel_t> kernels_;

  cuda::Stream stream_, side_;
  cuda::Blas blas_;
  std::unique_ptr<cuda::Blas> side_blas_;  // only if weight gradients are to overlap
  std::vector<std::unique_ptr<cuda::Event>> events_;

  std::vector<SetMemory> set_memory_;
  std::vector<cuda::Memory<double>> point_weights_;  // per term
  IndexRange own_shards_;
  std::vector<Batch> batches_;  // shard after shard
  std::size_t max_rows_ = 0, max_points_ = 0, input_rows_ = 0;
  cuda::Memory<T> inputs_;
  std::vector<cuda::Memory<T>> values_, bars_;                               // per buffer
  std::vector<std::vector<cuda::Memory<T>>> stashes_;                        // per operation
  std::vector<cuda::Memory<T>> weights_, transposed_weights_, weight_bars_;  // per operation
  std::vector<cuda::Memory<T>> results_;                   // values of the expressions, per term
  std::vector<cuda::Memory<double>> group_sums_;           // per term whose points are added up in groups
  std::vector<std::vector<cuda::Memory<T>>> scalar_bars_;  // per operation, with `signals`: like stashes
  cuda::Memory<T> unknown_bars_;                           // with `signals`
  cuda::Memory<double> selection_;  // with `signals`: scales that choose one term, per term
  cuda::Memory<double> sums_;
  std::vector<ShardTargets> sum_targets_;  // by shard
  cuda::Memory<std::byte> jobs_, weight_jobs_, factor_jobs_;
  std::vector<std::byte> job_list_, factor_job_list_;
  int job_count_ = 0, weight_job_count_ = 0, factor_job_count_ = 0;  // per shard; of weights: in all
  std::size_t widest_job_ = 1;
};

}  // namespace lather::pde
