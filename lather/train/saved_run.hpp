#pragma once
// Reads back what a run folder keeps of a run: to resume it, to start another from it, or to look at it.

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lather/train/run_folder/run_folder.hpp"
#include "lather/train/starting_point.hpp"
#include "lather/train/trainer.hpp"

namespace lather::train {

// What a checkpoint holds in addition to the state of the trainer.
struct RunState {
  std::array<std::uint64_t, kLogs> log_sizes{};
  double seconds = 0;
  void state(StateVisitor& v) {
    for (auto& size : log_sizes) {
      auto number = static_cast<std::int64_t>(size);
      v.integer("log_size", number);
      size = static_cast<std::uint64_t>(number);
    }
    v.real("seconds", seconds);
  }
};

// Puts the trainer into the state of the newest intact checkpoint and truncates the logs to match. Without
// any checkpoint it starts from the beginning. Returns the computing time so far, in seconds.
double restore(Trainer& trainer, RunFolder& folder, std::vector<std::string>& messages);

// Copies the run's external inputs, so that its folder needs nothing else.
void keep_inputs(const Trainer& trainer, const RunFolder& run);

// The best network of a run, to start another from.
StartingPoint read_starting_point(const std::filesystem::path& run, std::vector<std::string>& messages);

// A run for reading only, in the state of its newest intact checkpoint. One that used a GPU is read on the
// CPU if there is no GPU; a message says so.
std::unique_ptr<Trainer> read_run(const std::filesystem::path& path, std::vector<std::string>& messages);
// The same on one host thread, whatever the run itself uses: for looking at it while it trains.
std::unique_ptr<Trainer> read_run_for_viewing(const std::filesystem::path& path,
                                              std::vector<std::string>& messages);

}  // namespace lather::train
