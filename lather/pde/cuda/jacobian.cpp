#include "lather/pde/cuda/jacobian.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "lather/core/memory.hpp"
#include "lather/optim/cuda/least_squares/triangles.hpp"
#include "lather/pde/cuda/kernels/jacobian_arguments.cuh"
#include "lather/pde/engine/residual_weights.hpp"

namespace lather::pde {

namespace {

constexpr std::size_t kWindowPoints = 16384;
constexpr int kWarp = 32, kThreads = 256;

template <class Work>
void launch_flat(cudaKernel_t kernel, std::size_t count, const Work& work, cudaStream_t stream) {
  cuda::launch(kernel, {dim3(static_cast<unsigned>(count / 256 + 1)), dim3(256)}, cuda::Parameter().add(work),
               stream);
}

}  // namespace

CudaJacobian::CudaJacobian(Engine& engine, const CudaAddresses& addresses, CudaTrialEngine& trials)
    : EngineResiduals(engine),
      addresses_(addresses),
      trials_(trials),
      stride_(cuda::row_stride(engine.layout.size())),
      passes_(engine.sets.size()),
      stale_(engine.sets.size(), true),
      first_row_(engine.problem.terms.size()),
      v_(engine.layout.size()),
      module_("#include \"lather/pde/cuda/kernels/jacobian.cuh\"\n"),
      layers_kernel_(module_.kernel("jacobian_layers")),
      scalar_kernel_(module_.kernel("jacobian_scalar")),
      squares_kernel_(module_.kernel("column_squares")),
      bend_kernel_(module_.kernel("bend_term")),
      blas_(stream_) {}

void CudaJacobian::points_changed(int set) {
  stale_[set] = true;
  kept_ = false;
}

std::size_t CudaJacobian::bytes() const {
  std::size_t total = rows_.bytes() + root_weights_.bytes() + r_.bytes() + w_.bytes() + v_.bytes();
  for (const auto& pass : passes_)
    if (pass) total += pass->bytes();
  return total;
}

CudaPass<double>& CudaJacobian::pass_of(int set) {
  auto& pass = passes_[set];
  const CompiledPointSet& compiled = engine_.sets[set];
  if (!pass) {
    const std::size_t rows =
        engine_.options.tile_rows > 0 ? engine_.options.tile_rows : kWindowPoints * compiled.jets.size();
    pass = std::make_unique<CudaPass<double>>(
        engine_.tape, std::vector<const CompiledPointSet*>{&compiled},
        static_cast<int>(engine_.problem.unknowns.size()), addresses_,
        CudaPassOptions{.absorb = false, .signals = true, .overlap = false, .batch_rows = rows});
  }
  if (stale_[set] && pass->set_points(0, engine_.points[set])) all_rows_ = {};
  stale_[set] = false;
  return *pass;
}

// J is kept whole in half of the free memory, or in two chunks (J J^T takes two at once). A limit on the rows
// of a tile applies to J too. With shards, the chunks are fixed.
void CudaJacobian::choose_chunks(std::size_t residuals) {
  if (residuals == residuals_) return;
  const std::size_t limit = engine_.options.tile_rows;
  rows_ = {};
  kept_ = false;
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total));
  const std::size_t fitting = free / 2 / sizeof(double) / stride_;
  const bool fits = fitting >= residuals && (limit == 0 || limit >= residuals);
  residuals_ = residuals;
  bounds_ = {0};
  if (sharded()) {
    const std::size_t shards = engine_.options.shards;
    for (std::size_t s = 1; s <= shards; ++s) bounds_.push_back(residuals * s / shards);
    chunk_ = (residuals + shards - 1) / shards;
    if (chunk_ > fitting)
      throw OutOfMemory(fmt::format(
          "device cuda: there is no room for {} rows of J with {} numbers each; use more --shards", chunk_,
          engine_.layout.size()));
  } else {
    chunk_ = fits ? residuals : std::clamp<std::size_t>(fitting / 2, 1, limit > 0 ? limit : residuals);
    for (std::size_t end = chunk_; end < residuals; end += chunk_) bounds_.push_back(end);
    bounds_.push_back(residuals);
  }
  rows_ = cuda::Memory<double>((fits ? residuals : chunk_) * stride_);
  root_weights_ = cuda::Memory<double>(residuals);
  r_ = cuda::Memory<double>(residuals);
  w_ = cuda::Memory<double>(residuals);
  host_ = cuda::PinnedMemory<double>(engine_.layout.size() + residuals);
  key_ = {};
  all_rows_ = {};
}

