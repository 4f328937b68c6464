#include "matrix/matrix_task.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/optim/wrappers/composed.hpp"

namespace lather::lab {

namespace {

using Json = nlohmann::json;

// Both are read from one object, whose keys belong to one or the other.
template <class Problem>
struct TaskOptions {
  Problem problem;
  TaskRunOptions run;
  void fields(FieldVisitor& v) {
    problem.fields(v);
    run.fields(v);
  }
};

template <class Problem, class Options>
MatrixTask make(const Options& defaults, const Json& settings, std::int64_t seed) {
  if (settings.contains("seed"))
    throw Error(
        "task.seed cannot be set, since every run has a seed of its own; how many there are is set with "
        "--seeds, in an experiment file with seeds");
  TaskOptions<Options> options{defaults, {}};
  options::set_all(options, "task", settings);
  options.problem.seed = seed;
  auto problem = std::make_unique<Problem>(options.problem);
  if (!problem->stochastic())
    for (const char* key : {"batch_steps", "renew_secants"})
      if (settings.contains(key))
        throw Error(
            fmt::format("task.{} has no effect: every step sees the whole problem, not a batch", key));
  return {std::move(problem), options.run};
}

}  // namespace

std::vector<std::string> task_names() { return {"quadratic", "logistic", "completion"}; }

MatrixTask make_task(const std::string& name, TaskSize size, const Json& settings, std::int64_t seed) {
  const bool small = size == TaskSize::small;
  if (name == "quadratic")
    return make<QuadraticRegression>(small ? QuadraticRegressionOptions{.m = 50, .n = 10, .p = 100, .q = 25}
                                           : QuadraticRegressionOptions{},
                                     settings, seed);
  if (name == "logistic")
    return make<LogisticRegression>(
        small ? LogisticRegressionOptions{.m = 100, .n = 10, .N = 1000, .q = 40, .batch = 100}
              : LogisticRegressionOptions{},
        settings, seed);
  if (name == "completion")
    return make<MatrixCompletion>(
        small ? MatrixCompletionOptions{.m = 50, .n = 25, .r = 3} : MatrixCompletionOptions{}, settings,
        seed);
  throw Error(unknown_name_message("task", name, task_names()));
}

std::vector<std::string> task_metric_names(const std::string& task) {
  return make_task(task, TaskSize::small, Json::object(), 0).problem->metric_names();
}

void require_usable(const std::string& name, const MatrixTask& task, const optim::OptimizerSpec& spec) {
  optim::make_composed(task.problem->layout(), spec);
  const auto small = make_task(name, TaskSize::small, Json::object(), 0);
  for (const auto* each = &spec; each;
       each = each->wrappers.then ? each->wrappers.then->optimizer.get() : nullptr) {
    optim::OptimizerSpec alone = *each;
    alone.wrappers.then.reset();
    auto x = small.problem->initial_point();
    optim::make_composed(small.problem->layout(), alone)->step(*small.problem, x);
  }
}

}  // namespace lather::lab
