// How points are dealt to batches, what is where in memory, and which jobs add up partial sums.
#include <fmt/format.h>

#include <algorithm>

#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/pde/cuda/kernels/job_arguments.cuh"
#include "lather/pde/cuda/pass.hpp"

namespace lather::pde {

namespace {

constexpr std::size_t kAlignedRows = 64;

template <class Job>
void append(std::vector<std::byte>& list, const Job& job) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&job);
  list.insert(list.end(), bytes, bytes + sizeof(Job));
}

cuda::Memory<std::byte> on_device(const std::vector<std::byte>& list) {
  cuda::Memory<std::byte> memory(list.size());
  if (!list.empty()) memory.upload(list);
  return memory;
}

}  // namespace

template <class T>
std::size_t CudaPass<T>::batch_bytes(std::size_t rows, std::size_t points) const {
  std::size_t bytes = 0;
  for (int b = 0; b < static_cast<int>(tape_->buffer_widths().size()); ++b)
    bytes += rows * leading(b) * (has_values(b) + has_bar(b)) * sizeof(T);
  for (std::size_t i = 0; i < tape_->operations().size(); ++i) {
    if (!tape_->operations()[i].pointwise) continue;
    std::size_t stashes = options_.signals ? tape_->operations()[i].pointwise->scalars.size() : 0;
    for (const auto* set : sets_) stashes = std::max<std::size_t>(stashes, set->tape.programs[i].stashes);
    bytes +=
        points * stashes * kernel_options_.leading(tape_->operations()[i].pointwise->out.width) * sizeof(T);
  }
  return bytes;
}

template <class T>
void CudaPass<T>::lay_out() {
  make_batches();
  allocate();
  assign_sums();
}

// Every batch of every shard holds an equal share of every set, in whole groups.
template <class T>
void CudaPass<T>::make_batches() {
  std::size_t rows = 0;
  for (std::size_t s = 0; s < sets_.size(); ++s) rows += set_memory_[s].points * sets_[s]->jets.size();
  // What the last layout holds is freed before the new one is made.
  values_.clear(), bars_.clear(), stashes_.clear(), scalar_bars_.clear();
  inputs_ = {};
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total));
  const std::size_t fixed = rows * leading(0) * sizeof(T) + (std::size_t(64) << 20);
  const std::size_t budget = free > fixed ? (free - fixed) / 10 * 9 : 0;
  std::size_t most = 1;
  for (std::size_t s = 0; s < sets_.size(); ++s) most = std::max(most, groups_of(s));
  const bool sharded = options_.shards > 0;
  const std::size_t shards = sharded ? options_.shards : 1, wanted = options_.batch_rows * shards;
  if (options_.gradient && shards > most)
    throw Error(
        fmt::format("--shards {}: the largest set of points has {}, fewer than shards", shards, most));
  std::size_t count = wanted > 0 ? (rows + wanted - 1) / wanted : 1;  // per shard
  count = std::clamp<std::size_t>(count, 1, most);
  for (;; ++count) {
    std::size_t share_rows = 0, share_points = 0;  // of the largest batch, at most
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      const std::size_t n = (groups_of(s) + shards * count - 1) / (shards * count) * sets_[s]->group;
      share_points += n;
      share_rows += n * sets_[s]->jets.size();
    }
    const std::size_t needed = batch_bytes(share_rows, share_points);
    if (needed <= budget) break;
    if (sharded || share_rows < 1024 || count == most)
      throw OutOfMemory(
          fmt::format("device cuda: the network needs {} MiB for a batch of {} rows, {} MiB of {} MiB are "
                      "free; use {}a smaller width or depth",
                      needed >> 20, share_rows, free >> 20, total >> 20, sharded ? "more --shards or " : ""));
  }
  batches_.clear();
  max_rows_ = max_points_ = input_rows_ = 0;
  for (std::size_t part = own_shards_.begin * count; part < own_shards_.end * count; ++part) {
    Batch batch;
    batch.shard = part / count - own_shards_.begin;
    batch.first_row = input_rows_;
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      const std::size_t n = set_memory_[s].points, groups = groups_of(s), group = sets_[s]->group;
      const std::size_t begin = groups * part / (shards * count) * group,
                        end = groups * (part + 1) / (shards * count) * group;
      batch.pieces.push_back({static_cast<int>(batch.rows), static_cast<int>(end - begin),
                              static_cast<int>(batch.points), 0, 0, static_cast<int>(begin),
                              static_cast<int>(n), 0});
      batch.rows += (end - begin) * sets_[s]->jets.size();
      batch.points += end - begin;
    }
    if (batch.rows == 0) continue;  // fewer points than shards
    // Libraries choose kernels by the alignment of what they read: a shard's must be the same everywhere.
    input_rows_ += sharded ? (batch.rows + kAlignedRows - 1) / kAlignedRows * kAlignedRows : batch.rows;
    max_rows_ = std::max(max_rows_, batch.rows);
    max_points_ = std::max(max_points_, batch.points);
    batches_.push_back(std::move(batch));
  }
}

