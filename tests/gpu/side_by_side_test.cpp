// Trainings side by side on one GPU, each on its own stream, equal those of runs alone.
#include <gtest/gtest.h>

#include "gpu/require_gpu.hpp"
#include "lather/batch/sweep/run_sweep.hpp"
#include "lather/core/files.hpp"
#include "temporary_folder.hpp"

namespace lather::batch {
namespace {

constexpr const char* kSmallSweep = R"(
problem = "heat-1d"
recipe = "quick"
seeds = 2
steps = 40

[settings]
network.width = 6
network.depth = 2
training.points.interior = 64
training.points.initial = 16
training.points.walls = 16
training.sampling.every = 10

[axes]
optimizer.learning_rate = [1e-3, 1e-2]

[[optimizer]]
name = "adam"

[[optimizer]]
name = "ss-esoap"
)";

TEST(SideBySideOnTheDevice, HistoriesAreThoseOfRunsAlone) {
  REQUIRE_GPU();
  const Sweep sweep = read_sweep(parse_toml(kSmallSweep, "small.toml"), "small");
  const test::TemporaryFolder folder;
  const auto histories = [&](const char* out, int jobs) {
    SweepOptions options;
    options.out = folder / out;
    options.jobs = jobs;
    options.device = Device::cuda;
    std::map<std::string, std::string> texts;
    for (const auto& point : run_sweep(sweep, options).points)
      for (const auto& run : point.runs)
        texts[run.folder.filename().string()] = read_file(run.folder / "history.jsonl");
    return texts;
  };
  EXPECT_EQ(histories("together", 8), histories("alone", 1));
}

}  // namespace
}  // namespace lather::batch
