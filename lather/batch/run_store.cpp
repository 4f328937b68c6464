#include "lather/batch/run_store.hpp"

#include <fmt/format.h>

#include <new>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/core/memory.hpp"
#include "lather/train/accuracy/known_values.hpp"
#include "lather/train/saved_run.hpp"

namespace lather::batch {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kFailure = "failure.json";
constexpr const char* kSummary = "summary.json";
constexpr std::uintmax_t kMostEventBytes = 1 << 20;

// Everything the numbers of a run depend on.
Json identity_of(const train::Config& config) {
  Json json = train::to_json(config);
  json.erase("lather");
  // Only problems that read other files keep their folder (training_request.cpp). These may change, and where
  // they are does not matter.
  if (const fs::path file = config.problem.file; file.has_parent_path()) {
    json["problem"]["file"] = file.filename().string();
    for (const auto& other : train::external_files(config))
      json["problem"]["files"].push_back(fmt::format("{:016x}", checksum(read_file(other))));
  }
  return json;
}

RunRecord recorded_failure(const fs::path& folder) {
  const Json json = train::read_json(folder / kFailure);
  return {json.value("out_of_memory", false) ? RunStatus::out_of_memory : RunStatus::failed, folder,
          json.value("message", "")};
}

RunRecord record_failure(const fs::path& folder, const std::string& message, bool out_of_memory) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  try {
    write_file_atomically(folder / kFailure,
                          Json{{"out_of_memory", out_of_memory}, {"message", message}}.dump(2));
  } catch (const Error&) {  // then it is tried again
  }
  return {out_of_memory ? RunStatus::out_of_memory : RunStatus::failed, folder, message};
}

void leave_out(const fs::path& folder, Keep keep) {
  if (keep == Keep::all) return;
  std::error_code ignored;
  fs::remove_all(folder / "checkpoints", ignored);
  for (const char* name : {"history.csv", "diagnostics.jsonl", "fields.json"})
    fs::remove(folder / name, ignored);
  const fs::path events = folder / "events.jsonl";  // empty for most methods, large if every step has some
  const auto size = fs::file_size(events, ignored);
  if (!ignored && (size == 0 || size > kMostEventBytes)) fs::remove(events, ignored);
}

// After a failure, or if what says how it ended cannot be read.
void make_ready_again(const fs::path& folder) {
  fs::remove(folder / kFailure);
  if (!is_there(folder / kSummary)) return;
  const Json summary = Json::parse(read_found_file(folder / kSummary), nullptr, false);
  if (!summary.is_object()) fs::remove(folder / kSummary);
}

// It resumes from its newest checkpoint, just written; those of large networks are tens of megabytes.
void leave_out_of_interrupted(const fs::path& folder) {
  std::error_code ignored;
  const auto checkpoints = train::CheckpointStore(folder / "checkpoints").files();
  for (std::size_t i = 1; i < checkpoints.size(); ++i) fs::remove(checkpoints[i], ignored);
  fs::remove(folder / "fields.json", ignored);
}

// The summary of a run that has ended, however; null of any other.
Json ending_in(const fs::path& folder) {
  if (!is_there(folder / kSummary)) return {};
  const Json summary = train::read_json(folder / kSummary);
  if (!summary.is_object()) throw Error(fmt::format("{} is damaged", kSummary));
  return train::is_of_ended_run(summary) ? summary : Json();
}

// From the newest checkpoint, or from the beginning if there is none or none can be used: the run is the same.
double resume_or_start_over(train::Trainer& trainer, train::RunFolder& folder,
                            std::vector<std::string>& notes) {
  std::vector<std::string> no_news;  // that there is no checkpoint
  if (folder.checkpoints().files().empty()) return train::restore(trainer, folder, no_news);
  try {
    return train::restore(trainer, folder, notes);
  } catch (const Error& error) {
    notes.assign({fmt::format("it starts over: {}", error.what())});
    fs::remove_all(folder.path() / "checkpoints");
    return train::restore(trainer, folder, no_news);
  }
}