template <class T>
void CudaPass<T>::allocate() {
  const auto& operations = tape_->operations();
  const int buffers = static_cast<int>(tape_->buffer_widths().size());
  inputs_ = cuda::Memory<T>(input_rows_ * leading(0));
  values_.resize(buffers), bars_.resize(buffers);
  stashes_.resize(operations.size()), scalar_bars_.resize(operations.size());
  for (int b = 0; b < buffers; ++b) {
    if (has_values(b)) values_[b] = cuda::Memory<T>(max_rows_ * leading(b));
    if (has_bar(b)) bars_[b] = cuda::Memory<T>(max_rows_ * leading(b));
  }
  for (auto* list : {&weights_, &transposed_weights_, &weight_bars_}) list->resize(operations.size());
  std::vector<std::byte> weight_jobs;
  weight_job_count_ = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (const auto& p = operations[i].pointwise) {
      int stashes = 0;
      for (const auto* set : sets_) stashes = std::max(stashes, set->tape.programs[i].stashes);
      const std::size_t size = max_points_ * kernel_options_.leading(p->out.width);
      for (int k = 0; k < stashes; ++k) stashes_[i].emplace_back(size);
      for (std::size_t k = 0; options_.signals && k < p->scalars.size(); ++k)
        scalar_bars_[i].emplace_back(size);
    } else if (uses_products(i)) {
      const net::Dense& d = *operations[i].dense;
      const auto& block = tape_->block(d.weight);
      const int ld = kernel_options_.leading(static_cast<int>(block.cols));
      if (weights_[i].size() == 0) weights_[i] = cuda::Memory<T>(block.rows * ld);
      if (options_.gradient && !options_.signals && !d.weight.frozen && weight_bars_[i].size() == 0)
        weight_bars_[i] = cuda::Memory<T>(block.rows * ld);
      const int transposed_ld = kernel_options_.leading(static_cast<int>(block.rows));
      if (options_.gradient && transposed_weights_[i].size() == 0)
        transposed_weights_[i] = cuda::Memory<T>(block.cols * transposed_ld);
      append(weight_jobs,
             WeightJob{block_address(d.weight), d.scale ? block_address(d.scale) : nullptr,
                       weights_[i].data(), transposed_weights_[i].data(), static_cast<int>(block.rows),
                       static_cast<int>(block.cols), ld, transposed_ld});
      ++weight_job_count_;
    }
  }
  weight_jobs_ = on_device(weight_jobs);
  for (std::size_t k = 0; k < terms_; ++k) {
    const int set = term_place_[k].first;
    const bool grouped = options_.gradient && sets_[set]->group > 1;
    results_[k] = options_.signals || grouped ? cuda::Memory<T>(set_memory_[set].points) : cuda::Memory<T>();
    if (grouped) group_sums_[k] = cuda::Memory<double>(groups_of(set));
  }
  if (options_.signals) unknown_bars_ = cuda::Memory<T>(unknowns_ * max_points_);
}

template <class T>
void CudaPass<T>::add_job(const double* from, double* to, std::size_t rows, std::size_t columns,
                          std::size_t leading) {
  append(job_list_,
         CloseJob{from, to, static_cast<int>(rows), static_cast<int>(columns), static_cast<int>(leading), 0});
  widest_job_ = std::max(widest_job_, columns / 32 + 1);
  ++job_count_;
}

// Every launch that sums writes rows of its own; the rows of one target of a shard are contiguous and are
// added up by one job.
template <class T>
void CudaPass<T>::assign_sums() {
  job_list_.clear(), factor_job_list_.clear();
  widest_job_ = 1;
  for (auto& batch : batches_) batch.adjoint_sums.assign(tape_->operations().size(), {});
  if (!options_.gradient || options_.signals) return;
  place_sums();
  for (std::size_t shard = 0; shard < sum_targets_.size(); ++shard) {
    const CudaAddresses to = addresses_of(shard);
    job_count_ = factor_job_count_ = 0;
    add_head_jobs(sum_targets_[shard].head, to);
    add_target_jobs(sum_targets_[shard], to);
    add_weight_jobs(to);
  }
  jobs_ = on_device(job_list_);
  factor_jobs_ = on_device(factor_job_list_);
}

template <class T>
CudaAddresses CudaPass<T>::addresses_of(std::size_t shard) const {
  CudaAddresses to = addresses_;
  const std::size_t offset = (own_shards_.begin + shard) * to.shard_stride;
  to.losses += offset;
  to.gradient += offset;
  return to;
}

