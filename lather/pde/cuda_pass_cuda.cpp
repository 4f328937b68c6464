// First setting up: kernels, batches, memory, where sums go. Then enqueueing: what may be captured into a graph.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "lather/core/error.hpp"
#include "lather/pde/cuda_pass.hpp"
#include "lather/pde/cuda_pass_jobs.hpp"

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
CudaPass<T>::CudaPass(const net::Tape& tape, std::vector<const CompiledSet*> sets, int unknowns, const CudaAddresses& addresses, const CudaPassOptions& options)
    : tape_(&tape), sets_(std::move(sets)), unknowns_(unknowns), addresses_(addresses), options_(options), kernel_options_{sizeof(T) == 4},
      fusion_(net::plan_fusion(tape, sets_[0]->tape, options.absorb)), blas_(stream_), side_blas_(side_), set_memory_(sets_.size()) {
  for (std::size_t s = 0; s < sets_.size(); ++s)
    for (int e = 0; e < sets_[s]->values.outputs; ++e) term_place_.emplace_back(static_cast<int>(s), e);
  terms_ = term_place_.size();
  point_weights_.resize(terms_);
  results_.resize(terms_);
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
    if (options_.gradient) adjoint_[i] = net::adjoint_kernel(*tape_, i, kernel_sets, fusion_, kernel_options_);
  }
  input_kernel_ = input_kernel(sets_, *tape_, kernel_options_);
  head_values_ = head_kernel(sets_, *tape_, unknowns_, HeadMode::values, kernel_options_);
  if (options_.gradient) head_gradient_ = head_kernel(sets_, *tape_, unknowns_, options_.signals ? HeadMode::signals : HeadMode::gradient, kernel_options_);

  std::string source = net::kernel_prelude(kernel_options_) + kJobKernels;
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
  return d && (fusion_.form[i] == DenseForm::product || (options_.gradient && fusion_.form[i] == DenseForm::output));
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
  return !(fusion_.form[output] == DenseForm::absorbed_output && tape_->operations()[output].dense->in.buffer == buffer);
}

template <class T>
T* CudaPass<T>::values_at(const net::Value& v) const { return values_[v.buffer].data() + v.offset; }
template <class T>
T* CudaPass<T>::bar_at(const net::Value& v) const { return bars_[v.buffer].data() + v.offset; }

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
    int stashes = 0;
    for (const auto* set : sets_) stashes = std::max(stashes, set->tape.programs[i].stashes);
    bytes += points * stashes * kernel_options_.leading(tape_->operations()[i].pointwise->out.width) * sizeof(T);
  }
  return bytes;
}

