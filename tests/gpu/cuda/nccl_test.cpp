// NCCL with one rank, inside a graph. Several ranks need several GPUs: tests/cuda_emulator/ranks_test.cpp.
#include <gtest/gtest.h>

#include <numeric>

#include "gpu/require_gpu.hpp"
#include "lather/parallel/cuda/nccl_ranks.hpp"
#include "lather/parallel/local_ranks.hpp"
#include "lather/parallel/nccl_report.hpp"

namespace lather::parallel {
namespace {

TEST(NcclOnTheDevice, OneRankSendsToItselfAndAddsUpInsideAGraph) {
  REQUIRE_GPU();
  if (const auto report = nccl_report();
      report.find("NCCL ") != 0 || report.find("found") != std::string::npos)
    GTEST_SKIP() << report;
  constexpr std::size_t kCount = 5000;
  static const auto one = fork_ranks(1);  // NCCL's handle keeps it
  const NcclRanks& ranks = NcclRanks::of(*one);
  cuda::Memory<double> first(kCount), second(kCount), third(kCount);
  const cuda::Stream stream;
  const auto enqueue = [&] {
    const NcclRanks::Send sends[] = {{first.data(), kCount - 7, 0}, {first.data() + kCount - 7, 7, 0}};
    const NcclRanks::Receive receives[] = {{second.data() + 7, kCount - 7, 0}, {second.data(), 7, 0}};
    ranks.enqueue_exchange(sends, receives, stream);
    ranks.enqueue_sum(second.data(), third.data(), kCount, stream);
  };
  enqueue();  // connections are set up outside captures
  stream.synchronize();
  const cuda::Graph graph(stream, enqueue);
  for (const double start : {0.5, 100.25}) {
    std::vector<double> numbers(kCount), result(kCount);
    std::iota(numbers.begin(), numbers.end(), start);
    first.upload(numbers);
    graph.launch(stream);
    stream.synchronize();
    third.download(result);
    std::rotate(numbers.begin(), numbers.end() - 7, numbers.end());
    EXPECT_EQ(result, numbers);
  }
}

}  // namespace
}  // namespace lather::parallel
