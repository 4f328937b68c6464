#pragma once
// Runs in one folder, each under a name made of everything its numbers depend on: a finished one is never
// repeated, an interrupted one is resumed.

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "lather/train/run.hpp"

namespace lather::batch {

enum class RunStatus {
  missing,        // not begun
  interrupted,    // can be resumed
  done,           // whatever the result: also without reaching a target, or not a number at the end
  out_of_memory,  // a result
  failed,         // an error; tried again the next time
  elsewhere,      // another process has it at the moment
  crowded_out,    // found no memory beside other runs: to be repeated alone
};

struct RunRecord {
  RunStatus status = RunStatus::missing;
  std::filesystem::path folder;
  std::string message;                  // why it ended or failed
  bool was_there = false;               // it had ended before it was asked for
  std::vector<std::string> notes = {};  // of resuming it
};
// It is not tried again.
inline bool is_result(const RunRecord& run) {
  return run.status == RunStatus::done || run.status == RunStatus::out_of_memory;
}

// It ran to an end of some kind.
inline bool has_ended(const RunRecord& run) { return is_result(run) || run.status == RunStatus::failed; }

// Whether other runs of this process may be taking memory at the same time.
enum class Company { none, others };

// What is kept of a finished run (there may be hundreds of them): everything, or its history with the log of
// events, unless that is long.
enum class Keep { all, history };

class RunStore {
 public:
  explicit RunStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_of(const train::Config& config) const;
  RunRecord find(const train::Config& config) const;
  // Starts or resumes the run; returns at once if it is done. Does not throw: an error is a status.
  RunRecord run(const train::Config& config, Keep keep, const train::Watcher& watcher,
                Company company = Company::none) const;

 private:
  // Folders in which this process is training: another thread that wants the same run waits for it.
  struct Busy {
    std::mutex mutex;
    std::condition_variable changed;
    std::set<std::filesystem::path> folders;
  };
  class Claim;

  std::filesystem::path folder_;
  std::shared_ptr<Busy> busy_ = std::make_shared<Busy>();
};

nlohmann::json read_summary(const RunRecord& run);  // null if there is none

}  // namespace lather::batch