template <class T>
bool CudaPass<T>::set_points(int set, const Points& points) {
  SetMemory& memory = set_memory_[set];
  const std::size_t count = points.count();
  const bool same = memory.points == count;
  if (!same) memory = {count, cuda::Memory<T>(count * points.coordinates.size()), cuda::Memory<T>(count * points.columns.size())};
  const auto upload = [&](const std::vector<std::vector<double>>& arrays, cuda::Memory<T>& to) {
    std::vector<T> flat;
    for (const auto& array : arrays) flat.insert(flat.end(), array.begin(), array.end());
    if (!flat.empty()) to.upload(flat);
  };
  upload(points.coordinates, memory.coordinates);
  upload(points.columns, memory.columns);
  for (std::size_t k = 0; k < terms_; ++k) {
    if (term_place_[k].first != set || point_weights_[k].size() == 0) continue;
    if (!same) point_weights_[k] = {};
    else set_point_weights(static_cast<int>(k), {});
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
  values_.clear(), bars_.clear(), stashes_.clear();
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
      throw Error(fmt::format("device cuda: the network needs {:.1f} GiB for a batch of {} rows, {:.1f} GiB of {:.1f} GiB are free; use a smaller width or depth",
                              static_cast<double>(batch_bytes(share(rows), share(points))) / (1 << 30), share(rows), static_cast<double>(free) / (1 << 30), static_cast<double>(total) / (1 << 30)));
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
      batch.pieces.push_back({static_cast<int>(batch.rows), static_cast<int>(end - begin), static_cast<int>(batch.points), 0, 0, static_cast<int>(begin), static_cast<int>(n), 0});
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
  values_.resize(buffers), bars_.resize(buffers), stashes_.resize(operations.size());
  for (int b = 0; b < buffers; ++b) {
    if (has_values(b)) values_[b] = cuda::Memory<T>(max_rows_ * leading(b));
    if (has_bar(b)) bars_[b] = cuda::Memory<T>(max_rows_ * leading(b));
  }
  weights_.resize(operations.size()), weight_bars_.resize(operations.size());
  std::vector<std::byte> weight_jobs;
  weight_job_count_ = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (const auto& p = operations[i].pointwise) {
      int stashes = 0;
      for (const auto* set : sets_) stashes = std::max(stashes, set->tape.programs[i].stashes);
      for (int k = 0; k < stashes; ++k) stashes_[i].emplace_back(max_points_ * kernel_options_.leading(p->out.width));
    } else if (uses_products(i)) {
      const net::Dense& d = *operations[i].dense;
      const auto& block = tape_->block(d.weight);
      const int ld = kernel_options_.leading(static_cast<int>(block.cols));
      if (weights_[i].size() == 0) weights_[i] = cuda::Memory<T>(block.rows * ld);
      if (options_.gradient && !d.weight.frozen && weight_bars_[i].size() == 0) weight_bars_[i] = cuda::Memory<T>(block.rows * ld);
      append(weight_jobs, WeightJob{block_address(d.weight), d.scale ? block_address(d.scale) : nullptr, weights_[i].data(), static_cast<int>(block.rows), static_cast<int>(block.cols), ld, 0});
      ++weight_job_count_;
    }
  }
  weight_jobs_ = on_device(weight_jobs);
  for (std::size_t k = 0; k < terms_; ++k) results_[k] = {};
}

template <class T>
void CudaPass<T>::add_job(const double* from, double* to, std::size_t rows, std::size_t columns, std::size_t leading) {
  append(job_list_, CloseJob{from, to, static_cast<int>(rows), static_cast<int>(columns), static_cast<int>(leading), 0});
  widest_job_ = std::max(widest_job_, columns / 32 + 1);
  ++job_count_;
}

// Every launch that sums writes rows of its own; the rows of one target lie together and are added up by one job.
template <class T>
void CudaPass<T>::assign_sums() {
  job_list_.clear();
  job_count_ = factor_job_count_ = 0;
  widest_job_ = 1;
  if (!options_.gradient) return;
  const auto& operations = tape_->operations();
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
    batch.adjoint_sums.assign(operations.size(), {});
    for (const auto& kernel : adjoint_)
      for (const auto& sum : kernel.sums) {
        auto& at = used[sum.block];
        batch.adjoint_sums[kernel.operation].push_back(sums_.data() + targets[sum.block].at + at);
        at += rows_of(kernel, batch) * sum.columns;
      }
  }

  double* const gradient = addresses_.gradient;
  add_job(sums_.data(), addresses_.losses, head_rows, terms_, head_gradient_.sums);  // first: the only one a plain value needs
  if (unknowns_ > 0) add_job(sums_.data() + terms_, gradient + tape_->parameters().size(), head_rows, unknowns_, head_gradient_.sums);
  const net::Dense& output = *operations[fusion_.producer[tape_->output().buffer]].dense;
  if (output.bias) add_job(sums_.data() + terms_ + unknowns_, gradient + blocks[output.bias.block].offset, head_rows, output.out.width, head_gradient_.sums);
  for (const auto& [block, target] : targets) {
    const bool scalar = blocks[block].size() == 1;  // one number per block of threads, side by side too
    if (scalar) add_job(sums_.data() + target.at, gradient + blocks[block].offset, target.rows * target.columns, 1, 1);
    else add_job(sums_.data() + target.at, gradient + blocks[block].offset, target.rows, target.columns, target.columns);
  }
  std::vector<std::byte> factor_jobs;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto& d = operations[i].dense;
    if (!d || d->weight.frozen) continue;
    const auto& block = blocks[d->weight.block];
    if (weight_bars_[i].size() > 0) {
      append(job_list_, CloseJob{weight_bars_[i].data(), gradient + block.offset, static_cast<int>(block.rows), static_cast<int>(block.cols), kernel_options_.leading(static_cast<int>(block.cols)), 1});
      widest_job_ = std::max(widest_job_, block.size() / 1024 + 1);
      ++job_count_;
    }
    if (!d->scale) continue;
    append(factor_jobs, FactorJob{block_address(d->weight), block_address(d->scale), gradient + block.offset, gradient + blocks[d->scale.block].offset, static_cast<int>(block.rows), static_cast<int>(block.cols)});
    ++factor_job_count_;
  }
  jobs_ = on_device(job_list_);
  factor_jobs_ = on_device(factor_jobs);
}

