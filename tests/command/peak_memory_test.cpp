// The memory of a run that is measured alone is its own, whatever the process did before.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lather/core/files.hpp"
#include "process.hpp"

namespace lather::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLarge = R"(
name = "large"
title = "Large"
claim = "None."

[settings]
network.width = 200
training.points.interior = 2000
training.reference = false

[[problem]]
name = "heat-1d"

[[variant]]
name = "soap"

[[metric]]
quantity = "mean_square"

[budget.quick]
steps = 2
seeds = 2
)";

constexpr const char* kSmall = R"(
name = "small"
title = "Small"
claim = "None."

[settings]
network.width = 8
training.points.interior = 64
training.reference = false

[[problem]]
name = "heat-1d"

[[variant]]
name = "adam"

[[metric]]
quantity = "memory"

[budget.quick]
steps = 5
seeds = 2
)";

TEST(PeakMemory, OfARunAfterLargerOnesIsThatOfTheRunInAProcessOfItsOwn) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the allocator is not glibc's";
#endif
  if (::access("/proc/self/clear_refs", W_OK) != 0) GTEST_SKIP() << "the system does not restart its count";
  const TemporaryFolder folder;
  write_file_atomically(folder / "large.toml", kLarge);
  write_file_atomically(folder / "small.toml", kSmall);
  const auto most_of_small = [&](std::vector<std::string> command, const std::string& out) {
    command.insert(command.end(), {"--jobs", "2", "--out", out});
    const Finished finished = lather(std::move(command), {folder.path(), {}});
    EXPECT_EQ(finished.status, 0) << finished.err;
    double most = 0;
    for (const auto& run : fs::directory_iterator(folder / out / "runs"))
      if (run.path().string().ends_with("-alone"))
        most = std::max(
            most,
            nlohmann::json::parse(content(run.path() / "summary.json"))["peak_host_bytes"].get<double>());
    return most;
  };
  const double alone = most_of_small({"reproduce", "./small.toml"}, "alone");
  EXPECT_GT(alone, 1 << 20);
  EXPECT_LT(most_of_small({"reproduce", "./large.toml", "./small.toml"}, "both"), 1.3 * alone);
}

}  // namespace
}  // namespace lather::testing