bool CudaJacobian::prepare(std::span<const double> x) {
  std::size_t rows = 0;
  for (std::size_t k = 0; k < first_row_.size(); ++k) {
    first_row_[k] = rows;
    rows += engine_.residuals_of(engine_.problem.terms[k].point_set);
  }
  choose_chunks(rows);
  Key key{{x.begin(), x.end()}, engine_.frozen, {engine_.term_weights, engine_.point_weights, first_row_}};
  if (kept_ && key == key_) return true;
  kept_ = false;
  trials_.enqueue_upload(x, stream_);
  if (key.weights != key_.weights) upload_root_weights();
  key_ = std::move(key);
  return false;
}

void CudaJacobian::upload_root_weights() {
  std::vector<double> roots(residuals_);
  residual_scales(roots);
  root_weights_.upload(roots);
}

// Which residuals of a term are among rows [first, first + count).
CudaJacobian::Range CudaJacobian::part_of_term(int term, std::size_t first, std::size_t count) const {
  const std::size_t residuals = engine_.residuals_of(engine_.problem.terms[term].point_set),
                    from = first_row_[term];
  return {std::clamp(first, from, from + residuals) - from,
          std::clamp(first + count, from, from + residuals) - from};
}

void CudaJacobian::write_term(const CudaPass<double>& pass, int term, Range window, Range part,
                              double* rows) {
  const auto blocks = layers_by_weight_block(engine_);
  const std::size_t parameters = engine_.layout.size(), row = first_row_[term] + part.begin;
  const double* roots = root_weights_.data() + row;
  const int residuals = static_cast<int>(part.end - part.begin),
            skipped = static_cast<int>(part.begin - window.begin),
            group = static_cast<int>(engine_.group_of(engine_.problem.terms[term].point_set));
  const auto skipped_points = static_cast<std::size_t>(skipped) * static_cast<std::size_t>(group);
  JacobianLayersKernelArgs work{roots,
                                rows,
                                static_cast<long long>(stride_),
                                skipped,
                                residuals,
                                group,
                                static_cast<int>(window.end - window.begin) * group,
                                pass.components(0),
                                kThreads,
                                0,
                                0,
                                {}};
  const auto layers = pass.layers();
  const auto signals = [&](const auto& layer) {
    const auto* weight = blocks[engine_.tape.operations()[layer.operation].dense->weight.block].weight;
    return static_cast<int>(weight->rows + weight->cols) * work.components * group;
  };
  if (std::ranges::all_of(layers,
                          [&](const auto& l) { return signals(l) <= kJacobianRoom * kWarp / kThreads; }))
    work.threads = kWarp;
  const int teams = kThreads / work.threads;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const auto& layer = layers[k];
    const LayerBlocks& l = blocks[engine_.tape.operations()[layer.operation].dense->weight.block];
    const auto offset = [](const optim::ParameterBlock* block) {
      return block ? static_cast<long long>(block->offset) : -1;
    };
    work.layer[work.layers++] = {layer.in,
                                 layer.out_bar,
                                 addresses_.parameters + l.weight->offset,
                                 l.scale ? addresses_.parameters + l.scale->offset : nullptr,
                                 offset(l.weight),
                                 offset(l.bias),
                                 offset(l.scale),
                                 static_cast<int>(layer.in_stride),
                                 static_cast<int>(layer.out_stride),
                                 static_cast<int>(l.weight->rows),
                                 static_cast<int>(l.weight->cols)};
    if (work.layers < kJacobianLayers && k + 1 < layers.size()) continue;
    cuda::launch(layers_kernel_,
                 {dim3(static_cast<unsigned>((residuals + teams - 1) / teams)), dim3(kThreads)},
                 cuda::Parameter().add(work), pass.stream());
    work.layers = 0;
  }
  const auto write_scalar = [&](const double* from, std::size_t width, std::size_t from_stride, double* to,
                                std::size_t stride) {
    launch_flat(scalar_kernel_, residuals,
                JacobianScalarKernelArgs{from, roots, to, static_cast<long long>(stride), residuals,
                                         static_cast<int>(width), static_cast<int>(from_stride), group},
                pass.stream());
  };
  // An unknown that only other terms have is zero here.
  for (std::size_t u = engine_.tape.parameters().size(); u < parameters; ++u)
    write_scalar(nullptr, 0, 0, rows + u, stride_);
  for (const auto& s : pass.scalars())
    write_scalar(s.rows + skipped_points * s.stride, s.width, s.stride, rows + s.parameter, stride_);
  write_scalar(pass.window_values(engine_.place_in_set[term]) + skipped_points, 1, 1, r_.data() + row, 1);
}

