#include "lather/pde/cuda_jacobian_cuda.hpp"

#include <algorithm>

#include "lather/core/error.hpp"
#include "lather/pde/layer_blocks.hpp"

namespace lather::pde {

namespace {

constexpr std::size_t kChunkBytes = std::size_t(1) << 30;
constexpr std::size_t kChunkPoints = 8192;

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
    : engine_(&engine), addresses_(addresses), scales_(&scales), passes_(engine.sets.size()), blas_(stream_) {
  const std::size_t parameters = engine.layout.size();
  chunk_ = std::clamp<std::size_t>(kChunkBytes / (8 * parameters), 256, kChunkPoints);
  module_ = std::make_unique<cuda::KernelModule>(kKernel);
  kernel_ = module_->kernel("jacobian_rows");
  rows_ = cuda::Memory<double>(chunk_ * parameters);
  product_ = cuda::Memory<double>(parameters);
  stale_.assign(engine.sets.size(), true);
}

void CudaJacobian::points_changed(int set) { stale_[set] = true; }

void CudaJacobian::add_rows(int term, std::size_t batch, std::size_t first_residual, double* JtJ) {
  CudaPass<double>& pass = *passes_[engine_->problem.terms[term].point_set];
  const auto& piece = pass.piece(batch, 0);
  pass.enqueue_batch(batch);
  cuda::check(cudaStreamSynchronize(pass.stream()));
  const std::vector<LayerBlocks> blocks = layers_by_weight_block(*engine_);
  const auto size = static_cast<int>(engine_->layout.size());
  for (const auto& layer : pass.layers(batch)) {
    const auto block = static_cast<std::size_t>(engine_->tape.operations()[layer.operation].dense->weight.block);
    const LayerBlocks& l = blocks[block];
    const RowWork work{layer.in,
                       layer.out_bar,
                       root_weights_.data() + first_residual + piece.point,
                       rows_.data(),
                       size,
                       static_cast<long long>(l.weight->offset),
                       l.bias ? static_cast<long long>(l.bias->offset) : -1,
                       piece.points,
                       pass.components(0),
                       static_cast<int>(layer.in_stride),
                       static_cast<int>(layer.out_stride),
                       static_cast<int>(l.weight->rows),
                       static_cast<int>(l.weight->cols)};
    cuda::launch(kernel_, {dim3(static_cast<unsigned>(piece.points)), dim3(256)}, cuda::Parameter().add(work),
                 stream_);
  }
  blas_.multiply<double>({.m = size, .n = size, .k = piece.points, .transpose_a = true, .beta = 1}, rows_.data(),
                         size, rows_.data(), size, JtJ, size);
  blas_.multiply<double>({.m = size, .n = 1, .k = piece.points, .transpose_a = true, .beta = 1}, rows_.data(),
                         size, residuals_.data() + first_residual + piece.point, 1, product_.data(), 1);
  cuda::check(cudaStreamSynchronize(stream_));  // the next batch reuses the signals
}

void CudaJacobian::normal_equations(std::span<const double> r, std::span<const double> root_weights, double* JtJ,
                                    std::span<double> Jtr) {
  const std::size_t parameters = engine_->layout.size();
  if (residuals_.size() != r.size()) {
    residuals_ = cuda::Memory<double>(r.size());
    root_weights_ = cuda::Memory<double>(r.size());
  }
  residuals_.upload(r);
  root_weights_.upload(root_weights);
  cuda::check(cudaMemsetAsync(JtJ, 0, parameters * parameters * sizeof(double), stream_));
  cuda::check(cudaMemsetAsync(product_.data(), 0, product_.bytes(), stream_));
  cuda::check(cudaStreamSynchronize(stream_));
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
                          .batch_rows = chunk_ * engine_->sets[set].jets.size()});
    if (stale_[set]) pass->set_points(0, engine_->points[set]);
    stale_[set] = false;
    std::vector<double> only(engine_->problem.terms.size(), 0.0);
    only[engine_->place_in_set[k]] = 1;
    scales_->upload(only);
    for (std::size_t b = 0; b < pass->batches(); ++b) add_rows(static_cast<int>(k), b, first, JtJ);
    first += engine_->points[set].count();
  }
  product_.download(Jtr);
}

}  // namespace lather::pde
