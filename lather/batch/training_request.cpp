#include "lather/batch/training_request.hpp"

#include <algorithm>

namespace lather::batch {

namespace {

// History lines and validations per run: enough for a curve, few enough for hundreds of runs.
constexpr std::int64_t kHistoryLines = 200, kValidations = 50;

// A problem's file is part of a run's identity; its name is enough, so that a run can be moved to another
// machine. Problems that read other files keep the whole path so that these can be found.
void leave_out_folder(train::Config& config) {
  if (!train::external_files(config).empty()) return;
  config.problem.file = std::filesystem::path(config.problem.file).filename().string();
}

}  // namespace

train::Config resolve_training(const TrainingRequest& wanted) {
  train::ConfigRequest request;
  request.problem = wanted.problem;
  request.text = wanted.text;
  request.recipe = wanted.recipe;
  request.optimizer = wanted.optimizer;
  request.settings = wanted.settings;
  request.seed = wanted.seed;
  request.threads = 1;  // runs go side by side, and their bits do not depend on how many
  if (wanted.steps > 0) request.steps = wanted.steps;
  if (wanted.seconds > 0) request.seconds = wanted.seconds;
  train::Config config = train::resolve(request);
  const auto set = [&](const char* path) {
    return std::any_of(request.settings.begin(), request.settings.end(),
                       [&](const auto& s) { return s.path == path; });
  };
  if (!set("training.record_every"))
    config.record.record_every = std::max<std::int64_t>(1, config.stop.steps / kHistoryLines);
  if (!set("training.validate_every"))
    config.record.validate_every = std::max<std::int64_t>(1, config.stop.steps / kValidations);
  leave_out_folder(config);
  config.device = wanted.device;  // GPU results can be collected without a GPU
  return config;
}

}  // namespace lather::batch
