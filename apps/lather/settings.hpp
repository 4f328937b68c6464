#pragma once
// What several commands share: --set, recipes and the training of one run.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/commands.hpp"
#include "lather/train/config.hpp"
#include "lather/train/run.hpp"

namespace lather::command {

// "network.width=128" -> {path, value}
std::vector<pde::Override> parse_settings(const std::vector<std::string>& settings);

// Options that choose a configuration; filled by the command line.
struct ConfigArguments {
  std::string problem, recipe, optimizer, precision = "float64", device = "cpu", target;
  std::vector<std::string> settings;
  std::uint64_t seed = 0;
  int threads = 0, shards = 0;
  parallel::Communicator* ranks = nullptr;  // the ranks that share the points; null: this process alone
  std::optional<std::int64_t> steps, patience;
  std::optional<double> seconds;
};
void add_config_options(CLI::App& command,
                        ConfigArguments& arguments);  // all but the problem, the optimizer and the seed
train::ConfigRequest request_from(const ConfigArguments& arguments);

// While this lives, Ctrl-C, SIGTERM and SIGHUP ask for an orderly end; a second one ends the process at once.
class CatchInterrupts {
 public:
  CatchInterrupts();
  ~CatchInterrupts();
  CatchInterrupts(const CatchInterrupts&) = delete;
  CatchInterrupts& operator=(const CatchInterrupts&) = delete;
  static bool caught() { return stop().asked(); }
  static Stop& stop();  // which they ask

 private:
  std::array<void (*)(int), 3> old_{};
};

struct OutputMode {
  bool quiet = false, json = false;
};
// Trains with progress on the screen; Ctrl-C, SIGTERM and SIGHUP save and end.
train::Outcome train_with_progress(train::Trainer& trainer, train::RunFolder& folder, const OutputMode& mode,
                                   double seconds_before = 0);

// 0: as asked; 3: no target reached or not a number; 130: interrupted.
int exit_status_of(const train::Outcome& outcome, const train::Config& config);

// The fields of a run of any kind; says on standard error what was wrong with it, if anything.
std::unique_ptr<train::Fields> load_fields(const std::string& folder, bool best);

// Reads a run and says on standard error what was wrong with its newest checkpoints, if anything.
std::unique_ptr<train::Trainer> load_run(const std::string& folder);

}  // namespace lather::command
