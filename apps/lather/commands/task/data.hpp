#pragma once
// The data file of `lather task`: the paper's numbers, and the settings each optimizer is given.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lather/core/formats/toml.hpp"
#include "lather/optim/optimizer_spec.hpp"

namespace lather::command::matrix {

inline constexpr std::int64_t kMostSteps = 1000000000;

struct TaskData {
  std::string citation = "no numbers", metric = "loss";  // the metric that the table shows over the steps
  std::int64_t steps = 1500;
  std::map<std::string, TomlValue> settings;                         // by optimizer
  std::map<std::string, std::map<std::int64_t, std::string>> paper;  // by optimizer and step, as printed
  std::vector<double> learning_rates;                                // for --tune
};

// Checks the whole file, whatever the task: keys, names of optimizers and metrics, values. Errors say where
// in the file they are.
TaskData read_task_data(const std::string& file, const std::string& task);

// `settings` without a name, which is given apart.
optim::OptimizerSpec spec_of(const std::string& name, const TomlValue& settings);

}  // namespace lather::command::matrix