// Sets where every kernel writes its partial sums: shard by shard, first those of the heads of its batches,
// then target by target.
template <class T>
void CudaPass<T>::place_sums() {
  const auto rows_of = [&](const net::PointwiseKernel& kernel, const Batch& batch) {
    auto pieces = batch.pieces;
    return static_cast<std::size_t>(deal_blocks(pieces, kernel.threads_y, kernel.columns_x));
  };
  const auto head_rows_of = [&](const Batch& batch) {
    auto pieces = batch.pieces;
    return static_cast<std::size_t>(deal_blocks(pieces, kHeadWarps, 1));
  };
  sum_targets_.assign(own_shards_.end - own_shards_.begin, {});
  for (const auto& batch : batches_) {
    ShardTargets& targets = sum_targets_[batch.shard];
    targets.head.columns = head_gradient_.sums;
    targets.head.rows += head_rows_of(batch);
    for (const auto& kernel : adjoint_)
      for (const auto& sum : kernel.sums) {
        targets.blocks[sum.block].columns = sum.columns;
        targets.blocks[sum.block].rows += rows_of(kernel, batch);
      }
  }
  std::size_t total = 0;
  const auto place = [&](SumTarget& target) {
    target.at = total;
    total += target.rows * target.columns;
  };
  for (auto& targets : sum_targets_) {
    place(targets.head);
    for (auto& [block, target] : targets.blocks) place(target);
  }
  sums_ = cuda::Memory<double>(total);

  auto next = sum_targets_;  // where the next rows go
  const auto take = [&](SumTarget& target, std::size_t rows) {
    double* const at = sums_.data() + target.at;
    target.at += rows * target.columns;
    return at;
  };
  for (auto& batch : batches_) {
    batch.head_sums = take(next[batch.shard].head, head_rows_of(batch));
    for (const auto& kernel : adjoint_)
      for (const auto& sum : kernel.sums)
        batch.adjoint_sums[kernel.operation].push_back(
            take(next[batch.shard].blocks[sum.block], rows_of(kernel, batch)));
  }
}

// Losses, gradients of the unknowns and of the output layer's bias.
template <class T>
void CudaPass<T>::add_head_jobs(const SumTarget& head, const CudaAddresses& to) {
  const double* const from = sums_.data() + head.at;
  // First: the only one a plain value needs.
  add_job(from, to.losses, head.rows, terms_, head.columns);
  if (unknowns_ > 0)
    add_job(from + terms_, to.gradient + tape_->parameters().size(), head.rows, unknowns_, head.columns);
  const net::Dense& output = *tape_->operations()[fusion_.producer[tape_->output().buffer]].dense;
  if (output.bias)
    add_job(from + terms_ + unknowns_, to.gradient + tape_->block(output.bias).offset, head.rows,
            output.out.width, head.columns);
}

template <class T>
void CudaPass<T>::add_target_jobs(const ShardTargets& targets, const CudaAddresses& addresses) {
  for (const auto& [index, target] : targets.blocks) {
    const auto& block = tape_->parameters().blocks()[index];
    double* const to = addresses.gradient + block.offset;
    if (block.size() == 1)  // one number per thread block, side by side too
      add_job(sums_.data() + target.at, to, target.rows * target.columns, 1, 1);
    else
      add_job(sums_.data() + target.at, to, target.rows, target.columns, target.columns);
  }
}

// Weight gradients that come out of matrix products, and those of the layers' column factors.
template <class T>
void CudaPass<T>::add_weight_jobs(const CudaAddresses& to) {
  const auto& blocks = tape_->parameters().blocks();
  double* const gradient = to.gradient;
  for (std::size_t i = 0; i < tape_->operations().size(); ++i) {
    const auto& d = tape_->operations()[i].dense;
    if (!d || d->weight.frozen) continue;
    const auto& block = blocks[d->weight.block];
    if (weight_bars_[i].size() > 0) {
      append(job_list_, CloseJob{weight_bars_[i].data(), gradient + block.offset,
                                 static_cast<int>(block.rows), static_cast<int>(block.cols),
                                 kernel_options_.leading(static_cast<int>(block.cols)), 1});
      widest_job_ = std::max(widest_job_, block.size() / 1024 + 1);
      ++job_count_;
    }
    if (!d->scale) continue;
    append(factor_job_list_, FactorJob{block_address(d->weight), block_address(d->scale),
                                       gradient + block.offset, gradient + blocks[d->scale.block].offset,
                                       static_cast<int>(block.rows), static_cast<int>(block.cols)});
    ++factor_job_count_;
  }
}

// The member used elsewhere.
template void CudaPass<double>::lay_out();
template void CudaPass<float>::lay_out();

}  // namespace lather::pde
