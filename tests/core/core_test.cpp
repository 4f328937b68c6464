#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/core/options.hpp"
#include "lather/core/process_mutex.hpp"
#include "lather/core/rng.hpp"
#include "lather/core/state.hpp"
#include "lather/core/threads.hpp"
#include "lather/core/whole_number.hpp"
#include "temporary_folder.hpp"

namespace lather {
namespace {

enum class Flavour { plain, fancy };
struct SampleOptions {
  double rate = 0.1;
  std::int64_t count = 3;
  bool flag = false;
  Flavour flavour = Flavour::plain;
  std::vector<double> knots;
  void fields(FieldVisitor& v) {
    v.real("rate", rate, "a rate", unit_open_left());
    v.integer("count", count, "how many", at_least(1));
    v.boolean("flag", flag, "on or off");
    v.choice("flavour", flavour, "which kind", {{"plain", Flavour::plain}, {"fancy", Flavour::fancy}});
    v.reals("knots", knots, "places");
  }
};

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Options, AreSetFromTextAndFromNumbersAndSavedWhole) {
  SampleOptions o;
  options::set(o, "sample", "rate", "0.5");
  options::set(o, "sample", "count", 7);
  options::set(o, "sample", "flag", "true");
  options::set(o, "sample", "flavour", "fancy");
  options::set(o, "sample", "knots", "[1, 2.5]");
  const auto saved = options::to_json(o);
  SampleOptions copy;
  options::set_all(copy, "sample", saved);
  EXPECT_EQ(options::to_json(copy), saved);
  EXPECT_EQ(copy.flavour, Flavour::fancy);
  EXPECT_EQ(copy.knots, (std::vector<double>{1, 2.5}));
}

TEST(Options, NameTheNearestKeyAndTheRangeThatWasMissed) {
  SampleOptions o;
  EXPECT_NE(message_of([&] { options::set(o, "sample", "rat", 1); }).find("did you mean 'rate'"),
            std::string::npos);
  EXPECT_NE(message_of([&] { options::set(o, "sample", "rate", 0); }).find("(0, 1]"), std::string::npos);
  EXPECT_NE(message_of([&] { options::set(o, "sample", "count", 2.5); }).find("whole number"),
            std::string::npos);
  EXPECT_NE(message_of([&] { options::set(o, "sample", "rate", "1e-3x"); }).find("expected a number"),
            std::string::npos);
  EXPECT_NE(message_of([&] { options::set(o, "sample", "flavour", "fanzy"); }).find("'fancy'"),
            std::string::npos);
}

TEST(Random, IsPhiloxAsPublished) {
  // Known answers from the Random123 distribution for philox4x32-10.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Random, UniformAndNormalHaveTheirMoments) {
  const Random random(7, 1);
  const int n = 200000;
  double mean = 0, square = 0, normal_mean = 0, normal_square = 0;
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform(i), z = random.normal(i);
    ASSERT_GT(u, 0);
    ASSERT_LT(u, 1);
    mean += u / n;
    square += u * u / n;
    normal_mean += z / n;
    normal_square += z * z / n;
  }
  EXPECT_NEAR(mean, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(square, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / n));
  EXPECT_NEAR(normal_mean, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(normal_square, 1, 5 * std::sqrt(2.0 / n));
}

TEST(State, ComesBackBitForBitAndRejectsForeignOrTruncatedBytes) {
  double real = 0.1 + 0.2;
  std::int64_t integer = -5;
  std::vector<double> list{1, -0.0, 3e-310};
  StateWriter writer;
  writer.real("real", real);
  writer.integer("integer", integer);
  writer.array("list", list);

  double real2 = 0;
  std::int64_t integer2 = 0;
  std::vector<double> list2;
  StateReader reader(writer.bytes());
  reader.real("real", real2);
  reader.integer("integer", integer2);
  reader.array("list", list2);
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(real2, real);
  EXPECT_EQ(integer2, integer);
  EXPECT_EQ(std::memcmp(list.data(), list2.data(), 24), 0);

  StateReader wrong(writer.bytes());
  EXPECT_THROW(wrong.real("other", real2), Error);
  StateReader truncated(std::string_view(writer.bytes()).substr(0, 20));
  EXPECT_THROW(truncated.real("real", real2), Error);
}

TEST(Threads, EachThreadIsCalledOnceAndFailuresComeBack) {
  ThreadTeam team(3);
  std::vector<int> calls(3);
  for (int repeat = 0; repeat < 100; ++repeat) team.run([&](int thread) { ++calls[thread]; });
  EXPECT_EQ(calls, (std::vector<int>{100, 100, 100}));
  EXPECT_THROW(team.run([](int thread) {
    if (thread == 2) throw Error("no");
  }),
               Error);
  team.run([&](int thread) { ++calls[thread]; });
  EXPECT_EQ(calls[2], 101);
}

// A forked process has none of its parent's threads.
TEST(Threads, ATeamWorksInAForkedProcessToo) {
  auto team = std::make_unique<ThreadTeam>(3);
  std::vector<int> calls(3);
  team->run([&](int thread) { ++calls[thread]; });
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // it does not hang
    for (int repeat = 0; repeat < 10; ++repeat) team->run([&](int thread) { ++calls[thread]; });
    ThreadTeam(2).run([](int) {});
    team.reset();
    ::_exit(calls == std::vector<int>{11, 11, 11} ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  team->run([&](int thread) { ++calls[thread]; });
  EXPECT_EQ(calls, (std::vector<int>{2, 2, 2}));
}

TEST(Threads, ATeamSaysIfTheProcessWasForkedWhileItWorked) {
  ThreadTeam team(2);
  pid_t child = -1;
  const auto forks = [&](int thread) {
    if (thread == 0) child = ::fork();
  };
  try {
    team.run(forks);
  } catch (const Error&) {
    ::_exit(child == 0 ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Threads, ALockThatWasHeldAtAForkIsFreeInTheChild) {
  ProcessMutex mutex;
  const std::lock_guard held(mutex);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    { const std::lock_guard own(mutex); }
    const std::lock_guard again(mutex);
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Memory, IsWrittenInReadableUnits) {
  EXPECT_EQ(readable_bytes(0), "0 bytes");
  EXPECT_EQ(readable_bytes(1023), "1023 bytes");
  EXPECT_EQ(readable_bytes(1024), "1.0 KiB");
  EXPECT_EQ(readable_bytes(1.25 * kGiB), "1.2 GiB");
  EXPECT_EQ(readable_bytes(1023.9 * kGiB), "1.0 TiB");
  EXPECT_EQ(readable_bytes(489747314.6 * 1024 * 1024), "467 TiB");
}

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

// Of a group and all groups around it the least room counts; unused pages of files are room.
TEST(Memory, OfControlGroupsIsWhatTheirLimitsLeave) {
  const test::TemporaryFolder folder;
  const auto root = folder.path();
  EXPECT_FALSE(room_in_control_groups("0::/a/b\n", root));
  write_text(root / "a/memory.max", "1000000\n");
  write_text(root / "a/memory.current", "300000\n");
  write_text(root / "a/memory.stat", "anon 100\ninactive_file 50000\nactive_file 7\n");
  write_text(root / "a/b/memory.max", "max\n");
  write_text(root / "a/b/memory.current", "200000\n");
  EXPECT_EQ(room_in_control_groups("0::/a/b\n", root), 750000);
  EXPECT_EQ(room_in_control_groups("0::/elsewhere\n", root), std::nullopt);
  // Version 1, in a container: the path is that of the outside.
  write_text(root / "memory/memory.limit_in_bytes", "400000\n");
  write_text(root / "memory/memory.usage_in_bytes", "390000\n");
  EXPECT_EQ(room_in_control_groups("5:cpu:/x\n4:memory:/docker/1234\n0::/\n", root), 10000);
  write_text(root / "memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(room_in_control_groups("4:memory:/docker/1234\n", root));
  EXPECT_GT(memory_room().bytes, 0);
}

TEST(WholeNumbers, AreNotMadeOfFractionsNorOfWhatIsTooLarge) {
  EXPECT_EQ(whole_number(1e3), 1000);
  EXPECT_EQ(whole_number(-2.0), -2);
  for (const double none : {2.7, 1e300, -1e16, std::nan(""), HUGE_VAL})
    EXPECT_FALSE(whole_number(none)) << none;
}

// Peaks stay; memory that was freed is not counted again.
TEST(Memory, ThePeakOnTheDeviceIsTheMostHeldAtOneTime) {
  const std::size_t before = peak_device_memory_bytes();
  const auto large = static_cast<std::ptrdiff_t>(before + 1000);
  count_device_memory(large);
  count_device_memory(-large);
  count_device_memory(10);
  EXPECT_EQ(peak_device_memory_bytes(), before + 1000);
  count_device_memory(-10);
  EXPECT_GT(peak_host_memory_bytes(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace lather
