// Enqueueing: everything here but `values` may be captured into a graph.
#include <algorithm>

#include "lather/pde/cuda/kernels/job_arguments.cuh"
#include "lather/pde/cuda/pass.hpp"

namespace lather::pde {

using net::DenseForm;

namespace {

// Enough thread blocks of 256 to keep all multiprocessors of an H200 (132) busy without making many partial
// sums.
constexpr int kMostBlocks = 528;

}  // namespace

template <class T>
int CudaPass<T>::deal_blocks(std::span<net::KernelPiece> pieces, int points_per_block,
                             int side_by_side) const {
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
void CudaPass<T>::run(const std::string& name, const cuda::Launch& shape,
                      std::span<const net::KernelPiece> pieces, std::span<void* const> pointers) {
  cuda::Parameter parameter;
  parameter.add(pieces).add(pointers);
  cuda::launch(kernels_.at(name), shape, parameter, stream_);
}

template <class T>
void CudaPass<T>::run_pointwise(const net::PointwiseKernel& kernel, const Batch& batch,
                                std::span<double* const> sums) {
  using What = net::KernelPointer::What;
  std::vector<void*> pointers;
  for (const auto& p : kernel.pointers) {
    switch (p.what) {
      case What::values:
        pointers.push_back(p.index == 0 ? inputs_.data() + batch.first_row * leading(0)
                                        : values_[p.index].data());
        break;
      case What::bar: pointers.push_back(bars_[p.index].data()); break;
      case What::stash: pointers.push_back(stashes_[kernel.operation][p.index].data()); break;
      case What::parameters: pointers.push_back(weights_at({p.index, false})); break;
      case What::frozen: pointers.push_back(weights_at({p.index, true})); break;
      case What::sums: pointers.push_back(sums[p.index]); break;
      case What::scalar_bar: pointers.push_back(scalar_bars_[kernel.operation][p.index].data()); break;
    }
  }
  auto pieces = batch.pieces;
  const unsigned blocks = deal_blocks(pieces, kernel.threads_y, kernel.columns_x);
  run(kernel.name, {dim3(kernel.columns_x, blocks), dim3(kernel.threads_x, kernel.threads_y)}, pieces,
      pointers);
}

template <class T>
void CudaPass<T>::weights() {
  if (weight_job_count_ == 0) return;
  const JobList list{weight_jobs_.data()};
  cuda::launch(kernels_.at("prepare_weights"), {dim3(64, weight_job_count_), dim3(256)},
               cuda::Parameter().add(list), stream_);
}

template <class T>
void CudaPass<T>::inputs() {
  for (const auto& batch : batches_) inputs(batch);
}

template <class T>
void CudaPass<T>::inputs(const Batch& batch) {
  std::vector<void*> pointers;
  for (const auto& p : input_kernel_.pointers)
    pointers.push_back(p.what == SetPointer::What::inputs ? inputs_.data() + batch.first_row * leading(0)
                                                          : set_memory_[p.index].coordinates.data());
  auto pieces = batch.pieces;
  const unsigned blocks = deal_blocks(pieces, 256, 1);
  run(input_kernel_.name, {dim3(1, blocks), dim3(256)}, pieces, pointers);
}

template <class T>
void CudaPass<T>::forward(const Batch& batch) {
  const auto& operations = tape_->operations();
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].pointwise) {
      run_pointwise(forward_[i], batch, {});
    } else if (fusion_.form[i] == DenseForm::product) {
      const net::Dense& d = *operations[i].dense;
      const T* in =
          d.in.buffer == 0 ? inputs_.data() + batch.first_row * leading(0) + d.in.offset : values_at(d.in);
      blas_.multiply<T>({static_cast<int>(batch.rows), d.out.width, d.in.width}, in, leading(d.in.buffer),
                        weights_[i].data(), kernel_options_.leading(d.out.width), values_at(d.out),
                        leading(d.out.buffer));
    }
  }
}

