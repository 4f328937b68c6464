#pragma once
// The Jacobian of the weighted residuals on the GPU: its rows from the layers' signals, as in
// pde/engine/row_writer.hpp on the host, and products with them. If J fits, it stays in memory for as long as
// x, points and weights are the same; if not, its rows are computed in chunks whenever they are needed. With
// shards, chunks are equal parts of J, whatever fits: J^T J is a sum over them, shared by ranks; everything
// else is computed by every rank on its own.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lather/optim/cuda/least_squares/normal_matrix.hpp"
#include "lather/parallel/shards.hpp"
#include "lather/pde/cuda/nccl_sum.hpp"
#include "lather/pde/cuda/pass.hpp"
#include "lather/pde/cuda/trials.hpp"
#include "lather/pde/engine/engine_residuals.hpp"

namespace lather::pde {

class CudaJacobian final : public EngineResiduals,
                           private optim::DeviceJacobian,
                           private optim::DevicePathWork {
 public:
  // For the engine's problem and points, at the parameters and frozen weights of `addresses`, which `trials`,
  // the same engine, puts there.
  CudaJacobian(Engine& engine, const CudaAddresses& addresses, CudaTrialEngine& trials);

  void points_changed(int set);
  std::size_t bytes() const;

  void jacobian_rows(std::span<const double> x, std::size_t first, std::size_t count, double* rows) override;
  double normal_equations(std::span<const double> x, double* JtJ, std::span<double> Jtr) override;
  void residual_gram(std::span<const double> x, double* JJt, std::span<double> r) override;
  void normal_diagonal(std::span<const double> x, std::span<double> diagonal) override;
  void jacobian_times(std::span<const double> x, std::span<const double> v, std::span<double> Jv) override;
  void transposed_jacobian_times(std::span<const double> x, std::span<const double> w,
                                 std::span<double> Jtw) override;
  std::unique_ptr<optim::NormalMatrix> make_normal_matrix(std::size_t dimension) override;
  double normal_matrix_bytes(std::size_t dimension) const override;
  std::unique_ptr<optim::OrthogonalFactor> make_orthogonal_factor() override;
  double orthogonal_factor_bytes() const override;
  std::unique_ptr<optim::OrthogonalFactor> make_sketched_factor(const optim::Sketch& sketch) override;
  double sketched_factor_bytes(std::size_t columns, std::size_t rows) const override;
  std::unique_ptr<optim::VectorBlocks> make_vector_blocks(std::size_t count) override;
  double available_bytes() const override;

  // Engine::visit_signals: points [first, first + count) of a term; with shards, those of `shards`, each
  // shard with its number for the visitor.
  struct VisitedPoints {
    int term;
    std::size_t first, count;
    std::span<const double> seeds;
  };
  void visit(std::span<const double> x, const VisitedPoints& points, IndexRange shards,
             PinnObjective::SignalVisitor& visitor);

 private:
  // What the rows depend on apart from the points.
  struct Key {
    std::vector<double> x, frozen;
    struct Weights {
      std::vector<double> terms;
      std::vector<std::vector<double>> points;
      std::vector<std::size_t> first_row;  // a term's residuals share its weight
      bool operator==(const Weights&) const = default;
    } weights;
    bool operator==(const Key&) const = default;
  };
  struct Range {
    std::size_t begin, end;
  };

  double normal_matrix(std::span<const double> x, double* JtJ, std::span<double> Jtr,
                       const Finish& finish) override;
  void enqueue_normal(std::span<const double> x, double* JtJ, const Finish& finish);
  double read_normal(std::span<double> Jtr) const;  // after waiting for stream_
  Enqueued enqueue_transposed_times(std::span<const double> x, std::span<const double> w) override;
  std::optional<Enqueued> enqueue_normal_matrix(std::span<const double> x, double* JtJ,
                                                const Finish& finish) override;
  double* bend_points() override;
  Enqueued enqueue_bend(double h, cudaStream_t after) override;
  double* value_points() override;
  double finish(cudaStream_t after, std::span<double> Jtr, std::span<double> values) override;
  optim::DevicePathWork* path_work() override { return sharded() || !engine_.alone() ? nullptr : this; }
  struct ShardMatrices;
  double sum_over_shards(std::span<const double> x, double* JtJ, std::span<double> Jtr);
  void add_own_shards(std::span<const double> x, IndexRange own, ShardMatrices& sums);
  void sum_over_ranks(const parallel::ShardPlan& plan, ShardMatrices& sums);
  void sum_by_nccl(const parallel::ShardPlan& plan, ShardMatrices& sums);
  void gram_matrix(std::span<const double> x, double* JJt, std::span<double> r) override;
  template <class Show>
  void visit_windows(const VisitedPoints& points, const Show& show_window);
  void visit_rows(std::span<const double> x, const RowVisitor& visit) override;
  void make_room();

  CudaPass<double>& pass_of(int set);
  Range part_of_term(int term, std::size_t first, std::size_t count) const;
  // Prepares x, weights and memory; true if J is already in memory.
  bool prepare(std::span<const double> x);
  void upload_root_weights();
  void choose_chunks(std::size_t residuals);
  bool sharded() const { return engine_.options.shards > 0; }
  bool whole() const { return rows_.size() == residuals_ * stride_; }
  double* place_of(std::size_t row) const { return rows_.data() + (whole() ? row * stride_ : 0); }
  // Work enqueued on stream_ afterwards finds the rows.
  void write(std::size_t first, std::size_t count, double* rows);
  void write_all();  // if J is in one piece
  void write_term(const CudaPass<double>& pass, int term, Range window, Range part, double* rows);
  void enqueue_copy(const cuda::Memory<double>& from, double* to);
  bool is_last(std::size_t end) const { return end == residuals_; }
  double* host_v() const { return host_.data(); }
  double* host_r() const { return host_.data() + engine_.layout.size(); }
  // f(rows on the device, first, count), chunk by chunk, on stream_; the last one may still be running.
  template <class F>
  void enqueue_chunks(std::span<const double> x, const F& f);
  template <class F>
  void for_chunks(std::span<const double> x, const F& f);  // waits for the last one

  CudaAddresses addresses_;
  CudaTrialEngine& trials_;
  std::size_t stride_;                                     // from row to row of J
  std::vector<std::unique_ptr<CudaPass<double>>> passes_;  // per point set; null: not needed yet
  std::vector<bool> stale_;                                // per point set: the pass has other points
  std::vector<std::size_t> first_row_;                     // per term
  Key key_;
  bool kept_ = false;                                     // rows_ holds all of J at key_
  std::size_t residuals_ = 0, chunk_ = 0;                 // chunk_: the rows of the largest chunk
  std::vector<std::size_t> bounds_;                       // chunk i has rows [bounds_[i], bounds_[i + 1])
  cuda::Memory<double> rows_, root_weights_, r_, w_, v_;  // J or a chunk of it; per residual; per parameter
  cuda::PinnedMemory<double> host_;                       // like v_, then like r_
  cuda::Graph all_rows_;                                  // write_all, once it has been called
  std::vector<cuda::Memory<double>> spare_matrices_;      // for J^T J of shards
  std::unique_ptr<cuda::KernelModule> shards_module_;
  parallel::PieceSum<double> piece_sum_;
  std::unique_ptr<NcclSum> nccl_;
  cuda::KernelModule module_;
  cudaKernel_t layers_kernel_, scalar_kernel_, squares_kernel_, bend_kernel_;
  cuda::Stream stream_;
  cuda::Event begun_, written_, tried_;
  cuda::Blas blas_;
};

}  // namespace lather::pde
