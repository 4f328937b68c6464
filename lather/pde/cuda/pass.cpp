// Setting up: kernels, batches, memory, where sums go.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "lather/core/error.hpp"
#include "lather/pde/cuda/kernels/job_arguments.cuh"
#include "lather/pde/cuda/pass.hpp"

namespace lather::pde {

using net::DenseForm;

namespace {

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
CudaPass<T>::CudaPass(const net::Tape& tape, std::vector<const CompiledPointSet*> sets, int unknowns,
                      const CudaAddresses& addresses, const CudaPassOptions& options)
    : tape_(&tape),
      sets_(std::move(sets)),
      unknowns_(unknowns),
      addresses_(addresses),
      options_(options),
      kernel_options_{.single_precision = sizeof(T) == 4, .per_point = options.signals},
      fusion_(net::plan_fusion(tape, sets_[0]->tape, options.absorb)),
      blas_(stream_),
      set_memory_(sets_.size()) {
  for (std::size_t s = 0; s < sets_.size(); ++s)
    for (int e = 0; e < sets_[s]->values.outputs; ++e) term_place_.emplace_back(static_cast<int>(s), e);
  terms_ = term_place_.size();
  point_weights_.resize(terms_);
  results_.resize(terms_);
  if (options_.gradient && options_.overlap) side_blas_ = std::make_unique<cuda::Blas>(side_);
  if (options_.signals) {
    std::vector<double> identity(terms_ * terms_);
    for (std::size_t k = 0; k < terms_; ++k) identity[k * (terms_ + 1)] = 1;
    selection_ = cuda::Memory<double>(identity.size());
    selection_.upload(identity);
  }
  compile_kernels();
}

template <class T>
void CudaPass<T>::compile_kernels() {
  std::vector<net::KernelSet> kernel_sets;
  for (const auto* set : sets_) kernel_sets.push_back({&set->tape, input_jets(*set, tape_->input().width)});
  const int operations = static_cast<int>(tape_->operations().size());
  forward_.resize(operations);
  adjoint_.resize(operations);
  for (int i = 0; i < operations; ++i) {
    if (!tape_->operations()[i].pointwise) continue;
    forward_[i] = net::forward_kernel(*tape_, i, kernel_sets, fusion_, kernel_options_);
    if (options_.gradient)
      adjoint_[i] = net::adjoint_kernel(*tape_, i, kernel_sets, fusion_, kernel_options_);
  }
  input_kernel_ = input_kernel(sets_, *tape_, kernel_options_);
  head_values_ = head_kernel(sets_, *tape_, unknowns_, HeadMode::values, kernel_options_);
  if (options_.gradient)
    head_gradient_ = head_kernel(sets_, *tape_, unknowns_,
                                 options_.signals ? HeadMode::signals : HeadMode::gradient, kernel_options_);

  std::string source =
      net::kernel_prelude(kernel_options_) + "#include \"lather/pde/cuda/kernels/jobs.cuh\"\n";
  std::set<std::string> names{"prepare_weights", "close_sums", "factor_gradient"};
  const auto add = [&](const std::string& name, const std::string& text) {
    if (!name.empty() && names.insert(name).second) source += text;
  };
  for (const auto* list : {&forward_, &adjoint_})
    for (const auto& kernel : *list) add(kernel.name, kernel.source);
  add(input_kernel_.name, input_kernel_.source);
  add(head_values_.name, head_values_.source);
  add(head_gradient_.name, head_gradient_.source);
  module_ = std::make_unique<cuda::KernelModule>(source);
  for (const auto& name : names) kernels_[name] = module_->kernel(name);
}

template <class T>
bool CudaPass<T>::uses_products(std::size_t i) const {
  const auto& d = tape_->operations()[i].dense;
  return d && (fusion_.form[i] == DenseForm::product ||
               (options_.gradient && fusion_.form[i] == DenseForm::output));
}

template <class T>
bool CudaPass<T>::has_values(int buffer) const {
  const int producer = fusion_.producer[buffer];
  return buffer != 0 && (producer < 0 || fusion_.form[producer] == DenseForm::product);
}

template <class T>
bool CudaPass<T>::has_bar(int buffer) const {
  if (!options_.gradient || !sets_[0]->tape.needs_bar[buffer]) return false;
  if (buffer == tape_->output().buffer) return true;
  const int producer = fusion_.producer[buffer];
  if (producer >= 0) return fusion_.form[producer] == DenseForm::product;
  const int output = fusion_.producer[tape_->output().buffer];
  return !(fusion_.form[output] == DenseForm::absorbed_output &&
           tape_->operations()[output].dense->in.buffer == buffer);
}

template <class T>
T* CudaPass<T>::values_at(const net::Value& v) const {
  return values_[v.buffer].data() + v.offset;
}
template <class T>
T* CudaPass<T>::bar_at(const net::Value& v) const {
  return bars_[v.buffer].data() + v.offset;
}

template <class T>
const double* CudaPass<T>::block_address(net::WeightRef ref) const {
  return (ref.frozen ? addresses_.frozen : addresses_.parameters) + tape_->block(ref).offset;
}

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
bool CudaPass<T>::set_points(int set, const Points& points) {
  SetMemory& memory = set_memory_[set];
  const std::size_t count = points.count();
  const bool same = memory.points == count;
  if (!same)
    memory = {count, cuda::Memory<T>(count * points.coordinates.size()),
              cuda::Memory<T>(count * points.columns.size())};
  const auto upload = [&](const std::vector<std::vector<double>>& arrays, cuda::Memory<T>& to) {
    std::vector<T> flat;
    for (const auto& array : arrays) flat.insert(flat.end(), array.begin(), array.end());
    if (!flat.empty()) to.upload(flat);
  };
  upload(points.coordinates, memory.coordinates);
  upload(points.columns, memory.columns);
  for (std::size_t k = 0; k < terms_; ++k) {
    if (term_place_[k].first != set || point_weights_[k].size() == 0) continue;
    if (!same)
      point_weights_[k] = {};
    else
      set_point_weights(static_cast<int>(k), {});
  }
  bool complete = true;
  for (const auto& m : set_memory_) complete = complete && m.points > 0;
  if (!same && complete) lay_out();
  if (complete) inputs();
  return !same;
}

template <class T>
bool CudaPass<T>::set_point_weights(int term, std::span<const double> weights) {
  auto& memory = point_weights_[term];
  if (weights.empty() && memory.size() == 0) return false;
  const bool is_new = memory.size() == 0;
  const std::size_t points = set_memory_[term_place_[term].first].points;
  if (is_new) memory = cuda::Memory<double>(points);
  memory.upload(weights.empty() ? std::span<const double>(std::vector<double>(points, 1.0)) : weights);
  return is_new;
}

template <class T>
void CudaPass<T>::lay_out() {
  make_batches();
  allocate();
  assign_sums();
}

// Every batch holds an equal share of every set.
template <class T>
void CudaPass<T>::make_batches() {
  std::size_t rows = 0, points = 0;
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    rows += set_memory_[s].points * sets_[s]->jets.size();
    points += set_memory_[s].points;
  }
  // What the last layout holds is free again once it is laid out anew.
  values_.clear(), bars_.clear(), stashes_.clear(), scalar_bars_.clear();
  inputs_ = {};
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total));
  const std::size_t fixed = rows * leading(0) * sizeof(T) + (std::size_t(64) << 20);
  const std::size_t budget = free > fixed ? (free - fixed) / 10 * 9 : 0;
  std::size_t count = options_.batch_rows > 0 ? (rows + options_.batch_rows - 1) / options_.batch_rows : 1;
  count = std::clamp<std::size_t>(count, 1, points);
  const auto share = [&](std::size_t whole) { return (whole + count - 1) / count + sets_.size() * 8; };
  while (batch_bytes(share(rows), share(points)) > budget) {
    if (share(rows) < 1024)
      throw Error(
          fmt::format("device cuda: the network needs {} MiB for a batch of {} rows, {} MiB of {} MiB are "
                      "free; use a smaller width or depth",
                      batch_bytes(share(rows), share(points)) >> 20, share(rows), free >> 20, total >> 20));
    ++count;
  }
  batches_.assign(count, {});
  max_rows_ = max_points_ = 0;
  std::size_t first_row = 0;
  for (std::size_t j = 0; j < count; ++j) {
    Batch& batch = batches_[j];
    batch.first_row = first_row;
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      const std::size_t n = set_memory_[s].points, begin = n * j / count, end = n * (j + 1) / count;
      batch.pieces.push_back({static_cast<int>(batch.rows), static_cast<int>(end - begin),
                              static_cast<int>(batch.points), 0, 0, static_cast<int>(begin),
                              static_cast<int>(n), 0});
      batch.rows += (end - begin) * sets_[s]->jets.size();
      batch.points += end - begin;
    }
    first_row += batch.rows;
    max_rows_ = std::max(max_rows_, batch.rows);
    max_points_ = std::max(max_points_, batch.points);
  }
}

