// Work that is asked to stop ends with Interrupted, in every thread that works for it and in no other.
#include "lather/core/interrupt.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "lather/core/threads.hpp"

namespace lather {
namespace {

bool throws_here() {
  try {
    poll_stop();
    return false;
  } catch (const Interrupted&) {
    return true;
  }
}

TEST(Stop, EndsWorkOfItsScopeAloneAndOnlyWhenItIsDue) {
  Stop stop;
  EXPECT_FALSE(throws_here());
  {
    const StopScope scope(stop);
    EXPECT_FALSE(throws_here());
    stop.end_in(0);
    EXPECT_TRUE(throws_here());
    EXPECT_FALSE(stop.asked());  // a time that is over asks nothing
    Stop inner;
    const StopScope nested(inner);
    EXPECT_TRUE(throws_here());
    {
      const auto alone = StopScope::only(nullptr);
      EXPECT_FALSE(throws_here());
    }
    stop.withdraw();
    EXPECT_FALSE(throws_here());
    inner.end_in(0);
  }
  EXPECT_FALSE(throws_here());
}

TEST(Stop, LetsShortWorkEndUnlessAskedAgain) {
  Stop stop;
  const StopScope scope(stop);
  EXPECT_FALSE(stop.ask());
  EXPECT_TRUE(stop.asked());
  EXPECT_TRUE(stop_is_asked());
  EXPECT_FALSE(throws_here());  // within the grace
  EXPECT_FALSE(stop.ask());     // so soon, it is the same request
  while (!throws_here()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(stop.ask());
}

TEST(Stop, HearsAnotherOneAndAFlag) {
  std::int32_t flag = 0;
  Stop other, stop(&other, &flag);
  EXPECT_FALSE(stop.asked());
  flag = 1;
  EXPECT_TRUE(stop.asked());
  EXPECT_FALSE(other.asked());
  flag = 0;
  other.end_in(0);
  EXPECT_TRUE(stop.is_due());
}

TEST(ThreadTeam, WorksUnderTheStopOfItsCaller) {
  ThreadTeam team(3);
  Stop stop;
  stop.end_in(0);
  std::atomic<int> thrown = 0;
  const auto count = [&](int) { thrown += throws_here(); };
  team.run(count);
  EXPECT_EQ(thrown, 0);
  {
    const StopScope scope(stop);
    team.run(count);
    EXPECT_EQ(thrown, 3);
    EXPECT_THROW(team.run([](int) { poll_stop(); }), Interrupted);
  }
  team.run(count);
  EXPECT_EQ(thrown, 3);
}

TEST(Aside, GivesTheResultOrLeavesTheWorkBehind) {
  EXPECT_EQ(aside([] { return 7; }), 7);
  Stop stop;
  const StopScope scope(stop);
  EXPECT_EQ(aside([] { return 7; }), 7);
  EXPECT_THROW(aside([]() -> int { throw std::runtime_error("failed"); }), std::runtime_error);
  struct Shared {
    std::atomic<bool> goes_on = true, ended = false;
  };
  const auto shared = std::make_shared<Shared>();
  stop.end_in(0.05);  // so that it has begun
  EXPECT_THROW(aside([shared] {
                 while (shared->goes_on) std::this_thread::yield();
                 shared->ended = true;
                 return 0;
               }),
               Interrupted);
  shared->goes_on = false;
  while (!shared->ended) std::this_thread::yield();
  EXPECT_THROW(aside([] { return 7; }), Interrupted);  // not begun
}

}  // namespace
}  // namespace lather
