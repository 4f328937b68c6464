#pragma once
// Sums over points by shards on the GPU: a slot of device memory for every shard, added up along the tree of
// parallel/shards.hpp. A kernel adds what the tree adds among the shards of this rank; the rest goes through
// the host, or from GPU to GPU by NCCL. The total is in slot 0.

#include <memory>
#include <vector>

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/cuda/runtime.hpp"
#include "lather/parallel/shards.hpp"
#include "lather/pde/cuda/nccl_sum.hpp"

namespace lather::pde {

class ShardSlots {
 public:
  // `shards` 0: one sum, and nothing to add. `ranks` null: this process alone.
  ShardSlots(std::size_t width, std::size_t shards, parallel::Communicator* ranks);

  std::size_t stride() const { return stride_; }  // from slot to slot
  double* data() const { return slots_.data(); }
  std::size_t bytes() const { return slots_.bytes() + (nccl_ ? nccl_->bytes() : 0); }

  // The shards of this rank. Other ranks may have been lost since the last call.
  IndexRange own();
  bool alone() const { return !ranks_ || ranks_->alone(); }
  // Whether enqueue_sum leaves the total in slot 0. Otherwise exchange() returns it.
  bool sums_on_device() const { return nccl_ || alone(); }
  // Calls work(), which waits for what it has enqueued. Throws RankLost if NCCL waited for a lost rank.
  void watched(const std::function<void()>& work) const;

  // Numbers [first, first + count) of the slots.
  struct Part {
    std::size_t first, count;
  };
  // Adds what can be added on the device; what is left goes to the host. May be captured.
  void enqueue_sum(Part part, cudaStream_t stream) const;
  // After that, unless the total is in slot 0: the total on the host. Throws RankLost.
  std::span<const double> exchange(Part part);
  // Uploads it to slot 0.
  void enqueue_upload(Part part, cudaStream_t stream);

 private:
  void make_plan(int ranks, int rank);

  std::size_t stride_, shards_;
  parallel::Communicator* ranks_;
  parallel::ShardPlan plan_;
  cuda::Memory<double> slots_;
  cuda::Memory<int> pairs_;  // that this rank adds
  std::vector<int> own_pairs_;
  std::unique_ptr<NcclSum> nccl_;    // null: ranks meet on the host, or there are none
  cuda::PinnedMemory<double> host_;  // the pieces that are left, and in the end the total
  parallel::PieceSum<double> sum_;
  std::unique_ptr<cuda::KernelModule> module_;  // null: there is nothing to add
};

}  // namespace lather::pde
