#include "lather/pde/cuda/nccl_sum.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/core/error.hpp"
#include "lather/pde/cuda/kernels/shard_arguments.cuh"

namespace lather::pde {

using parallel::NcclRanks, parallel::Reduction;

NcclSum::NcclSum(parallel::Communicator& ranks, const parallel::ShardPlan& plan, std::size_t most_numbers)
    : ranks_(NcclRanks::of(ranks)),
      reduction_(ranks.reduction()),
      plan_(plan),
      module_("#include \"lather/pde/cuda/kernels/shards.cuh\"\n") {
  if (reduction_ == Reduction::nccl_sum) {
    if (plan.shards() < static_cast<std::size_t>(ranks.size()))
      throw Error(
          fmt::format("--reduction nccl-sum: {} ranks need at least as many shards, and the run has {}",
                      ranks.size(), plan.shards()));
    return;
  }
  std::vector<int> row(plan.shards(), -1), pairs;
  int rows = 0;
  for (int p = 0; p < plan.ranks(); ++p)
    for (const std::size_t head : plan.heads(p)) row[head] = rows++;
  parallel::add_along_tree(plan.shards(), 0, plan.shards(), [&](std::size_t a, std::size_t b) {
    if (row[b] >= 0) pairs.insert(pairs.end(), {row[a], row[b]});  // else added where it was computed
  });
  const std::size_t ranks_count = plan.ranks(), most_of_one = (most_numbers + ranks_count - 1) / ranks_count;
  rows_ = cuda::Memory<double>(rows * most_of_one);
  pairs_ = cuda::Memory<int>(pairs.size());
  if (!pairs.empty()) pairs_.upload(pairs);
}

template <class Work>
void NcclSum::launch(const char* kernel, std::size_t numbers, const Work& work, cudaStream_t stream) const {
  const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>(numbers / 256 + 1, 1, 1024));
  cuda::launch(module_.kernel(kernel), {dim3(blocks), dim3(256)}, cuda::Parameter().add(work), stream);
}

void NcclSum::enqueue(std::span<double* const> own, double* to, std::size_t count,
                      cudaStream_t stream) const {
  if (reduction_ == Reduction::nccl)
    enqueue_in_order(own, to, count, stream);
  else
    enqueue_fastest(own, to, count, stream);
  if (ranks_.size() > 1) launch("mark_lost_sum", 1, LostSumKernelArgs{to, ranks_.lost_flag()}, stream);
}

void NcclSum::enqueue_in_order(std::span<double* const> own, double* to, std::size_t count,
                               cudaStream_t stream) const {
  const auto begin = [&](int p) { return share_of(count, p, ranks_.size()).begin; };
  const auto share = [&](int p) { return share_of(count, p, ranks_.size()).end - begin(p); };
  const std::size_t mine = share(ranks_.rank());
  std::vector<NcclRanks::Send> sends;
  std::vector<NcclRanks::Receive> receives;
  double* row = rows_.data();
  for (int p = 0; p < ranks_.size(); ++p) {
    for (const double* piece : own) sends.push_back({piece + begin(p), share(p), p});
    for (std::size_t i = 0; i < plan_.heads(p).size(); ++i, row += mine) receives.push_back({row, mine, p});
  }
  ranks_.enqueue_exchange(sends, receives, stream);
  if (pairs_.size() > 0 && mine > 0)
    launch("add_shards", mine,
           ShardPairsKernelArgs{rows_.data(), pairs_.data(), static_cast<long long>(mine), 0,
                                static_cast<long long>(mine), static_cast<int>(pairs_.size() / 2), 0},
           stream);
  sends.clear();
  receives.clear();
  for (int p = 0; p < ranks_.size(); ++p) {
    sends.push_back({rows_.data(), mine, p});
    receives.push_back({to + begin(p), share(p), p});
  }
  ranks_.enqueue_exchange(sends, receives, stream);
}

void NcclSum::enqueue_fastest(std::span<double* const> own, double* to, std::size_t count,
                              cudaStream_t stream) const {
  for (const double* piece : own.subspan(1))
    launch("add_numbers", count, AddNumbersKernelArgs{own[0], piece, static_cast<long long>(count)}, stream);
  ranks_.enqueue_sum(own[0], to, count, stream);
}

}  // namespace lather::pde
