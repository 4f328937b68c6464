#include "lather/batch/task_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace lather::batch {
namespace {

using Where = TaskQueue::Where;

TEST(TaskQueue, ATaskAloneWaitsForTheOthersAndHasNoneBesideIt) {
  TaskQueue team;
  std::atomic<int> running = 0, ended = 0, beside = 0;
  std::atomic<bool> one_is_alone = false;
  std::vector<int> ended_before;
  const auto usual = [&] {
    ++running;
    beside += one_is_alone;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --running;
    ++ended;
  };
  const auto alone = [&] {
    one_is_alone = true;
    beside += running;
    ended_before.push_back(ended);
    team.add(usual);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // others could begin
    one_is_alone = false;
  };
  team.add([&] { team.add(alone, Where::alone); });
  team.add(alone, Where::alone);
  for (int i = 0; i < 6; ++i) team.add(usual);
  team.run(4, [] { return false; });
  EXPECT_EQ(beside, 0);
  EXPECT_EQ(ended_before, (std::vector{6, 7}));
  EXPECT_EQ(ended, 8);
}

TEST(TaskQueue, DropsTasksThatWereToBeAloneIfItIsStopped) {
  TaskQueue team;
  bool stopped = false;
  int alone = 0;
  team.add([&] { stopped = true; });
  team.add([&] { ++alone; }, Where::alone);
  team.run(1, [&] { return stopped; });
  stopped = false;
  team.run(1, [&] { return stopped; });
  EXPECT_EQ(alone, 0);
}

}  // namespace
}  // namespace lather::batch