// Returns whether it ran to its end. All of it is done while no other process can open the folder.
bool train_in(const fs::path& path, const train::Config& config, Keep keep, const train::Watcher& watcher,
              std::vector<std::string>& notes) {
  require_found_folder(path);
  auto folder = train::RunFolder::open_or_create(path, config);
  if (!ending_in(path).is_null()) return true;  // another process was faster
  const auto scope = StopScope::with(watcher.stop);
  train::Trainer trainer(config);
  const double seconds = resume_or_start_over(trainer, folder, notes);
  train::Watcher own = watcher;
  own.keeps_end = keep == Keep::all;
  const bool ended = train::run(trainer, folder, own, seconds).reason != train::EndReason::interrupted;
  if (ended)
    leave_out(path, keep);
  else if (keep != Keep::all)
    leave_out_of_interrupted(path);
  return ended;
}

}  // namespace

class RunStore::Claim {
 public:
  Claim(std::shared_ptr<Busy> busy, const fs::path& folder) : busy_(std::move(busy)), folder_(folder) {
    std::unique_lock lock(busy_->mutex);
    busy_->changed.wait(lock, [&] { return !busy_->folders.contains(folder_); });
    busy_->folders.insert(folder_);
  }
  ~Claim() {
    {
      const std::lock_guard lock(busy_->mutex);
      busy_->folders.erase(folder_);
    }
    busy_->changed.notify_all();
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 private:
  std::shared_ptr<Busy> busy_;
  fs::path folder_;
};

fs::path RunStore::folder_of(const train::Config& config) const {
  return folder_ / fmt::format("{}-{}-{}-{:016x}", config.problem.name, config.optimizer.name, config.seed,
                               checksum(identity_of(config).dump()));
}

RunRecord RunStore::find(const train::Config& config) const {
  const fs::path folder = folder_of(config);
  try {
    require_found_folder(folder);
    if (is_there(folder / kFailure)) return recorded_failure(folder);
    if (const Json ending = ending_in(folder); !ending.is_null())
      return {RunStatus::done, folder, ending.value("message", "")};
  } catch (const std::exception& error) {  // a damaged file costs its run, not all the others
    return {RunStatus::failed, folder, fmt::format("{}: {}", folder.string(), error.what())};
  }
  const bool begun = is_there(folder / "config.json");
  return {begun ? RunStatus::interrupted : RunStatus::missing, folder, ""};
}

RunRecord RunStore::run(const train::Config& config, Keep keep, const train::Watcher& watcher,
                        Company company) const {
  RunRecord record{RunStatus::missing, folder_of(config), ""};
  // Only a run that had the memory to itself has shown that it needs more than there is.
  const auto found_no_memory = [&](const std::string& message) {
    if (company == Company::none) return record_failure(record.folder, message, true);
    train::known_values().forget();
    return RunRecord{RunStatus::crowded_out, record.folder, message};
  };
  const Claim claim(busy_, record.folder);
  try {
    record = find(config);
    if (is_result(record)) {
      record.was_there = true;
      return record;
    }
    if (record.status == RunStatus::failed) make_ready_again(record.folder);
    std::vector<std::string> notes;
    const bool ended = train_in(record.folder, config, keep, watcher, notes);
    record = ended ? find(config) : RunRecord{RunStatus::interrupted, record.folder, ""};
    record.notes = std::move(notes);
    return record;
  } catch (const Interrupted&) {  // before its training began
    return {RunStatus::interrupted, record.folder, ""};
  } catch (const train::FolderInUse&) {
    return {RunStatus::elsewhere, record.folder, ""};
  } catch (const MemoryLimitExceeded& error) {
    return record_failure(record.folder, error.what(), true);
  } catch (const OutOfMemory& error) {
    return found_no_memory(error.what());
  } catch (const std::bad_alloc&) {
    return found_no_memory("an allocation failed");
  } catch (const std::exception& error) {
    return record_failure(record.folder, error.what(), false);
  }
}

Json read_summary(const RunRecord& run) {
  const fs::path file = run.folder / kSummary;
  return run.status == RunStatus::done && is_there(file) ? train::read_json(file) : Json();
}

}  // namespace lather::batch