template <class T>
std::size_t CudaPass<T>::bytes() const {
  std::size_t total = inputs_.bytes() + sums_.bytes();
  for (const auto* list : {&values_, &bars_, &weights_, &weight_bars_, &results_})
    for (const auto& memory : *list) total += memory.bytes();
  for (const auto& list : stashes_)
    for (const auto& memory : list) total += memory.bytes();
  for (const auto& set : set_memory_) total += set.coordinates.bytes() + set.columns.bytes();
  for (const auto& memory : point_weights_) total += memory.bytes();
  return total;
}

// ---- enqueueing ----

namespace {

// Thread blocks of 256 that keep all multiprocessors of an H200 (132) busy without making the partial sums many.
constexpr int kMostBlocks = 528;

}  // namespace

template <class T>
int CudaPass<T>::deal_blocks(std::span<net::KernelPiece> pieces, int points_per_block, int side_by_side) const {
  double points = 0;
  for (const auto& piece : pieces) points += piece.points;
  const int most = std::max(1, kMostBlocks / side_by_side);
  int next = 0;
  for (auto& piece : pieces) {
    const int useful = (piece.points + points_per_block - 1) / points_per_block;
    const int fair = std::max(1, static_cast<int>(most * (piece.points / points)));
    piece.block = next;
    piece.blocks = std::min(useful, fair);
    next += piece.blocks;
  }
  return next;
}

template <class T>
void CudaPass<T>::run(const std::string& name, const cuda::Launch& shape, std::span<const net::KernelPiece> pieces, std::span<void* const> pointers) {
  cuda::Parameter parameter;
  parameter.add(pieces).add(pointers);
  cuda::launch(kernels_.at(name), shape, parameter, stream_);
}

template <class T>
void CudaPass<T>::run_pointwise(const net::PointwiseKernel& kernel, const Batch& batch, std::span<double* const> sums) {
  using What = net::KernelPointer::What;
  std::vector<void*> pointers;
  for (const auto& p : kernel.pointers) {
    switch (p.what) {
      case What::values: pointers.push_back(p.index == 0 ? inputs_.data() + batch.first_row * leading(0) : values_[p.index].data()); break;
      case What::bar: pointers.push_back(bars_[p.index].data()); break;
      case What::stash: pointers.push_back(stashes_[kernel.operation][p.index].data()); break;
      case What::parameters: pointers.push_back(const_cast<double*>(addresses_.parameters) + tape_->parameters().blocks()[p.index].offset); break;
      case What::frozen: pointers.push_back(const_cast<double*>(addresses_.frozen) + tape_->frozen().blocks()[p.index].offset); break;
      case What::sums: pointers.push_back(sums[p.index]); break;
    }
  }
  auto pieces = batch.pieces;
  const unsigned blocks = deal_blocks(pieces, kernel.threads_y, kernel.columns_x);
  run(kernel.name, {dim3(kernel.columns_x, blocks), dim3(kernel.threads_x, kernel.threads_y)}, pieces, pointers);
}

template <class T>
void CudaPass<T>::weights() {
  if (weight_job_count_ == 0) return;
  const JobList list{weight_jobs_.data()};
  cuda::launch(kernels_.at("prepare_weights"), {dim3(64, weight_job_count_), dim3(256)}, cuda::Parameter().add(list), stream_);
}

