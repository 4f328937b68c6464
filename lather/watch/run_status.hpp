#pragma once
// The status of runs, from their folders alone: nothing is asked of the training process, and nothing is
// locked. Works for running, finished and copied runs.

#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace lather::watch {

enum class RunState {
  running,
  ended,        // on its own, for whatever reason
  interrupted,  // saved; can be resumed
  stopped,      // killed, or copied while it ran
};
std::string_view name_of(RunState state);

struct RunStatus {
  std::filesystem::path folder;
  std::string id;    // of the folder, for addresses
  std::string name;  // of the folder, relative to the given one
  std::string problem, optimizer, message;
  RunState state = RunState::stopped;
  std::int64_t seed = 0, step = 0, steps = 0, stage = 1;
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  double loss = kUnknown, residual = kUnknown, l2 = kUnknown;  // of an ended run: l2 and residual at its best
  double seconds = kUnknown, steps_per_second = kUnknown;
  double seconds_left = kUnknown;  // of a running one, at its current pace or by its time limit
};
nlohmann::json to_json(const RunStatus& status);  // null for what is unknown

// Files that some process on this machine has locked, by device and inode.
class HeldLocks {
 public:
  HeldLocks();
  bool holds(const std::filesystem::path& file) const;

 private:
  std::set<std::string> places_;
  bool known_ = false;  // otherwise the process named in the file decides
};

// The status of the run in `folder`; what is damaged or missing stays unknown.
RunStatus read_status(const std::filesystem::path& folder, const HeldLocks& locks);

// All runs in and below some folders, and their status. Files that have not changed are not read again.
class RunBoard {
 public:
  // Folders created later are found then. Runs are searched for this many folders deep.
  explicit RunBoard(std::vector<std::filesystem::path> roots);
  static constexpr int kDepth = 4;
  static constexpr std::size_t kMostRuns = 5000;  // more are left out, the oldest first

  void update();
  struct Entry {
    RunStatus status;
    std::uint64_t version = 0;  // of the board, when it last changed
    std::string signature;
  };
  const std::vector<Entry>& entries() const { return entries_; }  // running ones first, then by time
  const Entry* find(const std::string& id) const;
  std::uint64_t version() const { return version_; }
  std::uint64_t members_version() const { return members_version_; }  // when a run came, went or moved

 private:
  std::vector<std::filesystem::path> find_folders() const;
  std::vector<std::filesystem::path> roots_;
  std::vector<Entry> entries_;
  std::uint64_t version_ = 0, members_version_ = 0;
};

}  // namespace lather::watch
