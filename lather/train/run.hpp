#pragma once
// Trains to the end with a run folder: history, checkpoints, limits, interruption. Neither prints nor exits.
//
//   Config config = resolve({.problem = "burgers", .optimizer = "soap"});
//   RunFolder folder = RunFolder::create("runs/mine", config);
//   Trainer trainer(config);
//   Outcome outcome = run(trainer, folder, {});
//
//   RunFolder folder = RunFolder::open("runs/mine");     // later: resume, bit for bit
//   Trainer trainer(config_from_json(read_json("runs/mine/config.json")));
//   double seconds = restore(trainer, folder, messages);
//   Outcome outcome = run(trainer, folder, {}, seconds);

#include <functional>

#include "lather/core/interrupt.hpp"
#include "lather/train/run_folder/run_folder.hpp"
#include "lather/train/run_folder/summary.hpp"
#include "lather/train/trainer.hpp"

namespace lather::train {

struct Progress {
  std::int64_t step = 0, steps = 0;
  int stage = 0, stages = 1;
  double loss = 0, gradient_norm = 0;
  std::span<const double> term_losses;
  std::optional<Metrics> metrics;  // from the last validation
  std::optional<double> tau;       // mean over the layers, if the optimizer has one
  std::int64_t basis_updates = 0;
  double seconds = 0, steps_per_second = 0, seconds_left = 0;
  bool recorded = false;  // a line of the history was written at this step
};

struct Watcher {
  std::function<void(const Progress&)> progress;             // after every call of the optimizer
  std::function<void(const std::string&)> message;           // something worth saying
  std::function<bool()> interrupted = [] { return false; };  // asked after each of them
  // Asked also within steps and measurements, which are broken off. So are those of stops around the call.
  Stop* stop = nullptr;
  bool keeps_end = true;  // false: no checkpoint of a run that has ended, which nobody will read
};

// A step that is broken off, by a stop or where time is over, has not been taken: the run is saved as it was
// before.
enum class EndReason { steps, target, time, patience, interrupted, converged, stalled, non_finite };
std::string_view name_of(EndReason reason);

struct Outcome {
  EndReason reason = EndReason::steps;
  std::string message;  // why it ended, in a sentence
  Summary summary;      // what summary.json holds
};

// Trains from the trainer's current step to the end of its configuration. Throws Error if the folder cannot
// be written; what was saved before remains.
Outcome run(Trainer& trainer, RunFolder& folder, const Watcher& watcher, double seconds_before = 0);

}  // namespace lather::train
