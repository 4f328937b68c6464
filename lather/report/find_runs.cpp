#include "lather/report/find_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/report/run_data.hpp"
#include "lather/train/run_folder/run_folder.hpp"

namespace lather::report {

namespace {

namespace fs = std::filesystem;
using Folders = std::vector<fs::path>;

nlohmann::json read_or_null(const fs::path& file) {
  try {
    return train::read_json(file);
  } catch (const Error&) {  // missing or damaged: the report says so
    return nullptr;
  }
}

// Programs beside Lather may keep runs of other kinds in such a folder.
bool is_no_training(const fs::path& run) {
  const auto config = read_or_null(run / "config.json");
  return config.is_object() && config.contains("task");
}

bool has_history(const fs::path& run) { return is_there(run / "history.jsonl"); }

bool has_ended(const fs::path& run) { return train::is_of_ended_run(read_or_null(run / "summary.json")); }

Folders runs_inside(const fs::path& folder) {
  Folders inside;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && is_run(entry.path())) inside.push_back(entry.path());
  std::sort(inside.begin(), inside.end());
  return inside;
}

// Removes runs of a folder, if there are any such, and says so. Throws Error if no run is left.
template <class Test>
void leave_out(Folders& runs, const Test& test, const fs::path& folder, const std::string& which,
               std::vector<std::string>& notes) {
  const std::size_t count = std::erase_if(runs, test);
  if (count == 0) return;
  const std::string note =
      fmt::format("{}: leaving out {} run{} {}", folder.string(), count, count == 1 ? "" : "s", which);
  if (runs.empty()) throw Error(fmt::format("{}; there is no other run", note));
  notes.push_back(note);
}

}  // namespace

FoundRuns find_runs(std::span<const fs::path> paths) {
  FoundRuns found;
  for (const auto& path : paths) {
    if (!fs::exists(path)) throw Error(fmt::format("there is no folder '{}'", path.string()));
    if (!fs::is_directory(path))
      throw Error(fmt::format("'{}' is a file; expected a run folder or a folder of runs", path.string()));
    const bool single = is_run(path);
    Folders runs = single ? Folders{path} : runs_inside(path);
    if (runs.empty()) require_found_folder(path / "runs");
    const bool nested = runs.empty() && is_there(path / "runs");
    if (nested) runs = runs_inside(path / "runs");
    if (runs.empty())
      throw Error(fmt::format(
          "'{}' is neither a run folder nor a folder of runs: there is no config.json in it", path.string()));
    const auto is_link = [](const fs::path& run) { return fs::is_symlink(run); };
    if (!single)
      leave_out(runs, is_link, path, "reached by links, which can be named themselves", found.notes);
    leave_out(runs, is_no_training, path, "of another kind than trainings", found.notes);
    if (nested)
      leave_out(
          runs, [](const fs::path& run) { return !has_ended(run); }, path, "that did not end", found.notes);
    if (std::any_of(runs.begin(), runs.end(), has_history))
      leave_out(
          runs, [](const fs::path& run) { return !has_history(run); }, path, "without a history",
          found.notes);
    found.folders.insert(found.folders.end(), runs.begin(), runs.end());
  }
  if (found.folders.empty()) throw Error("no run folder was given");
  return found;
}

}  // namespace lather::report
