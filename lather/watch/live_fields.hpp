#pragma once
// Fields of runs in progress, computed from their newest checkpoints by a thread of the lowest priority: at
// most a twentieth of one core's time, and none when nobody is watching.

#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace lather::watch {

class LiveFields {
 public:
  LiveFields();
  ~LiveFields();
  LiveFields(const LiveFields&) = delete;
  LiveFields& operator=(const LiveFields&) = delete;

  struct Result {
    std::string mark, text;  // which checkpoint; as in fields.json, empty if it cannot be computed
  };
  // The newest available. Those of the checkpoint that `mark` names are requested if they do not exist yet.
  Result fields_of(const std::filesystem::path& run, const std::string& mark);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool end_ = false;
  std::map<std::filesystem::path, std::string> wanted_;  // marks by run
  std::map<std::filesystem::path, Result> results_;
  std::thread worker_;
};

// The newest checkpoint of a run by name and time; empty: there is none.
std::string newest_checkpoint(const std::filesystem::path& run);

}  // namespace lather::watch
