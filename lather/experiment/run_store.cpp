#include "lather/experiment/run_store.hpp"

#include <fmt/format.h>

#include <new>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/core/peak_memory.hpp"

namespace lather::experiment {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kFailure = "failure.json";

std::uint64_t hash_of(const train::Config& config) {
  Json json = train::to_json(config);
  json.erase("lather");
  return checksum(json.dump());
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
  std::error_code ignored;
  fs::remove_all(folder / "checkpoints", ignored);
  for (const char* name : {"history.csv", "diagnostics.jsonl", "fields.json"})
    fs::remove(folder / name, ignored);
  if (keep == Keep::history) return;
  for (const char* name : {"history.jsonl", "timing.csv", "environment.json"})
    fs::remove(folder / name, ignored);
}

train::Outcome train_in(const fs::path& path, const train::Config& config, const train::Watcher& watcher) {
  const bool begun = fs::exists(path / "config.json");
  auto folder = begun ? train::RunFolder::open(path) : train::RunFolder::create(path, config);
  train::Trainer trainer(config);
  double seconds = 0;
  if (begun) {
    std::vector<std::string> messages;
    seconds = train::restore(trainer, folder, messages);
  }
  return train::run(trainer, folder, watcher, seconds);
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

fs::path RunStore::folder_of(const train::Config& config, bool alone) const {
  return folder_ / fmt::format("{}-{}-{}-{:016x}{}", config.problem.name, config.optimizer.name, config.seed,
                               hash_of(config), alone ? "-alone" : "");
}

RunRecord RunStore::find(const train::Config& config, bool alone) const {
  const fs::path folder = folder_of(config, alone);
  if (fs::exists(folder / kFailure)) return recorded_failure(folder);
  if (fs::exists(folder / "summary.json")) {
    const Json summary = train::read_json(folder / "summary.json");
    if (summary.value("reason", "interrupted") != "interrupted")
      return {RunStatus::done, folder, summary.value("message", "")};
  }
  const bool begun = fs::exists(folder / "config.json");
  return {begun ? RunStatus::interrupted : RunStatus::missing, folder, ""};
}

RunRecord RunStore::run(const train::Config& config, bool alone, Keep keep,
                        const train::Watcher& watcher) const {
  RunRecord record{RunStatus::missing, folder_of(config, alone), ""};
  const Claim claim(busy_, record.folder);
  try {
    record = find(config, alone);
    if (record.status == RunStatus::done || record.status == RunStatus::out_of_memory) return record;
    if (record.status == RunStatus::failed) fs::remove(record.folder / kFailure);
    if (alone) forget_peak_memory();
    const auto outcome = train_in(record.folder, config, watcher);
    if (outcome.reason == train::EndReason::interrupted)
      return {RunStatus::interrupted, record.folder, outcome.message};
    leave_out(record.folder, keep);
    return {RunStatus::done, record.folder, outcome.message};
  } catch (const std::bad_alloc&) {
    return record_failure(record.folder, "out of memory", true);
  } catch (const std::exception& error) {
    const std::string message = error.what();
    return record_failure(record.folder, message, message.find("memory") != message.npos);
  }
}

Json read_summary(const RunRecord& run) {
  const fs::path file = run.folder / "summary.json";
  return run.status == RunStatus::done && fs::exists(file) ? train::read_json(file) : Json();
}

}  // namespace lather::experiment
