// The emulated device is no kinder than a GPU to code that forgets to wait.
#include <gtest/gtest.h>

#include "emulator.hpp"
#include "lather/core/cuda/runtime.hpp"

namespace lather::cuda {
namespace {

void copy(double* to, const double* from, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, sizeof(double), cudaMemcpyDefault, stream));
}

TEST(EmulatedStreams, DoNothingBeforeTheHostWaits) {
  const Stream stream, other;
  const PinnedMemory<double> from(1), to(1);
  from[0] = 1;
  to[0] = 0;
  copy(to.data(), from.data(), stream);
  EXPECT_EQ(to[0], 0);
  from[0] = 2;  // too early: the copy has not been made
  stream.synchronize();
  EXPECT_EQ(to[0], 2);
}

TEST(EmulatedStreams, KeepAnOrderWhereEventsMakeOne) {
  constexpr int kTimes = 60;
  const Stream first, second;
  const Event event;
  const PinnedMemory<double> from(1), between(1), to(1);
  from[0] = 1;
  int old = 0;
  for (const bool waits : {true, false})
    for (int i = 0; i < kTimes; ++i) {
      between[0] = to[0] = 0;
      copy(between.data(), from.data(), first);
      if (waits) enqueue_behind(first, second, event);
      copy(to.data(), between.data(), second);
      first.synchronize();
      second.synchronize();
      if (waits)
        ASSERT_EQ(to[0], 1);
      else
        old += to[0] == 0;
    }
  EXPECT_GT(old, kTimes / 5);
  EXPECT_LT(old, kTimes * 4 / 5);
}

TEST(EmulatedStreams, KeepAnOrderInGraphsToo) {
  constexpr int kTimes = 60;
  const Stream first, second;
  const Event fork, join;
  const PinnedMemory<double> from(1), between(1), to(1), last(1);
  from[0] = 1;
  int old = 0;
  for (int i = 0; i < kTimes; ++i) {
    const Graph graph(first, [&] {
      enqueue_behind(first, second, fork);
      copy(between.data(), from.data(), second);
      copy(to.data(), between.data(), first);  // has not waited
      enqueue_behind(second, first, join);
      copy(last.data(), between.data(), first);
    });
    EXPECT_EQ(graph.nodes(), 3);
    between[0] = to[0] = last[0] = 0;
    graph.launch(first);
    first.synchronize();
    old += to[0] == 0;
    ASSERT_EQ(last[0], 1);
  }
  EXPECT_GT(old, 0);
}

TEST(EmulatedStreams, RefuseWhatACaptureCannotHold) {
  const Stream first, second;
  const Event event;
  const PinnedMemory<double> from(1), to(1);
  const auto forgets_to_join = [&] {
    enqueue_behind(first, second, event);
    copy(to.data(), from.data(), second);
  };
  const auto waits_for_outsiders = [&] { enqueue_behind(second, first, event); };
  const auto waits_on_the_host = [&] { first.synchronize(); };
  EXPECT_ANY_THROW(Graph(first, forgets_to_join));
  EXPECT_ANY_THROW(Graph(first, waits_for_outsiders));
  EXPECT_ANY_THROW(Graph(first, waits_on_the_host));
}

TEST(EmulatedStreams, AreFinishedBeforeMemoryGoes) {
  const Stream stream;
  const PinnedMemory<double> from(1), to(1);
  from[0] = 1;
  to[0] = 0;
  copy(to.data(), from.data(), stream);
  { const Memory<double> other(1); }
  EXPECT_EQ(to[0], 1);
}

}  // namespace
}  // namespace lather::cuda
