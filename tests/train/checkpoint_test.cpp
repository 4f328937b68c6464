#include "lather/train/run_folder/checkpoint.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <thread>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "small_problem.hpp"

namespace lather::train {
namespace {

using testing::TemporaryFolder;

const Checkpoint kSome{17, 0x1234, "some state that is to survive"};

TEST(Checkpoint, ComesBackAsItWasWritten) {
  const Checkpoint read = decode_checkpoint(encode_checkpoint(kSome));
  EXPECT_EQ(read.step, kSome.step);
  EXPECT_EQ(read.identity, kSome.identity);
  EXPECT_EQ(read.state, kSome.state);
}

TEST(Checkpoint, EveryFlippedBitIsNoticed) {
  const std::string whole = encode_checkpoint(kSome);
  for (std::size_t byte = 0; byte < whole.size(); ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      EXPECT_THROW(decode_checkpoint(damaged), Error) << "byte " << byte << " bit " << bit;
    }
}

TEST(Checkpoint, EveryTruncationIsNoticed) {
  const std::string whole = encode_checkpoint(kSome);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(decode_checkpoint(std::string_view(whole).substr(0, size)), Error) << size;
  EXPECT_THROW(decode_checkpoint(whole + "x"), Error);
}

TEST(CheckpointStore, KeepsTheTwoNewest) {
  TemporaryFolder folder;
  CheckpointStore store(folder.path());
  for (std::int64_t step : {5, 50, 500}) store.save({step, 1, "state"});
  const auto files = store.files();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(decode_checkpoint(read_file(files[0])).step, 500);
  EXPECT_EQ(decode_checkpoint(read_file(files[1])).step, 50);
}

TEST(CheckpointStore, FallsBackToTheOlderOneAndSaysSo) {
  TemporaryFolder folder;
  CheckpointStore store(folder.path());
  store.save({1, 9, "older"});
  store.save({2, 9, "newer"});
  std::string bytes = read_file(store.files()[0]);
  bytes.back() ^= 4;
  write_file_atomically(store.files()[0], bytes);
  std::vector<std::string> messages;
  const auto read = store.load_newest(9, messages);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->state, "older");
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("checksum"), std::string::npos) << messages[0];
}

TEST(CheckpointStore, WithNothingButDamageIsAnError) {
  TemporaryFolder folder;
  CheckpointStore store(folder.path());
  std::vector<std::string> messages;
  EXPECT_FALSE(store.load_newest(9, messages));  // none at all: a run that has not got that far
  store.save({1, 9, "state"});
  write_file_atomically(store.files()[0], "");
  EXPECT_THROW(store.load_newest(9, messages), Error);
}

TEST(CheckpointStore, DoesNotTakeTheCheckpointOfAnotherConfiguration) {
  TemporaryFolder folder;
  CheckpointStore store(folder.path());
  store.save({1, 9, "state"});
  std::vector<std::string> messages;
  EXPECT_THROW(store.load_newest(10, messages), Error);
}

TEST(Files, WritersOfOneFileDoNotDisturbEachOther) {
  TemporaryFolder folder;
  const auto write = [&](char letter) {
    for (int i = 0; i < 100; ++i) write_file_atomically(folder / "a", std::string(1000, letter));
  };
  std::thread other(write, 'x');
  EXPECT_NO_THROW(write('y'));
  other.join();
  const std::string left = read_file(folder / "a");
  EXPECT_TRUE(left == std::string(1000, 'x') || left == std::string(1000, 'y'));
}

// While it lives, a file may have at most so many bytes: as on a full disk.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t most) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = most;
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

TEST(Files, AFailedReplacementLeavesTheOldContent) {
  TemporaryFolder folder;
  write_file_atomically(folder / "a", "old");
  {
    const SmallFiles small(2);
    EXPECT_THROW(write_file_atomically(folder / "a", "new and longer"), Error);
  }
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Files, AppendingToAFullDiskIsAnErrorThatNamesTheReason) {
  TemporaryFolder folder;
  AppendFile file(folder / "log");
  const SmallFiles small(2);
  try {
    file.append("words");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("log': File too large"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace lather::train
