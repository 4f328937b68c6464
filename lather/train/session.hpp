#pragma once
// A trainer with its run folder, as the command, C and Python start or resume it.
//
//   Session session = begin_session(resolve({.problem = "burgers"}), "");   // runs/burgers-lm-0-1
//   Outcome outcome = run(*session.trainer, *session.folder, {}, session.seconds);

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lather/train/run.hpp"

namespace lather::train {

// Limits that replace those of a run.
struct NewLimits {
  std::optional<std::int64_t> steps, patience;
  std::optional<double> seconds;
  std::optional<Target> target;
};
void apply_limits(StopOptions& stop, const NewLimits& limits);

// Only time ends the run, not a number of steps, so that methods with different costs per step get the same
// time. Validations stay as frequent as for the steps it had. Throws Error if there is no time limit.
void limit_by_time_only(Config& config);

struct Session {
  std::unique_ptr<Trainer> trainer;
  std::optional<RunFolder> folder;
  double seconds = 0;                 // of earlier training
  std::vector<std::string> messages;  // what was wrong with the newest checkpoints, if anything
};

// The trainer is created first: a mistake leaves no folder behind. Empty path: runs/PROBLEM-OPTIMIZER-SEED-N.
Session begin_session(const Config& config, std::filesystem::path path);
// Also on different ranks than it was started on: the results do not depend on them.
Session resume_session(const std::filesystem::path& path, const NewLimits& limits,
                       parallel::Communicator* ranks = nullptr);

// For folders that several calls of the same kind work on: a comparison, a sweep.
// The summary of a run that has ended in `path` with this configuration and its limits; null: it has not.
// Throws Error if the folder holds a run with other settings.
nlohmann::json finished_summary(const Config& config, const std::filesystem::path& path);
// Starts the run, or resumes it under the limits of `config`.
Session begin_or_resume_session(const Config& config, const std::filesystem::path& path);

// The same for several processes that share such a folder: nothing if another one holds the run at the
// moment, or has ended it since it was last checked. The lock disappears with the process that holds it, so
// the run of a killed process is resumed by the next one that asks.
std::optional<Session> claim_session(const Config& config, const std::filesystem::path& path);

// The best network of another run as the starting point of this one.
void start_from(const std::filesystem::path& run, Config& config, std::vector<std::string>& messages);

}  // namespace lather::train
