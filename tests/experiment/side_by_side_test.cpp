#include "lather/experiment/side_by_side.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace lather::experiment {
namespace {

using Where = SideBySide::Where;

TEST(SideBySide, ATaskAloneWaitsForTheOthersAndHasNoneBesideIt) {
  SideBySide team;
  std::atomic<int> running = 0, ended = 0;
  std::vector<int> ended_before, most_running;  // written by tasks that are alone
  const auto usual = [&] {
    ++running;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --running;
    ++ended;
  };
  const auto alone = [&] {
    ended_before.push_back(ended);
    int most = ++running;
    team.add(usual);
    for (int look = 0; look < 5; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      most = std::max(most, running.load());
    }
    most_running.push_back(most);
    --running;
  };
  team.add([&] { team.add(alone, Where::alone); });
  team.add(alone, Where::alone);
  for (int i = 0; i < 6; ++i) team.add(usual);
  team.run(4, [] { return false; });
  EXPECT_EQ(ended_before, (std::vector{6, 7}));
  EXPECT_EQ(most_running, (std::vector{1, 1}));
  EXPECT_EQ(ended, 8);
}

TEST(SideBySide, DropsTasksThatWereToBeAloneIfItIsStopped) {
  SideBySide team;
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
}  // namespace lather::experiment
