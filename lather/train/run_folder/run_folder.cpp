#include "lather/train/run_folder/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "lather/core/error.hpp"
#include "lather/pde/coefficient_table.hpp"
#include "lather/train/config.hpp"

namespace lather::train {

namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, kLogs> kLogNames = {"history.jsonl", "history.csv", "diagnostics.jsonl",
                                                      "timing.csv", "events.jsonl"};

// Leftovers of a run killed before it wrote config.json do not count.
void require_no_other_files(const fs::path& folder) {
  if (is_there(folder / "config.json"))
    throw Error(fmt::format("'{0}' holds a run already; resume it with --resume {0}, or give another --out",
                            folder.string()));
  for (const auto& entry : fs::directory_iterator(folder))
    if (const auto name = entry.path().filename(); name != "lock" && name.extension() != ".tmp")
      throw Error(fmt::format("the folder '{}' is not empty (it holds '{}'); give another --out",
                              folder.string(), name.string()));
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder) {
  const fs::path file = folder / "lock";
  file_ = open_found_file(file, O_RDWR | O_CREAT);
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    const std::string owner = read_bytes(file_, file, 0, 64);
    throw FolderInUse(fmt::format("the run folder '{}' is in use by process {}", folder.string(),
                                  owner.empty() ? "(unknown)" : owner));
  }
  const std::string owner = std::to_string(::getpid());
  if (::ftruncate(file_.get(), 0) != 0 || ::pwrite(file_.get(), owner.data(), owner.size(), 0) < 0)
    throw Error(fmt::format("cannot write '{}': {}", file.string(), std::strerror(errno)));
}

RunFolder::RunFolder(fs::path path, FolderLock lock) : path_(std::move(path)), lock_(std::move(lock)) {
  if (!writes()) return;
  for (const fs::path& folder : {path_, path_ / "checkpoints", path_ / "data"})
    remove_temporary_files(folder);
  for (int i = 0; i < kLogs; ++i) logs_[i] = AppendFile(path_ / kLogNames[i]);
}

RunFolder RunFolder::create(const fs::path& path, const Config& config) {
  create_folder(path);
  require_no_other_files(path);
  FolderLock lock(path);
  write_file_atomically(path / "config.json", to_json(config).dump(2) + "\n");
  return RunFolder(path, std::move(lock));
}

RunFolder RunFolder::open(const fs::path& path) {
  if (!fs::is_directory(path)) throw Error(fmt::format("there is no run folder '{}'", path.string()));
  require_run(path);
  FolderLock lock(path);
  return RunFolder(path, std::move(lock));
}

RunFolder RunFolder::open_or_create(const fs::path& path, const Config& config) {
  create_folder(path);
  FolderLock lock(path);
  if (!is_there(path / "config.json"))
    write_file_atomically(path / "config.json", to_json(config).dump(2) + "\n");
  return RunFolder(path, std::move(lock));
}

void RunFolder::append(Log log, std::string_view line) {
  if (!writes()) return;
  std::string bytes(line);
  logs_[static_cast<int>(log)].append(bytes += '\n');
}

std::array<std::uint64_t, kLogs> RunFolder::log_sizes() const {
  std::array<std::uint64_t, kLogs> sizes{};
  for (int i = 0; writes() && i < kLogs; ++i) sizes[i] = logs_[i].size();
  return sizes;
}

void RunFolder::sync_logs() {
  if (!writes()) return;
  for (auto& log : logs_) log.sync();
}

bool RunFolder::truncate_logs(const std::array<std::uint64_t, kLogs>& sizes) {
  bool whole = true;
  for (int i = 0; writes() && i < kLogs; ++i) {
    const fs::path log = path_ / kLogNames[i];  // its last line must end there
    if (sizes[i] > 0 && read_bytes(open_found_file(log, O_RDONLY), log, sizes[i] - 1, 1) != "\n")
      whole = false;
    logs_[i].truncate(sizes[i]);
  }
  return whole;
}

void RunFolder::write_json(const std::string& name, const nlohmann::json& content) const {
  write_file(name, content.dump(2) + "\n");
}

void RunFolder::write_file(const std::string& name, const std::string& content) const {
  if (writes()) write_file_atomically(path_ / name, content);
}

nlohmann::json parse_json(std::string_view text, const std::string& name) {
  using Json = nlohmann::json;
  constexpr int kMostLevels = 64;  // copying and writing are recursive
  const auto limit_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kMostLevels)
      throw Error(fmt::format("'{}' is nested more than {} levels deep", name, kMostLevels));
    return true;
  };
  try {
    return Json::parse(text, limit_depth);
  } catch (const Json::exception& error) {
    throw Error(fmt::format("'{}' is damaged or not valid JSON: {}", name, error.what()));
  }
}

nlohmann::json read_json(const fs::path& path, std::uint64_t most_bytes) {
  return parse_json(read_found_file(path, most_bytes), path.string());
}

bool is_of_ended_run(const nlohmann::json& summary) {
  const auto reason = summary.is_object() ? summary.find("reason") : summary.end();
  return summary.is_object() && reason != summary.end() && *reason != "interrupted";
}

void require_run(const fs::path& folder) {
  if (is_there(folder / "config.json")) return;
  if (is_there(folder / kLocalConfigFile))
    throw Error(
        fmt::format("'{}' holds local polynomials, no network: `lather predict` and `lather eval` read it",
                    folder.string()));
  throw Error(fmt::format("'{}' is not a run folder: it has no config.json", folder.string()));
}

void create_folder(const fs::path& path) {
  std::error_code status;
  fs::create_directories(path, status);
  if (status) throw Error(fmt::format("cannot create the folder '{}': {}", path.string(), status.message()));
}

fs::path create_unused_folder(const fs::path& parent, const std::string& name) {
  create_folder(parent);
  for (int n = 1;; ++n) {
    fs::path path = parent / fmt::format("{}-{}", name, n);
    std::error_code status;
    if (fs::create_directory(path, status)) return path;
    if (status)
      throw Error(fmt::format("cannot create the folder '{}': {}", path.string(), status.message()));
  }
}

void keep_inputs(const pde::Problem& problem, const fs::path& run) {
  const auto data = run / "data";
  const auto keep = [&](const fs::path& file, const std::string& name) {
    const auto copy = data / name;
    if (file.empty() || is_there(copy)) return;
    if (!is_there(data)) fs::create_directory(data);
    require_found_folder(data);
    write_file_atomically(copy, read_file(file));
  };
  for (const auto& set : problem.point_sets) keep(set.file, set.name + ".csv");
  for (const auto& table : problem.tables)
    keep(table->file(),
         pde::CoefficientTable::kept_name(table->name(), fs::path(table->file()).extension().string()));
  for (const fs::path file : problem.files) keep(file, file.filename().string());
}

Checkpoint read_newest_checkpoint(const fs::path& run, std::uint64_t identity,
                                  std::vector<std::string>& messages) {
  auto checkpoint = CheckpointStore(run / "checkpoints").load_newest(identity, messages);
  if (!checkpoint) throw Error(fmt::format("the run '{}' has no checkpoint yet", run.string()));
  return std::move(*checkpoint);
}

}  // namespace lather::train