// Rows [first, first + count) of J, and the same rows of r. The terms of a set share the forward pass.
void CudaJacobian::write(std::size_t first, std::size_t count, double* rows) {
  cuda::check(cudaEventRecord(begun_, stream_));
  std::vector<cudaStream_t> streams;
  for (std::size_t s = 0; s < engine_.sets.size(); ++s) {
    Range all{std::numeric_limits<std::size_t>::max(), 0};
    for (const int k : engine_.terms_of[s])
      if (const Range part = part_of_term(k, first, count); part.begin < part.end)
        all = {std::min(all.begin, part.begin), std::max(all.end, part.end)};
    if (all.begin >= all.end) continue;
    CudaPass<double>& pass = pass_of(static_cast<int>(s));
    cuda::check(cudaStreamWaitEvent(pass.stream(), begun_, 0));
    streams.push_back(pass.stream());
    const std::size_t group = engine_.group_of(static_cast<int>(s)), most = pass.window() / group;
    for (std::size_t begin = all.begin; begin < all.end; begin += most) {
      const Range window{begin, std::min(begin + most, all.end)};
      pass.enqueue_window(window.begin * group, (window.end - window.begin) * group);
      for (const int k : engine_.terms_of[s]) {
        Range part = part_of_term(k, first, count);
        part = {std::max(part.begin, window.begin), std::min(part.end, window.end)};
        if (part.begin >= part.end) continue;
        pass.enqueue_signals(engine_.place_in_set[k]);
        write_term(pass, k, window, part, rows + (first_row_[k] + part.begin - first) * stride_);
      }
    }
  }
  for (const cudaStream_t stream : streams) cuda::enqueue_behind(stream, stream_, written_);
}

void CudaJacobian::write_all() {
  for (std::size_t s = 0; s < engine_.sets.size(); ++s)
    if (!engine_.terms_of[s].empty())  // new points, before the graph
      cuda::enqueue_behind(pass_of(static_cast<int>(s)).stream(), stream_, written_);
  launch_graph(all_rows_, stream_, [&] { write(0, residuals_, rows_.data()); });
}

void CudaJacobian::enqueue_copy(const cuda::Memory<double>& from, double* to) {
  cuda::check(cudaMemcpyAsync(to, from.data(), from.bytes(), cudaMemcpyDeviceToHost, stream_));
}

template <class F>
void CudaJacobian::enqueue_chunks(std::span<const double> x, const F& f) {
  const bool ready = prepare(x);
  for (std::size_t i = 0; i + 1 < bounds_.size(); ++i) {
    const std::size_t first = bounds_[i], count = bounds_[i + 1] - first;
    if (!ready && whole() && !sharded())
      write_all();
    else if (!ready)
      write(first, count, place_of(first));
    f(place_of(first), first, count);
  }
  kept_ = whole();
}
template <class F>
void CudaJacobian::for_chunks(std::span<const double> x, const F& f) {
  enqueue_chunks(x, f);
  stream_.synchronize();
}

double CudaJacobian::normal_matrix(std::span<const double> x, double* JtJ, std::span<double> Jtr,
                                   const Finish& finish) {
  if (sharded()) {
    const double value = sum_over_shards(x, JtJ, Jtr);
    finish(stream_);
    stream_.synchronize();
    return value;
  }
  enqueue_normal(x, JtJ, finish);
  stream_.synchronize();
  return read_normal(Jtr);
}

void CudaJacobian::enqueue_normal(std::span<const double> x, double* JtJ, const Finish& finish) {
  const int n = static_cast<int>(engine_.layout.size()), stride = static_cast<int>(stride_);
  enqueue_chunks(x, [&](const double* J, std::size_t first, std::size_t count) {
    const int m = static_cast<int>(count);
    const double beta = first > 0;
    blas_.square({.n = n, .k = m, .beta = beta}, J, stride, JtJ, stride);
    blas_.multiply<double>({.m = n, .n = 1, .k = m, .transpose_a = true, .beta = beta}, J, stride,
                           r_.data() + first, 1, v_.data(), 1);
    if (!is_last(first + count)) return;
    finish(stream_);
    enqueue_copy(v_, host_v());
    enqueue_copy(r_, host_r());
  });
}

