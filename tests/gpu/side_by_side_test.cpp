// Trainings side by side on one GPU, each on its own stream, equal those of runs alone.
#include <gtest/gtest.h>

#include "experiment/small_experiment.hpp"
#include "gpu/require_gpu.hpp"
#include "lather/core/files.hpp"
#include "lather/experiment/reproduce.hpp"
#include "temporary_folder.hpp"

namespace lather::experiment {
namespace {

TEST(SideBySideOnTheDevice, HistoriesAreThoseOfRunsAlone) {
  REQUIRE_GPU();
  const Experiment e = small_experiment::read_text(small_experiment::kSmallExperiment);
  const std::vector<Plan> plans{make_plan(e, "quick", Device::cuda)};
  const test::TemporaryFolder folder;
  const auto histories = [&](const char* out, int jobs) {
    ReproduceOptions options;
    options.out = folder / out;
    options.jobs = jobs;
    const auto results = reproduce(plans, options);
    std::vector<std::string> texts;
    for (const auto& cell : results[0].cells)
      for (const auto& run : cell.seeds) texts.push_back(read_file(run.folder / "history.jsonl"));
    return texts;
  };
  EXPECT_EQ(histories("together", 8), histories("alone", 1));
}

}  // namespace
}  // namespace lather::experiment