template <class T>
void CudaPass<T>::head(const Batch& batch, const HeadKernel& kernel, const double* scales) {
  using What = SetPointer::What;
  const net::Dense& output = *tape_->operations()[fusion_.producer[tape_->output().buffer]].dense;
  const auto term_of = [&](const SetPointer& p) {
    return std::find(term_place_.begin(), term_place_.end(), std::pair{p.index, p.component}) -
           term_place_.begin();
  };
  std::vector<void*> pointers;
  for (const auto& p : kernel.pointers) {
    switch (p.what) {
      case What::coordinates: pointers.push_back(set_memory_[p.index].coordinates.data()); break;
      case What::columns: pointers.push_back(set_memory_[p.index].columns.data()); break;
      case What::values: pointers.push_back(results_[term_of(p)].data()); break;
      case What::point_weights: pointers.push_back(point_weights_[term_of(p)].data()); break;
      case What::group_sums: pointers.push_back(group_sums_[term_of(p)].data()); break;
      case What::scales: pointers.push_back(const_cast<double*>(scales)); break;
      case What::inputs: pointers.push_back(inputs_.data()); break;
      case What::last: pointers.push_back(values_[output.in.buffer].data()); break;
      case What::output_bar: pointers.push_back(bars_[tape_->output().buffer].data()); break;
      case What::parameters: pointers.push_back(weights_at({p.index, false})); break;
      case What::frozen: pointers.push_back(weights_at({p.index, true})); break;
      case What::unknowns:
        pointers.push_back(const_cast<double*>(addresses_.parameters) + tape_->parameters().size());
        break;
      case What::unknown_bars: pointers.push_back(unknown_bars_.data()); break;
      case What::sums: pointers.push_back(batch.head_sums); break;
    }
  }
  auto pieces = batch.pieces;
  const unsigned blocks = deal_blocks(pieces, kHeadWarps, 1);
  run(kernel.name, {dim3(1, blocks), dim3(32 * kHeadWarps)}, pieces, pointers);
}

// The sums over groups of points, before the head needs them: the values of only their sets, then the sums.
template <class T>
void CudaPass<T>::add_groups(const Batch& batch) {
  Batch grouped = batch;
  for (std::size_t s = 0; s < sets_.size(); ++s)
    if (sets_[s]->group == 1) grouped.pieces[s].points = 0;
  head(grouped, head_values_, nullptr);
  for (std::size_t k = 0; k < terms_; ++k) {
    const net::KernelPiece& piece = grouped.pieces[term_place_[k].first];
    const int group = static_cast<int>(sets_[term_place_[k].first]->group), groups = piece.points / group;
    if (groups == 0) continue;
    const GroupSumKernelArgs work{
        results_[k].data(), group_sums_[k].data(), piece.point / group, groups, group, 0};
    cuda::launch(kernels_.at("add_groups"), {dim3(std::min(groups, kMostBlocks)), dim3(256)},
                 cuda::Parameter().add(work), stream_);
  }
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
    const int ld_out = leading(d.out.buffer), ld_in = leading(d.in.buffer),
              ld_weight = kernel_options_.leading(d.out.width);
    const T* in =
        d.in.buffer == 0 ? inputs_.data() + batch.first_row * leading(0) + d.in.offset : values_at(d.in);
    if (weight_bars_[i].size() > 0) {  // W_bar = A^T Z_bar
      const cuda::Blas::Product outer{
          .m = d.in.width, .n = d.out.width, .k = rows, .transpose_a = true, .beta = first ? 0.0 : 1.0};
      if (options_.overlap) cuda::enqueue_behind(stream_, side_, next_event());
      (options_.overlap ? *side_blas_ : blas_)
          .template multiply<T>(outer, in, ld_in, bar_at(d.out), ld_out, weight_bars_[i].data(), ld_weight);
    }
    if (needs_bar[d.in.buffer])  // A_bar = Z_bar W^T; cuBLAS is 10 % faster with a stored W^T than with W
                                 // transposed
      blas_.multiply<T>({.m = rows,
                         .n = d.in.width,
                         .k = d.out.width,
                         .beta = sets_[0]->tape.accumulates[i][0] ? 1.0 : 0.0},
                        bar_at(d.out), ld_out, transposed_weights_[i].data(),
                        kernel_options_.leading(d.in.width), bar_at(d.in), ld_in);
  }
  if (forks == 0) return;
  cuda::enqueue_behind(side_, stream_, next_event());
}

template <class T>
void CudaPass<T>::close(bool with_gradient, std::size_t shard) {
  const JobList list{jobs_.data() + shard * job_count_ * sizeof(CloseJob)};
  const unsigned width = static_cast<unsigned>(std::min<std::size_t>(widest_job_, 128));
  cuda::launch(kernels_.at("close_sums"),
               {dim3(with_gradient ? width : 1, with_gradient ? job_count_ : 1), dim3(32, 32)},
               cuda::Parameter().add(list), stream_);
  if (!with_gradient || factor_job_count_ == 0) return;
  const JobList factors{factor_jobs_.data() + shard * factor_job_count_ * sizeof(FactorJob)};
  cuda::launch(kernels_.at("factor_gradient"), {dim3(4, factor_job_count_), dim3(256)},
               cuda::Parameter().add(factors), stream_);
}

