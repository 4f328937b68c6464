#pragma once
// The folder of a run. docs/command.md describes every file in it.
//
//   config.json        everything the run depends on; `lather train --config` runs it again as it is
//   history.jsonl .csv losses, residuals, errors; the same configuration gives the same bytes
//   diagnostics.jsonl  what the optimizer says about each layer
//   events.jsonl       every basis change, including those between recorded steps
//   timing.csv         step, seconds: separate, because it differs from run to run
//   checkpoints/       the two newest states
//   environment.json   version, compiler, machine
//   summary.json, fields.json   written when the run ends or is interrupted
//   lock               held by the process that writes here

#include <array>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/train/run_folder/checkpoint.hpp"

namespace lather::pde {
struct Problem;
}

namespace lather::train {

struct Config;

// Another process writes into the folder.
class FolderInUse : public Error {
 public:
  using Error::Error;
};

// Exclusive right to write into a folder, until destroyed or the process ends, however it ends.
class FolderLock {
 public:
  FolderLock() = default;                                    // of no folder
  explicit FolderLock(const std::filesystem::path& folder);  // throws FolderInUse, naming the process

 private:
  Descriptor file_;  // closing it releases the lock
};

// Logs that are truncated to their length at a checkpoint's step when it is restored.
enum class Log { history, history_csv, diagnostics, timing, events };
inline constexpr int kLogs = 5;

class RunFolder {
 public:
  // A new folder, or an empty one.
  static RunFolder create(const std::filesystem::path& path, const Config& config);
  // One that holds a run, to continue writing.
  static RunFolder open(const std::filesystem::path& path);
  // One of the two, whichever process comes first: nobody else can begin it in between.
  static RunFolder open_or_create(const std::filesystem::path& path, const Config& config);
  // For a rank that leaves writing to rank 0: what is written to it is discarded.
  static RunFolder of_another_rank() { return RunFolder({}, {}); }
  bool writes() const { return !path_.empty(); }

  const std::filesystem::path& path() const { return path_; }
  CheckpointStore checkpoints() const { return CheckpointStore(path_ / "checkpoints"); }

  void append(Log log, std::string_view line);  // a line feed is added
  std::array<std::uint64_t, kLogs> log_sizes() const;
  void sync_logs();
  // Returns whether the logs were at least that long.
  bool truncate_logs(const std::array<std::uint64_t, kLogs>& sizes);

  void write_json(const std::string& name, const nlohmann::json& content) const;
  void write_file(const std::string& name, const std::string& content) const;

 private:
  RunFolder(std::filesystem::path path, FolderLock lock);
  std::filesystem::path path_;
  FolderLock lock_;
  std::array<AppendFile, kLogs> logs_;
};

// JSON nested no deeper than anything Lather writes; throws Error naming the file if it is damaged.
nlohmann::json parse_json(std::string_view text, const std::string& name);
// A file of a run folder. As a tree, JSON takes many times its bytes.
inline constexpr std::uint64_t kMostJsonBytes = 256 << 20;
nlohmann::json read_json(const std::filesystem::path& path, std::uint64_t most_bytes = kMostJsonBytes);
// Whether this is the summary of a run that has ended, however: not of an interrupted one, nor none at all.
bool is_of_ended_run(const nlohmann::json& summary);

// What a run of the local solver has in place of config.json (train/local_run.hpp).
inline constexpr const char* kLocalConfigFile = "local.json";
// Throws Error unless the folder holds a run of a network.
void require_run(const std::filesystem::path& folder);

// With its parent folders; throws Error if that fails.
void create_folder(const std::filesystem::path& path);
// Creates the first of PARENT/NAME-1, -2, … that does not exist.
std::filesystem::path create_unused_folder(const std::filesystem::path& parent, const std::string& name);

// Copies what a problem reads beside its own file (data, tables, meshes) into a run's folder, so that this
// needs nothing else.
void keep_inputs(const pde::Problem& problem, const std::filesystem::path& run);

// The newest intact state of a run for reading only, without a lock.
Checkpoint read_newest_checkpoint(const std::filesystem::path& run, std::uint64_t identity,
                                  std::vector<std::string>& messages);

}  // namespace lather::train
