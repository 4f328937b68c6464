#include "lather/train/saved_run.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lather/core/device.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/pde/coefficient_table.hpp"
#include "lather/train/agreement.hpp"

namespace lather::train {

double restore(Trainer& trainer, RunFolder& folder, std::vector<std::string>& messages) {
  std::optional<Checkpoint> checkpoint;
  if (folder.writes()) checkpoint = folder.checkpoints().load_newest(identity(trainer.config()), messages);
  std::string state = checkpoint ? checkpoint->state : "";
  Agreement(trainer.config().ranks).share(state);
  if (state.empty()) {
    messages.push_back("there is no checkpoint yet: starting from the beginning");
    folder.truncate_logs({});
    return 0;
  }
  StateReader reader(state);
  RunState own;
  own.state(reader);
  trainer.set_seconds(own.seconds);
  trainer.state(reader);
  if (!folder.truncate_logs(own.log_sizes))
    messages.push_back(fmt::format(
        "the history is shorter than at step {}, or damaged: lines before it are lost", trainer.step()));
  return own.seconds;
}

StartingPoint read_starting_point(const std::filesystem::path& run, std::vector<std::string>& messages) {
  const auto trainer = read_run(run, messages);
  const auto x = trainer->best_parameters();
  const auto frozen = trainer->objective().frozen();
  return {std::filesystem::absolute(run).lexically_normal().string(),
          trainer->best_step() < 0 ? trainer->step() : trainer->best_step(),
          trainer->objective().layout(),
          {x.begin(), x.end()},
          {frozen.begin(), frozen.end()}};
}

void keep_inputs(const Trainer& trainer, const RunFolder& run) {
  if (!run.writes()) return;
  keep_inputs(trainer.problem(), run.path());
  const auto& config = trainer.config();
  if (config.start && !is_there(run.path() / "start.json"))
    run.write_json("start.json", to_json(*config.start));
}

namespace {

std::unique_ptr<Trainer> read_newest(const std::filesystem::path& path, bool for_viewing,
                                     std::vector<std::string>& messages) {
  require_run(path);
  Config config = read_config_of_run(path);
  const Checkpoint checkpoint = read_newest_checkpoint(path, identity(config), messages);
  if (for_viewing) config.threads = 1;
  if (const auto cuda = cuda_report(); config.device == Device::cuda && (for_viewing || !cuda.usable)) {
    if (!for_viewing) messages.push_back("this run used a GPU; " + cuda.text + ", so it is read on the CPU");
    config.device = Device::cpu;
  }
  auto trainer = std::make_unique<Trainer>(config);
  StateReader reader(checkpoint.state);
  RunState own;
  own.state(reader);
  trainer->state(reader);
  trainer->set_seconds(own.seconds);
  return trainer;
}

}  // namespace

std::unique_ptr<Trainer> read_run(const std::filesystem::path& path, std::vector<std::string>& messages) {
  return read_newest(path, false, messages);
}

std::unique_ptr<Trainer> read_run_for_viewing(const std::filesystem::path& path,
                                              std::vector<std::string>& messages) {
  return read_newest(path, true, messages);
}

}  // namespace lather::train
