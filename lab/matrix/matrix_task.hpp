#pragma once
// The paper's matrix problems by name, with the settings of runs on them.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/optim/optimizer_spec.hpp"
#include "matrix/matrix_problems.hpp"

namespace lather::lab {

enum class TaskSize { paper, small };

// Where a run starts and what it sees, in addition to the problem's own options.
struct TaskRunOptions {
  double start_scale = 1;        // of the starting point, uniform on (-1, 1)
  std::int64_t batch_steps = 1;  // a batch is kept this many steps, so that secants belong to one function
  bool renew_secants = false;    // take the last gradient again on every new batch
  void fields(FieldVisitor& v) {
    v.real("start_scale", start_scale, "multiplies the starting point; 0: start at zero", non_negative());
    v.integer("batch_steps", batch_steps, "steps taken on one batch: secants need two", at_least(1));
    v.boolean(
        "renew_secants", renew_secants,
        "SS-eSOAP takes its last gradient again on each new batch, so that every step has a secant; costs a "
        "gradient");
  }
};

std::vector<std::string> task_names();
std::vector<std::string> task_metric_names(const std::string& task);

struct MatrixTask {
  std::unique_ptr<MatrixProblem> problem;
  TaskRunOptions run;
};
// `settings`: options of the problem and of TaskRunOptions. Throws Error for unknown names and keys, and for
// a seed among them, which would not be used.
MatrixTask make_task(const std::string& name, TaskSize size, const nlohmann::json& settings,
                     std::int64_t seed);

// Throws Error if the optimizer cannot hold this task's parameters, or needs what the problem does not offer,
// such as residuals: it takes a step on the small problem, and so do those that it hands over to.
void require_usable(const std::string& name, const MatrixTask& task, const optim::OptimizerSpec& optimizer);

}  // namespace lather::lab
