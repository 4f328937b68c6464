// The cost of summing a gradient over ranks by NCCL inside a CUDA graph: --reduction nccl and nccl-sum. With
// one rank, which sends to itself: the least that several pay.
//   bench_nccl_cuda [RANKS]      default: 1; every rank needs a GPU
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "lather/core/gpu_choice.hpp"
#include "lather/parallel/local_ranks.hpp"
#include "lather/parallel/nccl_report.hpp"
#include "lather/pde/cuda/nccl_sum.hpp"

namespace {

using namespace lather;

constexpr int kSumsPerGraph = 20;

// Microseconds per sum that `enqueue` puts into a graph; the median of 20 replays.
template <class Enqueue>
double time_in_graph(const cuda::Stream& stream, const Enqueue& enqueue) {
  enqueue();
  stream.synchronize();
  const cuda::Graph graph(stream, [&] {
    for (int i = 0; i < kSumsPerGraph; ++i) enqueue();
  });
  const cuda::Event begin(true), end(true);
  std::vector<float> times;
  for (int i = 0; i < 23; ++i) {
    cuda::check(cudaEventRecord(begin, stream));
    graph.launch(stream);
    cuda::check(cudaEventRecord(end, stream));
    stream.synchronize();
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, begin, end));
    if (i >= 3) times.push_back(milliseconds * 1e3f / kSumsPerGraph);
  }
  std::nth_element(times.begin(), times.begin() + 10, times.end());
  return times[10];
}

void measure(parallel::Communicator& ranks) {
  const auto shards = static_cast<std::size_t>(ranks.size());
  const cuda::Stream stream;
  const bool speaks = ranks.rank() == 0;
  if (speaks)
    fmt::print("{}, ranks: {}; in a graph of {}, us\n{:>10} {:>8} {:>8} {:>10}\n", parallel::nccl_report(),
               ranks.size(), kSumsPerGraph, "doubles", "copy", "nccl", "nccl-sum");
  for (const std::size_t n : {13000, 50000, 200000, 1000000, 16000000}) {
    std::vector<double> numbers(n), result(n);
    for (std::size_t i = 0; i < n; ++i) numbers[i] = (ranks.rank() + 1) * static_cast<double>(i % 1000);
    cuda::Memory<double> given(n), gradient(n);
    given.upload(numbers);
    const auto copy = [&] {
      cuda::check(
          cudaMemcpyAsync(gradient.data(), given.data(), given.bytes(), cudaMemcpyDeviceToDevice, stream));
    };
    const double alone = time_in_graph(stream, copy);
    double with_sum[2];
    for (int k = 0; k < 2; ++k) {
      ranks.set_reduction(k == 0 ? parallel::Reduction::nccl : parallel::Reduction::nccl_sum);
      const pde::NcclSum sum(ranks, parallel::ShardPlan(shards, ranks.size()), n);
      double* const own[] = {gradient.data()};
      with_sum[k] = time_in_graph(stream, [&] {
        copy();
        sum.enqueue(own, gradient.data(), n, stream);
      });
      gradient.download(result);
      const double weight = ranks.size() * (ranks.size() + 1) / 2;
      for (std::size_t i = 0; i < n; ++i)
        if (result[i] != weight * static_cast<double>(i % 1000))
          throw std::runtime_error(fmt::format("wrong sum at {}: {}", i, result[i]));
    }
    if (speaks)
      fmt::print("{:>10} {:>8.2f} {:>8.2f} {:>10.2f}\n", n, alone, with_sum[0] - alone, with_sum[1] - alone);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto ranks = parallel::fork_ranks(argc > 1 ? std::atoi(argv[1]) : 1);
  int status = 0;
  try {
    use_gpu(ranks->rank());
    cuda::require_device();
    measure(*ranks);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_nccl_cuda: rank {}: {}\n", ranks->rank(), error.what());
    status = 1;
  }
  std::fflush(nullptr);
  if (ranks->rank() != 0) ::_exit(status);
  return status;
}