double CudaJacobian::read_normal(std::span<double> Jtr) const {
  std::copy_n(host_v(), Jtr.size(), Jtr.begin());
  return std::inner_product(host_r(), host_r() + residuals_, host_r(), 0.0);
}

std::optional<CudaJacobian::Enqueued> CudaJacobian::enqueue_normal_matrix(std::span<const double> x,
                                                                          double* JtJ, const Finish& finish) {
  choose_chunks(residual_count());
  if (!whole()) return std::nullopt;
  enqueue_normal(x, JtJ, finish);
  return Enqueued{v_.data(), stream_};
}

double* CudaJacobian::bend_points() { return trials_.residual_points(3); }
double* CudaJacobian::value_points() { return trials_.value_points(2); }

optim::DeviceJacobian::Enqueued CudaJacobian::enqueue_bend(double h, cudaStream_t after) {
  cuda::enqueue_behind(after, trials_.stream(), tried_);
  trials_.enqueue_residuals(3);
  for (int term = 0; term < static_cast<int>(engine_.problem.terms.size()); ++term) {
    const int set = engine_.problem.terms[term].point_set;
    const std::size_t residuals = engine_.residuals_of(set), row = first_row_[term];
    launch_flat(bend_kernel_, residuals,
                BendTermKernelArgs{trials_.residuals_at(2, term), trials_.residuals_at(0, term),
                                   trials_.residuals_at(1, term), root_weights_.data() + row, w_.data() + row,
                                   h, static_cast<int>(residuals), static_cast<int>(engine_.group_of(set))},
                trials_.stream());
  }
  cuda::enqueue_behind(trials_.stream(), stream_, tried_);
  blas_.multiply_vector({.rows = static_cast<int>(residuals_),
                         .cols = static_cast<int>(size()),
                         .stride = static_cast<int>(stride_),
                         .transpose = true},
                        rows_.data(), w_.data(), v_.data());
  return {v_.data(), stream_};
}

double CudaJacobian::finish(cudaStream_t after, std::span<double> Jtr, std::span<double> values) {
  cuda::enqueue_behind(after, trials_.stream(), tried_);
  trials_.enqueue_values(values.size());
  cuda::check(cudaStreamSynchronize(trials_.stream()));
  trials_.read_values(values);
  return read_normal(Jtr);
}

void CudaJacobian::gram_matrix(std::span<const double> x, double* JJt, std::span<double> r) {
  const int n = static_cast<int>(engine_.layout.size()), stride = static_cast<int>(stride_);
  const std::size_t row = cuda::row_stride(r.size());  // of J J^T
  const int m = static_cast<int>(row);
  cuda::Memory<double> before;  // a chunk of earlier rows
  for_chunks(x, [&](const double* J, std::size_t first, std::size_t count) {
    const int rows = static_cast<int>(count);
    blas_.square({.n = rows, .k = n, .of_rows = true}, J, stride, JJt + first * row + first, m);
    if (first > 0 && !whole() && before.size() == 0) before = cuda::Memory<double>(chunk_ * stride_);
    for (std::size_t i = 0; bounds_[i] < first; ++i) {
      const std::size_t earlier = bounds_[i], count_before = bounds_[i + 1] - earlier;
      if (!whole()) write(earlier, count_before, before.data());
      blas_.multiply<double>({.m = static_cast<int>(count_before), .n = rows, .k = n, .transpose_b = true},
                             whole() ? place_of(earlier) : before.data(), stride, J, stride,
                             JJt + earlier * row + first, m);
      stream_.synchronize();
    }
  });
  r_.download(r);
}

namespace {

// Our upper triangle, mirrored for those who read the lower one on the host.
void download_mirrored(const cuda::Memory<double>& matrix, std::size_t n, double* to) {
  optim::download_rows(matrix.data(), n, n, to);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) to[i * n + j] = to[j * n + i];
}

}  // namespace

double CudaJacobian::normal_equations(std::span<const double> x, double* JtJ, std::span<double> Jtr) {
  const cuda::Memory<double> matrix(size() * stride_);
  const double value = normal_matrix(x, matrix.data(), Jtr, [](cudaStream_t) {});
  download_mirrored(matrix, size(), JtJ);
  return value;
}

void CudaJacobian::residual_gram(std::span<const double> x, double* JJt, std::span<double> r) {
  const cuda::Memory<double> matrix(r.size() * cuda::row_stride(r.size()));
  gram_matrix(x, matrix.data(), r);
  download_mirrored(matrix, r.size(), JJt);
}

