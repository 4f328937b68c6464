#include "lather/pde/cuda/shard_slots.hpp"

#include <algorithm>

#include "lather/pde/cuda/kernels/shard_arguments.cuh"

namespace lather::pde {

namespace {

// Slots begin at the alignment that libraries prefer (256 bytes).
constexpr std::size_t kSlotNumbers = 32;

}  // namespace

ShardSlots::ShardSlots(std::size_t width, std::size_t shards, parallel::Communicator* ranks)
    : stride_((width + kSlotNumbers - 1) / kSlotNumbers * kSlotNumbers),
      shards_(std::max<std::size_t>(1, shards)),
      ranks_(ranks),
      slots_(stride_ * shards_) {
  if (shards_ > 1)
    module_ = std::make_unique<cuda::KernelModule>("#include \"lather/pde/cuda/kernels/shards.cuh\"\n");
  make_plan(alone() ? 1 : ranks_->size(), alone() ? 0 : ranks_->rank());
}

void ShardSlots::make_plan(int ranks, int rank) {
  plan_ = {shards_, ranks};
  own_pairs_.clear();
  parallel::add_along_tree(shards_, plan_.of(rank).begin, plan_.of(rank).end,
                           [&](std::size_t a, std::size_t b) {
                             own_pairs_.push_back(static_cast<int>(a));
                             own_pairs_.push_back(static_cast<int>(b));
                           });
  pairs_ = cuda::Memory<int>(own_pairs_.size());
  if (!own_pairs_.empty()) pairs_.upload(own_pairs_);
  nccl_.reset();
  if (ranks_ && ranks_->reduction() != parallel::Reduction::host && ranks_->lost_rank() < 0)
    nccl_ = std::make_unique<NcclSum>(*ranks_, plan_, stride_);
  else if (ranks > 1)
    host_ = cuda::PinnedMemory<double>(stride_ * std::max<std::size_t>(1, plan_.heads(rank).size()));
}

IndexRange ShardSlots::own() {
  const int ranks = alone() ? 1 : ranks_->size(), rank = alone() ? 0 : ranks_->rank();
  if (plan_.ranks() != ranks) make_plan(ranks, rank);
  return plan_.of(rank);
}

void ShardSlots::watched(const std::function<void()>& work) const {
  if (nccl_ && !alone())
    nccl_->ranks().watched(work);
  else
    work();
}

void ShardSlots::enqueue_sum(Part part, cudaStream_t stream) const {
  if (!own_pairs_.empty()) {
    const ShardPairsKernelArgs work{slots_.data(),
                                    pairs_.data(),
                                    static_cast<long long>(stride_),
                                    static_cast<long long>(part.first),
                                    static_cast<long long>(part.count),
                                    static_cast<int>(own_pairs_.size() / 2),
                                    0};
    const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>(part.count / 256 + 1, 1, 1024));
    cuda::launch(module_->kernel("add_shards"), {dim3(blocks), dim3(256)}, cuda::Parameter().add(work),
                 stream);
  }
  if (nccl_) {
    std::vector<double*> own;
    for (const std::size_t head : plan_.heads(ranks_->rank()))
      own.push_back(slots_.data() + head * stride_ + part.first);
    nccl_->enqueue(own, slots_.data() + part.first, part.count, stream);
    return;
  }
  if (alone()) return;
  const auto& heads = plan_.heads(ranks_->rank());
  for (std::size_t piece = 0; piece < heads.size(); ++piece)
    cuda::check(cudaMemcpyAsync(host_.data() + piece * stride_ + part.first,
                                slots_.data() + heads[piece] * stride_ + part.first,
                                part.count * sizeof(double), cudaMemcpyDeviceToHost, stream));
}

std::span<const double> ShardSlots::exchange(Part part) {
  const auto total = sum_.sum(*ranks_, plan_, part.count,
                              [&](std::size_t piece, std::size_t begin, std::size_t count, double* to) {
                                std::copy_n(host_.data() + piece * stride_ + part.first + begin, count, to);
                              });
  std::copy(total.begin(), total.end(), host_.data() + part.first);
  return total;
}

void ShardSlots::enqueue_upload(Part part, cudaStream_t stream) {
  cuda::check(cudaMemcpyAsync(slots_.data() + part.first, host_.data() + part.first,
                              part.count * sizeof(double), cudaMemcpyHostToDevice, stream));
}

}  // namespace lather::pde
