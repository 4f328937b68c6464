#pragma once
// parallel::PieceSum on GPUs: adds up vectors over the pieces of all ranks, with NCCL and without the host.
// Every rank adds its share of the numbers, in the order of the tree, and hands the result to the others.
// With Reduction::nccl_sum NCCL does both at once, in an order of its own.

#include <vector>

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/cuda/runtime.hpp"
#include "lather/parallel/cuda/nccl_ranks.hpp"
#include "lather/parallel/shards.hpp"

namespace lather::pde {

class NcclSum {
 public:
  // For vectors of at most `most_numbers`.
  NcclSum(parallel::Communicator& ranks, const parallel::ShardPlan& plan, std::size_t most_numbers);
  std::size_t bytes() const { return rows_.bytes(); }

  // to = the sum of the pieces of all ranks; `own` are those of this rank and may be overwritten. Once a rank
  // is lost, the first number is NaN. May be captured.
  void enqueue(std::span<double* const> own, double* to, std::size_t count, cudaStream_t stream) const;

  parallel::NcclRanks& ranks() const { return ranks_; }

 private:
  void enqueue_in_order(std::span<double* const> own, double* to, std::size_t count,
                        cudaStream_t stream) const;
  void enqueue_fastest(std::span<double* const> own, double* to, std::size_t count,
                       cudaStream_t stream) const;
  template <class Work>
  void launch(const char* kernel, std::size_t numbers, const Work& work, cudaStream_t stream) const;

  parallel::NcclRanks& ranks_;
  parallel::Reduction reduction_;
  parallel::ShardPlan plan_;
  cuda::KernelModule module_;
  cuda::Memory<double> rows_;  // one per piece of every rank: this rank's share of its numbers
  cuda::Memory<int> pairs_;    // of rows, in the order in which they are added
};

}  // namespace lather::pde
