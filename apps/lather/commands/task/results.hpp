#pragma once
// The runs of `lather task` that have ended, as a table and as files.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "commands/task/data.hpp"
#include "lather/experiment/task_run.hpp"

namespace lather::command::matrix {

struct TaskResults {
  std::string task, size;
  std::vector<std::string> optimizers, metrics;
  std::size_t judged = 0;  // the metric in data.metric
  std::int64_t seeds = 0, steps = 0;
  TaskData data;
  std::map<std::string, optim::OptimizerSpec> specs;
  std::map<std::string, std::vector<experiment::TaskCurve>> curves;  // by optimizer, one per seed

  std::int64_t runs() const { return seeds * static_cast<std::int64_t>(optimizers.size()); }
  std::int64_t runs_ended() const;
};

// The steps that the table has columns for: about a fifth of the run apart, the last step among them.
std::vector<std::int64_t> table_steps(std::int64_t steps);

// Markdown, readable as is in a terminal. Says if runs are missing.
std::string table_of(const TaskResults& results);

// Creates the folder. Throws Error if nothing can be written there.
void require_writable(const std::filesystem::path& folder);

// curves.csv, table.md and settings.json.
void write_results(const TaskResults& results, const std::filesystem::path& folder);

}  // namespace lather::command::matrix
