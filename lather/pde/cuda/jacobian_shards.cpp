// J^T J as a sum over shards of the rows of J, along the tree of parallel/shards.hpp: a matrix per shard, added
// to its neighbour's as soon as both are ready, on the device; what is left on every rank goes through the
// host, or from GPU to GPU by NCCL.
#include <algorithm>
#include <map>
#include <numeric>

#include "lather/pde/cuda/jacobian.hpp"
#include "lather/pde/cuda/kernels/shard_arguments.cuh"

namespace lather::pde {

namespace {

// Numbers of a matrix that NCCL adds up at a time: its memory stays small compared with the matrix.
constexpr std::size_t kNcclNumbers = std::size_t{1} << 24;

// Upper triangles, row after row.
void pack_upper(const std::vector<double>& matrix, std::size_t n, double* to) {
  const std::size_t stride = cuda::row_stride(n);
  for (std::size_t i = 0; i < n; ++i) to = std::copy_n(matrix.data() + i * stride + i, n - i, to);
}
void unpack_upper(const double* from, std::size_t n, std::vector<double>& matrix) {
  const std::size_t stride = cuda::row_stride(n);
  for (std::size_t i = 0; i < n; from += n - i, ++i) std::copy_n(from, n - i, matrix.data() + i * stride + i);
}

}  // namespace

// By shard, until they are added to others.
struct CudaJacobian::ShardMatrices {
  std::size_t first_shard;  // of this rank
  double* first;            // its matrix, and in the end the total
  std::map<std::size_t, cuda::Memory<double>> others = {};
  std::map<std::size_t, std::vector<double>> vectors = {};  // J^T r
  double* matrix(std::size_t shard) { return shard == first_shard ? first : others.at(shard).data(); }
};

double CudaJacobian::sum_over_shards(std::span<const double> x, double* JtJ, std::span<double> Jtr) {
  if (!shards_module_)
    shards_module_ =
        std::make_unique<cuda::KernelModule>("#include \"lather/pde/cuda/kernels/shards.cuh\"\n");
  double value = 0;
  engine_.with_ranks([&] {
    parallel::Communicator* const ranks = engine_.alone() ? nullptr : engine_.options.ranks;
    const parallel::ShardPlan plan(engine_.options.shards, ranks ? ranks->size() : 1);
    const IndexRange own = plan.of(ranks ? ranks->rank() : 0);
    ShardMatrices sums{own.begin, JtJ};
    add_own_shards(x, own, sums);
    std::vector<double> r(residuals_);
    r_.download(r);
    if (ranks) {
      if (ranks->reduction() == parallel::Reduction::host)
        sum_over_ranks(plan, sums);
      else
        sum_by_nccl(plan, sums);
      std::vector<std::size_t> bounds;
      for (int p = 0; p < ranks->size(); ++p) bounds.push_back(bounds_[plan.of(p).begin]);
      bounds.push_back(residuals_);
      ranks->gather(std::span(r), bounds);
    }
    std::copy_n(sums.vectors[own.begin].begin(), Jtr.size(), Jtr.begin());
    value = std::inner_product(r.begin(), r.end(), r.begin(), 0.0);
    for (auto& [shard, matrix] : sums.others) spare_matrices_.push_back(std::move(matrix));
  });
  return value;
}

void CudaJacobian::add_own_shards(std::span<const double> x, IndexRange own, ShardMatrices& sums) {
  const std::size_t size = engine_.layout.size();
  const int n = static_cast<int>(size), stride = static_cast<int>(stride_);
  const bool ready = prepare(x);
  const auto add = [&](std::size_t a, std::size_t b) {
    if (!sums.vectors.contains(b)) return;  // added before
    const AddTriangleKernelArgs work{sums.matrix(a), sums.matrix(b), n, stride};
    cuda::launch(shards_module_->kernel("add_triangle"),
                 {dim3(std::min(static_cast<unsigned>(n), 65535u)), dim3(256)}, cuda::Parameter().add(work),
                 stream_);
    for (std::size_t i = 0; i < size; ++i) sums.vectors[a][i] += sums.vectors[b][i];
    stream_.synchronize();
    spare_matrices_.push_back(std::move(sums.others.at(b)));
    sums.others.erase(b);
    sums.vectors.erase(b);
  };
  for (std::size_t s = own.begin; s < own.end; ++s) {
    const std::size_t first = bounds_[s];
    const int m = static_cast<int>(bounds_[s + 1] - first);
    if (!ready) write(first, m, place_of(first));
    sums.vectors[s].resize(size);
    if (s > own.begin) {
      if (spare_matrices_.empty()) spare_matrices_.emplace_back(size * stride_);
      sums.others[s] = std::move(spare_matrices_.back());
      spare_matrices_.pop_back();
    }
    blas_.square({.n = n, .k = m}, place_of(first), stride, sums.matrix(s), stride);
    blas_.multiply<double>({.m = n, .n = 1, .k = m, .transpose_a = true}, place_of(first), stride,
                           r_.data() + first, 1, v_.data(), 1);
    stream_.synchronize();
    v_.download(sums.vectors[s]);
    parallel::add_along_tree(bounds_.size() - 1, own.begin, s + 1, add);
  }
  kept_ = whole() && engine_.alone();
}

void CudaJacobian::sum_over_ranks(const parallel::ShardPlan& plan, ShardMatrices& sums) {
  const std::size_t n = engine_.layout.size(), triangle = n * (n + 1) / 2;
  std::vector<double> matrix(n * stride_);
  std::vector<std::vector<double>> pieces;
  for (auto& [shard, vector] : sums.vectors) {
    cuda::check(
        cudaMemcpy(matrix.data(), sums.matrix(shard), n * stride_ * sizeof(double), cudaMemcpyDeviceToHost));
    auto& piece = pieces.emplace_back(triangle + n);
    pack_upper(matrix, n, piece.data());
    std::copy(vector.begin(), vector.end(), piece.begin() + static_cast<std::ptrdiff_t>(triangle));
  }
  const auto total = piece_sum_.sum(*engine_.options.ranks, plan, triangle + n,
                                    [&](std::size_t piece, std::size_t begin, std::size_t count, double* to) {
                                      std::copy_n(pieces[piece].data() + begin, count, to);
                                    });
  unpack_upper(total.data(), n, matrix);
  cuda::check(cudaMemcpy(sums.first, matrix.data(), n * stride_ * sizeof(double), cudaMemcpyHostToDevice));
  cuda::check(cudaStreamSynchronize(nullptr));
  const auto vector = total.subspan(triangle);
  sums.vectors[sums.first_shard].assign(vector.begin(), vector.end());
}

// Whole matrices: the triangle that nobody reads is sent along. J^T r, which is on the host, stays there.
void CudaJacobian::sum_by_nccl(const parallel::ShardPlan& plan, ShardMatrices& sums) {
  parallel::Communicator& ranks = *engine_.options.ranks;
  const std::size_t n = engine_.layout.size(), numbers = n * stride_;
  if (!nccl_) nccl_ = std::make_unique<NcclSum>(ranks, plan, std::min(numbers, kNcclNumbers));
  nccl_->ranks().watched([&] {
    for (std::size_t first = 0; first < numbers; first += kNcclNumbers) {
      std::vector<double*> own;
      for (const auto& [shard, vector] : sums.vectors) own.push_back(sums.matrix(shard) + first);
      nccl_->enqueue(own, sums.first + first, std::min(numbers - first, kNcclNumbers), stream_);
    }
    stream_.synchronize();
  });
  std::vector<std::vector<double>> pieces;
  for (auto& [shard, vector] : sums.vectors) pieces.push_back(vector);
  const auto total = piece_sum_.sum(ranks, plan, n,
                                    [&](std::size_t piece, std::size_t begin, std::size_t count, double* to) {
                                      std::copy_n(pieces[piece].data() + begin, count, to);
                                    });
  sums.vectors[sums.first_shard].assign(total.begin(), total.end());
}

// Includes the matrices of shards that one process holds at the same time: the same on any number of ranks,
// so that they choose the same form.
double CudaJacobian::normal_matrix_bytes(std::size_t dimension) const {
  std::size_t of_shards = 0;
  for (int s = 1; dimension == size() && s < engine_.options.shards; ++s)
    of_shards = std::max(of_shards, parallel::piece_heads(engine_.options.shards, 0, s).size());
  return optim::device_normal_matrix_bytes(dimension) + static_cast<double>(of_shards) *
                                                            static_cast<double>(dimension) *
                                                            static_cast<double>(stride_) * sizeof(double);
}

// Ranks on one machine may share a GPU: each may count on its part of what is free, and all on the smallest.
double CudaJacobian::available_bytes() const {
  std::size_t free = 0, total = 0;
  int devices = 1;
  cuda::check(cudaMemGetInfo(&free, &total));
  cuda::check(cudaGetDeviceCount(&devices));
  auto bytes = static_cast<double>(free + rows_.bytes());  // rows make room for a matrix
  engine_.with_ranks([&] {
    if (engine_.alone()) return;
    parallel::Communicator& ranks = *engine_.options.ranks;
    const auto all = ranks.all_of(bytes / ((ranks.local_size() + devices - 1) / devices));
    bytes = *std::min_element(all.begin(), all.end());
  });
  return bytes;
}

}  // namespace lather::pde
