#pragma once
// Runs on matrix problems in folders like those of trainings.

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "matrix/task_run.hpp"

namespace lather::lab {

struct TaskSpec {
  std::string task, settings, optimizer;  // the last two as JSON
  TaskSize size = TaskSize::paper;
  TaskLength length;
  std::int64_t seed = 0;
};
nlohmann::json to_json(const TaskSpec& spec);

inline constexpr double kSecondsBetweenTaskSaves = 30;

// Starts or resumes the run, saves it every so often and if it is interrupted, and writes its curve and its
// summary at the end. Returns whether it got there. A save that cannot be used is a note: the run starts over.
bool continue_task(const std::filesystem::path& folder, const TaskSpec& spec,
                   const std::function<bool()>& interrupted, std::vector<std::string>& notes,
                   double seconds_between_saves = kSecondsBetweenTaskSaves);

}  // namespace lather::lab
