// Runs on matrix problems that are interrupted equal those that are not.
#include "matrix/task_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lather/core/files.hpp"
#include "lather/train/run_folder/checkpoint.hpp"
#include "train/small_problem.hpp"

namespace lather::lab {
namespace {

using testing::TemporaryFolder;

constexpr std::int64_t kSteps = 40;

TaskSpec small_task(const std::string& task, const std::string& settings, const std::string& optimizer) {
  TaskSpec spec;
  spec.task = task;
  spec.settings = settings;
  spec.optimizer = optimizer;
  spec.size = TaskSize::small;
  spec.length = {kSteps, 3, {10}};
  spec.seed = 1;
  return spec;
}
const TaskSpec kUsual = small_task(
    "quadratic", "{}", R"({"name": "adam", "learning_rate": 0.05, "schedule": {"decay": "cosine"}})");

struct Sitting {
  bool ended = false;
  std::int64_t steps = 0;  // taken
  std::vector<std::string> notes;
};

// It ends, or is interrupted after `most` steps.
Sitting go_on(const std::filesystem::path& folder, const TaskSpec& spec, std::int64_t most = kSteps) {
  Sitting sitting;
  std::int64_t asked = 0;
  const auto interrupted = [&] { return asked++ == most; };
  sitting.ended = continue_task(folder, spec, interrupted, sitting.notes);
  sitting.steps = sitting.ended ? asked : most;
  return sitting;
}

std::string history(const std::filesystem::path& folder) { return read_file(folder / "history.jsonl"); }

std::string history_of_uninterrupted(const TaskSpec& spec) {
  const TemporaryFolder folder;
  const auto sitting = go_on(folder.path(), spec);
  EXPECT_TRUE(sitting.ended);
  EXPECT_EQ(sitting.steps, kSteps);
  return history(folder.path());
}

std::filesystem::path only_save(const std::filesystem::path& folder) {
  const auto saves = train::CheckpointStore(folder / "checkpoints").files();
  EXPECT_EQ(saves.size(), 1U);
  return saves.at(0);
}

TEST(TaskFolder, AnInterruptedRunGoesOnWhereItWasBitForBit) {
  const std::string ss_esoap = R"({"name": "ss-esoap", "learning_rate": 0.05})";
  const TaskSpec specs[] = {
      kUsual,
      small_task("quadratic", "{}", ss_esoap),
      small_task("completion", "{}", R"({"name": "lbfgs"})"),
      small_task("logistic", R"({"batch": 50})", ss_esoap),
      small_task("logistic", R"({"batch": 50, "batch_steps": 4})", ss_esoap),
      small_task("logistic", R"({"batch": 50, "renew_secants": true})", ss_esoap),
      small_task("logistic", R"({"batch": 50, "batch_steps": 4, "renew_secants": true})", ss_esoap),
  };
  for (const auto& spec : specs) {
    const TemporaryFolder folder;
    EXPECT_FALSE(go_on(folder.path(), spec, 7).ended);
    EXPECT_FALSE(go_on(folder.path(), spec, 12).ended);
    const auto last = go_on(folder.path(), spec);
    EXPECT_TRUE(last.ended);
    EXPECT_EQ(last.steps, kSteps - 19);
    EXPECT_TRUE(last.notes.empty());
    EXPECT_EQ(history(folder.path()), history_of_uninterrupted(spec)) << to_json(spec);
    EXPECT_FALSE(std::filesystem::exists(folder / "checkpoints"));
  }
}

TEST(TaskFolder, AKilledRunGoesOnFromItsLastSave) {
  struct Killed {};
  const TemporaryFolder folder;
  std::vector<std::string> notes;
  std::int64_t asked = 0;
  const auto kill = [&]() -> bool {
    if (asked++ == 10) throw Killed();
    return false;
  };
  EXPECT_THROW(continue_task(folder.path(), kUsual, kill, notes, 0), Killed);
  EXPECT_EQ(go_on(folder.path(), kUsual).steps, kSteps - 10);
  EXPECT_EQ(history(folder.path()), history_of_uninterrupted(kUsual));
}

TEST(TaskFolder, ARunWhoseSaveCannotBeUsedStartsOverAndSaysSo) {
  TaskSpec other = kUsual;
  other.seed = 2;
  const TemporaryFolder of_other;
  go_on(of_other.path(), other, 5);
  const auto foreign = read_file(only_save(of_other.path()));
  const auto cut_short = [](const std::string& bytes) {
    auto checkpoint = train::decode_checkpoint(bytes);
    checkpoint.state.resize(checkpoint.state.size() / 2);
    return train::encode_checkpoint(checkpoint);
  };
  const auto damaged = [](std::string bytes) {
    bytes[bytes.size() / 2] ^= 1;
    return bytes;
  };
  const auto expected = history_of_uninterrupted(kUsual);
  for (int fault = 0; fault < 3; ++fault) {
    const TemporaryFolder folder;
    go_on(folder.path(), kUsual, 5);
    const auto file = only_save(folder.path());
    const auto bytes = read_file(file);
    write_file_atomically(file, fault == 0 ? foreign : fault == 1 ? cut_short(bytes) : damaged(bytes));
    const auto sitting = go_on(folder.path(), kUsual);
    EXPECT_EQ(sitting.steps, kSteps);
    ASSERT_EQ(sitting.notes.size(), 1U);
    EXPECT_TRUE(sitting.notes[0].starts_with("it starts over: ")) << sitting.notes[0];
    EXPECT_EQ(history(folder.path()), expected);
  }
}

// A step of 1e200 makes the loss infinite: parameters stay as they are, and so do their metrics.
TEST(TaskFolder, ARunThatEndsEarlyHasAllItsPoints) {
  const TemporaryFolder folder;
  const auto spec = small_task("quadratic", "{}", R"({"name": "adam", "learning_rate": 1e200})");
  const auto sitting = go_on(folder.path(), spec);
  EXPECT_TRUE(sitting.ended);
  EXPECT_EQ(sitting.steps, 2);
  const auto text = history(folder.path());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 16);  // steps 0, 3, …, 39, and 10 and 40
  const auto summary = nlohmann::json::parse(read_file(folder / "summary.json"));
  EXPECT_EQ(summary.at("reason"), "non_finite");
  EXPECT_TRUE(summary.at("message").get<std::string>().starts_with("ended at step 2: "));
}

}  // namespace
}  // namespace lather::lab
