#pragma once
// The ranks of a communicator through NCCL: what GPUs exchange on their streams, without the host. Everything
// enqueued may be captured into a graph.
//
// NCCL waits for a lost rank forever. While work is under way (`watched`), a thread checks whether the others
// are there; if one is not, it raises a flag that kernels see, then makes NCCL stop waiting. Kernels that run
// after NCCL's and look at the flag can tell that the numbers are not those of all ranks.

#include <atomic>
#include <functional>
#include <mutex>
#include <span>

#include "lather/core/cuda/runtime.hpp"
#include "lather/parallel/communicator.hpp"

namespace lather::parallel {

class NcclRanks {
 public:
  // Made at the first call, by all ranks together, each with its GPU in use; kept until the process ends,
  // because graphs may hold its work. Throws Error if NCCL is missing or too old, or ranks share a GPU.
  static NcclRanks& of(Communicator& ranks);
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  // Device memory. The messages between two ranks arrive in the order of their lists; what a rank sends to
  // itself it receives as if from another; empty messages are left out.
  struct Send {
    const double* from;
    std::size_t count;
    int to;
  };
  struct Receive {
    double* to;
    std::size_t count;
    int from;
  };
  void enqueue_exchange(std::span<const Send> sends, std::span<const Receive> receives,
                        cudaStream_t stream) const;
  // to = the sum of `from` over all ranks, in NCCL's order.
  void enqueue_sum(const double* from, double* to, std::size_t count, cudaStream_t stream) const;

  // Calls work(), which waits for what it has enqueued. Throws RankLost.
  void watched(const std::function<void()>& work);
  const int* lost_flag() const { return lost_flag_.data(); }  // for kernels: not 0 once a rank is lost

  int rank() const { return rank_; }
  int size() const { return size_; }

 private:
  explicit NcclRanks(Communicator& ranks);
  void require_not_lost() const;
  void watch();

  Communicator& ranks_;
  int rank_, size_;
  void* handle_ = nullptr;
  cuda::PinnedMemory<int> lost_flag_;
  std::mutex mutex_;      // of the next two
  bool waiting_ = false;  // inside watched()
  std::atomic<int> lost_{-1};
};

}  // namespace lather::parallel