template <class T>
void CudaPass<T>::allocate() {
  const auto& operations = tape_->operations();
  const int buffers = static_cast<int>(tape_->buffer_widths().size());
  std::size_t all_rows = 0;
  for (const auto& batch : batches_) all_rows += batch.rows;
  inputs_ = cuda::Memory<T>(all_rows * leading(0));
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
  for (std::size_t k = 0; k < terms_; ++k)
    results_[k] = options_.signals ? cuda::Memory<T>(set_memory_[0].points) : cuda::Memory<T>();
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

// Every launch that sums writes rows of its own; the rows of one target lie together and are added up by one
// job.
template <class T>
void CudaPass<T>::assign_sums() {
  job_list_.clear();
  job_count_ = factor_job_count_ = 0;
  widest_job_ = 1;
  const auto& operations = tape_->operations();
  for (auto& batch : batches_) batch.adjoint_sums.assign(operations.size(), {});
  if (!options_.gradient || options_.signals) return;
  const auto& blocks = tape_->parameters().blocks();
  struct Target {
    std::size_t columns = 0, rows = 0, at = 0;
  };
  std::map<int, Target> targets;  // block -> its partial sums
  const auto rows_of = [&](const net::PointwiseKernel& kernel, const Batch& batch) {
    auto pieces = batch.pieces;
    return static_cast<std::size_t>(deal_blocks(pieces, kernel.threads_y, kernel.columns_x));
  };
  std::size_t head_rows = 0;
  for (auto& batch : batches_) {
    auto pieces = batch.pieces;
    head_rows += deal_blocks(pieces, kHeadWarps, 1);
    for (const auto& kernel : adjoint_)
      for (const auto& sum : kernel.sums) {
        targets[sum.block].columns = sum.columns;
        targets[sum.block].rows += rows_of(kernel, batch);
      }
  }
  std::size_t total = head_rows * head_gradient_.sums;
  for (auto& [block, target] : targets) {
    target.at = total;
    total += target.rows * target.columns;
  }
  sums_ = cuda::Memory<double>(total);

  std::size_t head_at = 0;
  std::map<int, std::size_t> used;
  for (auto& batch : batches_) {
    auto pieces = batch.pieces;
    batch.head_sums = sums_.data() + head_at;
    head_at += deal_blocks(pieces, kHeadWarps, 1) * head_gradient_.sums;
    for (const auto& kernel : adjoint_)
      for (const auto& sum : kernel.sums) {
        auto& at = used[sum.block];
        batch.adjoint_sums[kernel.operation].push_back(sums_.data() + targets[sum.block].at + at);
        at += rows_of(kernel, batch) * sum.columns;
      }
  }

  double* const gradient = addresses_.gradient;
  add_job(sums_.data(), addresses_.losses, head_rows, terms_,
          head_gradient_.sums);  // first: the only one a plain value needs
  if (unknowns_ > 0)
    add_job(sums_.data() + terms_, gradient + tape_->parameters().size(), head_rows, unknowns_,
            head_gradient_.sums);
  const net::Dense& output = *operations[fusion_.producer[tape_->output().buffer]].dense;
  if (output.bias)
    add_job(sums_.data() + terms_ + unknowns_, gradient + blocks[output.bias.block].offset, head_rows,
            output.out.width, head_gradient_.sums);
  for (const auto& [block, target] : targets) {
    const bool scalar = blocks[block].size() == 1;  // one number per block of threads, side by side too
    if (scalar)
      add_job(sums_.data() + target.at, gradient + blocks[block].offset, target.rows * target.columns, 1, 1);
    else
      add_job(sums_.data() + target.at, gradient + blocks[block].offset, target.rows, target.columns,
              target.columns);
  }
  std::vector<std::byte> factor_jobs;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto& d = operations[i].dense;
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
    append(factor_jobs, FactorJob{block_address(d->weight), block_address(d->scale), gradient + block.offset,
                                  gradient + blocks[d->scale.block].offset, static_cast<int>(block.rows),
                                  static_cast<int>(block.cols)});
    ++factor_job_count_;
  }
  jobs_ = on_device(job_list_);
  factor_jobs_ = on_device(factor_jobs);
}

template <class T>
std::size_t CudaPass<T>::bytes() const {
  std::size_t total = inputs_.bytes() + sums_.bytes() + unknown_bars_.bytes();
  for (const auto* list : {&values_, &bars_, &weights_, &transposed_weights_, &weight_bars_, &results_})
    for (const auto& memory : *list) total += memory.bytes();
  for (const auto* lists : {&stashes_, &scalar_bars_})
    for (const auto& list : *lists)
      for (const auto& memory : list) total += memory.bytes();
  for (const auto& set : set_memory_) total += set.coordinates.bytes() + set.columns.bytes();
  for (const auto& memory : point_weights_) total += memory.bytes();
  return total;
}

// The members defined here; the others: pass_run.cpp.
template class CudaPass<double>;
template class CudaPass<float>;

}  // namespace lather::pde