template <class T>
void CudaPass<T>::enqueue(bool with_gradient) {
  const bool grouped = has_groups();
  weights();
  for (std::size_t j = 0; j < batches_.size(); ++j) {
    forward(batches_[j]);
    if (grouped) add_groups(batches_[j]);
    head(batches_[j], head_gradient_, addresses_.scales);
    const std::size_t shard = batches_[j].shard;
    const bool first = j == 0 || batches_[j - 1].shard != shard;
    const bool last = j + 1 == batches_.size() || batches_[j + 1].shard != shard;
    if (with_gradient) backward(batches_[j], first);
    if (last) close(with_gradient, shard);
  }
}

template <class T>
void CudaPass<T>::enqueue_window(std::size_t first, std::size_t count) {
  Batch& window = batches_[0];
  net::KernelPiece& piece = window.pieces[0];
  piece.points = static_cast<int>(count);
  piece.point = static_cast<int>(first);
  window.rows = count * components(0);
  weights();
  inputs(window);
  forward(window);
}

template <class T>
void CudaPass<T>::enqueue_signals(int expression) {
  head(batches_[0], head_gradient_, selection_.data() + expression * terms_);
  backward(batches_[0], true);
}

template <class T>
void CudaPass<T>::make_results() {
  for (std::size_t k = 0; k < terms_; ++k)
    if (const std::size_t count = set_memory_[term_place_[k].first].points; results_[k].size() != count)
      results_[k] = cuda::Memory<T>(count);
}

template <class T>
std::vector<std::span<const std::byte>> CudaPass<T>::results() {
  make_results();
  std::vector<std::span<const std::byte>> list;
  for (const auto& memory : results_)
    list.push_back(std::as_bytes(std::span<const T>(memory.data(), memory.size())));
  return list;
}

template <class T>
void CudaPass<T>::enqueue_values() {
  make_results();
  weights();
  for (const auto& batch : batches_) {
    forward(batch);
    head(batch, head_values_, nullptr);
  }
}

template <class T>
std::vector<double> CudaPass<T>::values(int set, int expression) {
  const std::size_t term =
      std::find(term_place_.begin(), term_place_.end(), std::pair{set, expression}) - term_place_.begin();
  std::vector<T> host(results_[term].size());
  cuda::check(cudaStreamSynchronize(stream_));
  results_[term].download(host);
  return {host.begin(), host.end()};
}

template <class T>
std::vector<typename CudaPass<T>::LayerView> CudaPass<T>::layers() const {
  std::vector<LayerView> list;
  for (std::size_t i = tape_->operations().size(); i-- > 0;) {
    const auto& d = tape_->operations()[i].dense;
    if (!d || d->weight.frozen) continue;
    const T* in = d->in.buffer == 0 ? inputs_.data() + d->in.offset : values_at(d->in);
    list.push_back({i, in, static_cast<std::size_t>(leading(d->in.buffer)), bar_at(d->out),
                    static_cast<std::size_t>(leading(d->out.buffer))});
  }
  return list;
}

template <class T>
std::vector<typename CudaPass<T>::ScalarView> CudaPass<T>::scalars() const {
  std::vector<ScalarView> list;
  for (std::size_t i = tape_->operations().size(); i-- > 0;)
    for (std::size_t k = 0; k < scalar_bars_[i].size(); ++k) {
      const net::Pointwise& p = *tape_->operations()[i].pointwise;
      const std::size_t width = p.out.width;
      list.push_back({tape_->parameters().blocks()[p.scalars[k]].offset, scalar_bars_[i][k].data(), width,
                      static_cast<std::size_t>(kernel_options_.leading(p.out.width))});
    }
  const std::size_t count = batches_[0].pieces[0].points;
  for (const Slot& slot : sets_[0]->adjoint_outputs)
    if (slot.what == Slot::What::unknown_bar)
      list.push_back(
          {tape_->parameters().size() + slot.index, unknown_bars_.data() + slot.index * count, 1, 1});
  return list;
}

// Members used elsewhere.
#define LATHER_INSTANTIATE(T)                                                         \
  template int CudaPass<T>::deal_blocks(std::span<net::KernelPiece>, int, int) const; \
  template void CudaPass<T>::inputs();                                                \
  template void CudaPass<T>::enqueue(bool);                                           \
  template void CudaPass<T>::enqueue_window(std::size_t, std::size_t);                \
  template void CudaPass<T>::enqueue_signals(int);                                    \
  template void CudaPass<T>::enqueue_values();                                        \
  template std::vector<double> CudaPass<T>::values(int, int);                         \
  template std::vector<std::span<const std::byte>> CudaPass<T>::results();            \
  template std::vector<CudaPass<T>::LayerView> CudaPass<T>::layers() const;           \
  template std::vector<CudaPass<T>::ScalarView> CudaPass<T>::scalars() const;
LATHER_INSTANTIATE(double)
LATHER_INSTANTIATE(float)

}  // namespace lather::pde