std::unique_ptr<optim::NormalMatrix> CudaJacobian::make_normal_matrix(std::size_t dimension) {
  make_room();
  return optim::make_device_normal_matrix(*this, dimension);
}
std::unique_ptr<optim::OrthogonalFactor> CudaJacobian::make_orthogonal_factor() {
  make_room();
  return optim::make_device_orthogonal_factor(*this, size());
}
double CudaJacobian::orthogonal_factor_bytes() const { return optim::device_orthogonal_factor_bytes(size()); }
std::unique_ptr<optim::OrthogonalFactor> CudaJacobian::make_sketched_factor(const optim::Sketch& sketch) {
  make_room();
  return optim::make_device_sketched_factor(*this, sketch);
}
double CudaJacobian::sketched_factor_bytes(std::size_t columns, std::size_t rows) const {
  return optim::device_sketched_factor_bytes(columns, rows);
}
std::unique_ptr<optim::VectorBlocks> CudaJacobian::make_vector_blocks(std::size_t count) {
  make_room();
  return optim::make_device_vector_blocks(*this, count, size(), team());
}
// J takes its share of what the matrices leave free.
void CudaJacobian::make_room() {
  residuals_ = 0;
  rows_ = {};
}

void CudaJacobian::visit_rows(std::span<const double> x, const RowVisitor& visit) {
  for_chunks(x, [&](const double* J, std::size_t first, std::size_t count) {
    stream_.synchronize();  // the visitor has a stream of its own
    visit(J, r_.data() + first, count);
  });
}

void CudaJacobian::jacobian_rows(std::span<const double> x, std::size_t first, std::size_t count,
                                 double* rows) {
  const std::size_t n = engine_.layout.size();
  if (prepare(x)) return optim::download_rows(rows_.data() + first * stride_, count, n, rows);
  for (std::size_t done = 0; done < count; done += chunk_) {
    const std::size_t part = std::min(chunk_, count - done);
    write(first + done, part, rows_.data());
    stream_.synchronize();
    optim::download_rows(rows_.data(), part, n, rows + done * n);
  }
  kept_ = count == residuals_ && chunk_ == residuals_;
}

void CudaJacobian::normal_diagonal(std::span<const double> x, std::span<double> diagonal) {
  v_.upload(std::vector<double>(diagonal.size()));
  for_chunks(x, [&](const double* J, std::size_t, std::size_t count) {
    launch_flat(squares_kernel_, diagonal.size(),
                ColumnSquaresKernelArgs{J, v_.data(), static_cast<long long>(diagonal.size()),
                                        static_cast<long long>(stride_), static_cast<int>(count), 0},
                stream_);
  });
  v_.download(diagonal);
}

void CudaJacobian::jacobian_times(std::span<const double> x, std::span<const double> v,
                                  std::span<double> Jv) {
  const int n = static_cast<int>(v.size());
  v_.upload(v);
  for_chunks(x, [&](const double* J, std::size_t first, std::size_t count) {
    blas_.multiply_vector({.rows = static_cast<int>(count), .cols = n, .stride = static_cast<int>(stride_)},
                          J, v_.data(), w_.data() + first);
  });
  w_.download(Jv);
}

optim::DeviceJacobian::Enqueued CudaJacobian::enqueue_transposed_times(std::span<const double> x,
                                                                       std::span<const double> w) {
  const int n = static_cast<int>(engine_.layout.size());
  choose_chunks(w.size());
  std::copy(w.begin(), w.end(), host_r());
  cuda::check(cudaMemcpyAsync(w_.data(), host_r(), w_.bytes(), cudaMemcpyHostToDevice, stream_));
  enqueue_chunks(x, [&](const double* J, std::size_t first, std::size_t count) {
    blas_.multiply_vector({.rows = static_cast<int>(count),
                           .cols = n,
                           .stride = static_cast<int>(stride_),
                           .transpose = true,
                           .beta = first > 0 ? 1.0 : 0.0},
                          J, w_.data() + first, v_.data());
  });
  return {v_.data(), stream_};
}

void CudaJacobian::transposed_jacobian_times(std::span<const double> x, std::span<const double> w,
                                             std::span<double> Jtw) {
  enqueue_transposed_times(x, w);
  enqueue_copy(v_, host_v());
  stream_.synchronize();
  std::copy_n(host_v(), Jtw.size(), Jtw.begin());
}

}  // namespace lather::pde