template <class T>
void CudaPass<T>::inputs() {
  for (const auto& batch : batches_) {
    std::vector<void*> pointers;
    for (const auto& p : input_kernel_.pointers)
      pointers.push_back(p.what == SetPointer::What::inputs ? inputs_.data() + batch.first_row * leading(0) : set_memory_[p.index].coordinates.data());
    auto pieces = batch.pieces;
    const unsigned blocks = deal_blocks(pieces, 256, 1);
    run(input_kernel_.name, {dim3(1, blocks), dim3(256)}, pieces, pointers);
  }
}

template <class T>
void CudaPass<T>::forward(const Batch& batch) {
  const auto& operations = tape_->operations();
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].pointwise) {
      run_pointwise(forward_[i], batch, {});
    } else if (fusion_.form[i] == DenseForm::product) {
      const net::Dense& d = *operations[i].dense;
      const T* in = d.in.buffer == 0 ? inputs_.data() + batch.first_row * leading(0) + d.in.offset : values_at(d.in);
      blas_.multiply<T>({static_cast<int>(batch.rows), d.out.width, d.in.width}, in, leading(d.in.buffer), weights_[i].data(), kernel_options_.leading(d.out.width), values_at(d.out),
                        leading(d.out.buffer));
    }
  }
}

template <class T>
void CudaPass<T>::head(const Batch& batch, HeadMode mode) {
  using What = SetPointer::What;
  const HeadKernel& kernel = mode == HeadMode::gradient ? head_gradient_ : head_values_;
  const net::Dense& output = *tape_->operations()[fusion_.producer[tape_->output().buffer]].dense;
  const auto term_of = [&](const SetPointer& p) {
    return std::find(term_place_.begin(), term_place_.end(), std::pair{p.index, p.component}) - term_place_.begin();
  };
  std::vector<void*> pointers;
  for (const auto& p : kernel.pointers) {
    switch (p.what) {
      case What::coordinates: pointers.push_back(set_memory_[p.index].coordinates.data()); break;
      case What::columns: pointers.push_back(set_memory_[p.index].columns.data()); break;
      case What::values: pointers.push_back(results_[term_of(p)].data()); break;
      case What::point_weights: pointers.push_back(point_weights_[term_of(p)].data()); break;
      case What::scales: pointers.push_back(const_cast<double*>(addresses_.scales)); break;
      case What::inputs: pointers.push_back(inputs_.data()); break;
      case What::last: pointers.push_back(values_[output.in.buffer].data()); break;
      case What::output_bar: pointers.push_back(bars_[tape_->output().buffer].data()); break;
      case What::parameters: pointers.push_back(const_cast<double*>(addresses_.parameters) + tape_->parameters().blocks()[p.index].offset); break;
      case What::frozen: pointers.push_back(const_cast<double*>(addresses_.frozen) + tape_->frozen().blocks()[p.index].offset); break;
      case What::unknowns: pointers.push_back(const_cast<double*>(addresses_.parameters) + tape_->parameters().size()); break;
      case What::sums: pointers.push_back(batch.head_sums); break;
    }
  }
  auto pieces = batch.pieces;
  const unsigned blocks = deal_blocks(pieces, kHeadWarps, 1);
  run(kernel.name, {dim3(1, blocks), dim3(32 * kHeadWarps)}, pieces, pointers);
}

