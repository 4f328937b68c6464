#include "lather/pde/cuda_jacobian_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/core/error.hpp"
#include "lather/pde/layer_blocks.hpp"

namespace lather::pde {

namespace {

constexpr std::size_t kBatchPoints = 8192;

// One layer's part of the rows of J: row p is root weight * sum_c in_cp out_bar_cp^T, and the bias.
struct RowWork {
  const double *in, *out_bar, *root_weights;
  double* rows;
  long long size, weight, bias;  // parameters; where the layer's begin, -1: no bias
  int points, components, in_stride, out_stride, inputs, outputs;
};

constexpr const char* kKernel = R"(
struct RowWork {
  const double *in, *out_bar, *root_weights;
  double* rows;
  long long size, weight, bias;
  int points, components, in_stride, out_stride, inputs, outputs;
};

extern "C" __global__ void __launch_bounds__(256) jacobian_rows(const __grid_constant__ RowWork w) {
  for (int p = blockIdx.x; p < w.points; p += gridDim.x) {
    double* row = w.rows + p * w.size;
    const double scale = w.root_weights[p];
    for (int e = threadIdx.x; e < w.inputs * w.outputs; e += 256) {
      const int i = e / w.outputs, j = e % w.outputs;
      double sum = 0;
      for (int c = 0; c < w.components; ++c) {
        const long long at = (long long)c * w.points + p;
        sum += w.in[at * w.in_stride + i] * w.out_bar[at * w.out_stride + j];
      }
      row[w.weight + e] = scale * sum;
    }
    if (w.bias >= 0)
      for (int j = threadIdx.x; j < w.outputs; j += 256) row[w.bias + j] = scale * w.out_bar[(long long)p * w.out_stride + j];
  }
}
)";

}  // namespace

CudaJacobian::CudaJacobian(Engine& engine, const CudaAddresses& addresses, cuda::Memory<double>& scales)
    : engine_(&engine),
      addresses_(addresses),
      scales_(&scales),
      passes_(engine.sets.size()),
      stale_(engine.sets.size(), true),
      product_(engine.layout.size()),
      blas_(stream_) {
  const bool has_scalars =
      std::any_of(engine.tape.operations().begin(), engine.tape.operations().end(),
                  [](const auto& o) { return o.pointwise && !o.pointwise->scalars.empty(); });
  if (has_scalars || !engine.problem.unknowns.empty() || engine.problem.network.weight_factorization)
    throw Error(
        "the Jacobian of unknowns, factorized weights and PirateNet's alphas is available on the CPU only "
        "(--device cpu)");
  module_ = std::make_unique<cuda::KernelModule>(kKernel);
  kernel_ = module_->kernel("jacobian_rows");
}

void CudaJacobian::points_changed(int set) { stale_[set] = true; }

void CudaJacobian::write_rows(int term, std::size_t batch, std::size_t first_residual) {
  CudaPass<double>& pass = *passes_[engine_->problem.terms[term].point_set];
  const auto& piece = pass.piece(batch, 0);
  pass.enqueue_batch(batch);
  const auto blocks = layers_by_weight_block(*engine_);
  const std::size_t parameters = engine_->layout.size(), first = first_residual + piece.point;
  for (const auto& layer : pass.layers(batch)) {
    const auto block =
        static_cast<std::size_t>(engine_->tape.operations()[layer.operation].dense->weight.block);
    const LayerBlocks& l = blocks[block];
    const RowWork work{layer.in,
                       layer.out_bar,
                       root_weights_.data() + first,
                       rows_.data() + first * parameters,
                       static_cast<long long>(parameters),
                       static_cast<long long>(l.weight->offset),
                       l.bias ? static_cast<long long>(l.bias->offset) : -1,
                       piece.points,
                       pass.components(0),
                       static_cast<int>(layer.in_stride),
                       static_cast<int>(layer.out_stride),
                       static_cast<int>(l.weight->rows),
                       static_cast<int>(l.weight->cols)};
    cuda::launch(kernel_, {dim3(static_cast<unsigned>(piece.points)), dim3(256)}, cuda::Parameter().add(work),
                 pass.stream());
  }
  cuda::check(cudaStreamSynchronize(pass.stream()));  // the next term changes the scales
}

void CudaJacobian::compute(std::span<const double> root_weights) {
  const std::size_t parameters = engine_->layout.size(), residuals = root_weights.size();
  if (rows_.size() != residuals * parameters) {
    rows_ = {};
    std::size_t free = 0, total = 0;
    cuda::check(cudaMemGetInfo(&free, &total));
    if (residuals * parameters * sizeof(double) > free / 4 * 3)
      throw Error(
          fmt::format("device cuda: the Jacobian of {} residuals by {} parameters takes {:.1f} GiB, {:.1f} "
                      "GiB are free; use "
                      "fewer points or a smaller network",
                      residuals, parameters, static_cast<double>(residuals * parameters) / (1 << 27),
                      static_cast<double>(free) / (1 << 30)));
    rows_ = cuda::Memory<double>(residuals * parameters);
    root_weights_ = cuda::Memory<double>(residuals);
    w_ = cuda::Memory<double>(residuals);
  }
  root_weights_.upload(root_weights);
  std::size_t first = 0;
  for (std::size_t k = 0; k < engine_->problem.terms.size(); ++k) {
    const int set = engine_->problem.terms[k].point_set;
    auto& pass = passes_[set];
    if (!pass)
      pass = std::make_unique<CudaPass<double>>(
          engine_->tape, std::vector<const CompiledSet*>{&engine_->sets[set]}, 0, addresses_,
          CudaPassOptions{.absorb = false,
                          .signals = true,
                          .overlap = false,
                          .batch_rows = kBatchPoints * engine_->sets[set].jets.size()});
    if (stale_[set]) pass->set_points(0, engine_->points[set]);
    stale_[set] = false;
    std::vector<double> only(engine_->problem.terms.size(), 0.0);
    only[engine_->place_in_set[k]] = 1;
    scales_->upload(only);
    for (std::size_t b = 0; b < pass->batches(); ++b) write_rows(static_cast<int>(k), b, first);
    first += engine_->points[set].count();
  }
}

void CudaJacobian::normal_matrix(double* JtJ) {
  const int size = static_cast<int>(engine_->layout.size()), residuals = static_cast<int>(w_.size());
  blas_.multiply<double>({.m = size, .n = size, .k = residuals, .transpose_a = true}, rows_.data(), size,
                         rows_.data(), size, JtJ, size);
  stream_.synchronize();
}

void CudaJacobian::transposed_times(std::span<const double> w, std::span<double> Jtw) {
  const int size = static_cast<int>(engine_->layout.size());
  w_.upload(w);
  blas_.multiply<double>({.m = size, .n = 1, .k = static_cast<int>(w.size()), .transpose_a = true},
                         rows_.data(), size, w_.data(), 1, product_.data(), 1);
  stream_.synchronize();
  product_.download(Jtw);
}

}  // namespace lather::pde