template <class T>
void CudaPass<T>::backward(const Batch& batch, bool first) {
  const auto& operations = tape_->operations();
  const auto& needs_bar = sets_[0]->tape.needs_bar;
  const int rows = static_cast<int>(batch.rows);
  std::size_t forks = 0;
  const auto next_event = [&]() -> cuda::Event& {
    if (forks == events_.size()) events_.push_back(std::make_unique<cuda::Event>());
    return *events_[forks++];
  };
  for (std::size_t i = operations.size(); i-- > 0;) {
    if (operations[i].pointwise) {
      if (!adjoint_[i].empty()) run_pointwise(adjoint_[i], batch, batch.adjoint_sums[i]);
      continue;
    }
    const net::Dense& d = *operations[i].dense;
    if (!uses_products(i) || !needs_bar[d.out.buffer]) continue;
    const int ld_out = leading(d.out.buffer), ld_in = leading(d.in.buffer), ld_weight = kernel_options_.leading(d.out.width);
    const T* in = d.in.buffer == 0 ? inputs_.data() + batch.first_row * leading(0) + d.in.offset : values_at(d.in);
    if (weight_bars_[i].size() > 0) {  // W_bar = A^T Z_bar
      const cuda::Blas::Product outer{.m = d.in.width, .n = d.out.width, .k = rows, .transpose_a = true, .beta = first ? 0.0 : 1.0};
      if (options_.overlap) {
        const cuda::Event& ready = next_event();
        cuda::check(cudaEventRecord(ready, stream_));
        cuda::check(cudaStreamWaitEvent(side_, ready, 0));
      }
      (options_.overlap ? side_blas_ : blas_).template multiply<T>(outer, in, ld_in, bar_at(d.out), ld_out, weight_bars_[i].data(), ld_weight);
    }
    if (needs_bar[d.in.buffer])  // A_bar = Z_bar W^T
      blas_.multiply<T>({.m = rows, .n = d.in.width, .k = d.out.width, .transpose_b = true, .beta = sets_[0]->tape.accumulates[i][0] ? 1.0 : 0.0}, bar_at(d.out), ld_out, weights_[i].data(),
                        ld_weight, bar_at(d.in), ld_in);
  }
  if (forks == 0) return;
  const cuda::Event& done = next_event();
  cuda::check(cudaEventRecord(done, side_));
  cuda::check(cudaStreamWaitEvent(stream_, done, 0));
}

template <class T>
void CudaPass<T>::close(bool with_gradient) {
  const JobList list{jobs_.data()};
  const unsigned width = static_cast<unsigned>(std::min<std::size_t>(widest_job_, 128));
  cuda::launch(kernels_.at("close_sums"), {dim3(with_gradient ? width : 1, with_gradient ? job_count_ : 1), dim3(32, 32)}, cuda::Parameter().add(list), stream_);
  if (!with_gradient || factor_job_count_ == 0) return;
  const JobList factors{factor_jobs_.data()};
  cuda::launch(kernels_.at("factor_gradient"), {dim3(4, factor_job_count_), dim3(256)}, cuda::Parameter().add(factors), stream_);
}

template <class T>
void CudaPass<T>::enqueue(bool with_gradient) {
  weights();
  for (std::size_t j = 0; j < batches_.size(); ++j) {
    forward(batches_[j]);
    head(batches_[j], HeadMode::gradient);
    if (with_gradient) backward(batches_[j], j == 0);
  }
  close(with_gradient);
}

template <class T>
void CudaPass<T>::enqueue_batch(std::size_t batch) {
  weights();
  forward(batches_[batch]);
  head(batches_[batch], HeadMode::gradient);
  backward(batches_[batch], true);
}

template <class T>
void CudaPass<T>::enqueue_values() {
  for (std::size_t k = 0; k < terms_; ++k)
    if (const std::size_t count = set_memory_[term_place_[k].first].points; results_[k].size() != count) results_[k] = cuda::Memory<T>(count);
  weights();
  for (const auto& batch : batches_) {
    forward(batch);
    head(batch, HeadMode::values);
  }
}

template <class T>
std::vector<double> CudaPass<T>::values(int set, int expression) {
  const std::size_t term = std::find(term_place_.begin(), term_place_.end(), std::pair{set, expression}) - term_place_.begin();
  std::vector<T> host(results_[term].size());
  cuda::check(cudaStreamSynchronize(stream_));
  results_[term].download(host);
  return {host.begin(), host.end()};
}

template <class T>
std::vector<typename CudaPass<T>::LayerView> CudaPass<T>::layers(std::size_t batch) const {
  std::vector<LayerView> list;
  for (std::size_t i = tape_->operations().size(); i-- > 0;) {
    const auto& d = tape_->operations()[i].dense;
    if (!d || d->weight.frozen) continue;
    const T* in = d->in.buffer == 0 ? inputs_.data() + batches_[batch].first_row * leading(0) + d->in.offset : values_at(d->in);
    list.push_back({i, in, static_cast<std::size_t>(leading(d->in.buffer)), bar_at(d->out), static_cast<std::size_t>(leading(d->out.buffer))});
  }
  return list;
}

template class CudaPass<double>;
template class CudaPass<float>;

}  // namespace lather::pde
