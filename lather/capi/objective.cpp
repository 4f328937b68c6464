#include "lather/pde/objective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lather/capi/handles.hpp"
#include "lather/capi/settings.hpp"
#include "lather/optim/foreign_parameters.hpp"
#include "lather/train/needs.hpp"

namespace lather::capi {

namespace {

// The caller's function as an objective.
class CallersFunction final : public optim::Objective {
 public:
  CallersFunction(const lather_function& function, optim::ParameterLayout layout)
      : f_(function), layout_(std::move(layout)) {
    array_length("lather_function.residual_count", f_.residual_count, layout_.size());
    const bool squares = f_.residual_count > 0;
    if (squares && (!f_.residuals || !f_.jacobian))
      throw Error("lather_function: residual_count is given, residuals or jacobian is NULL");
    if (!squares && !f_.value) throw Error("lather_function: value is NULL, and there are no residuals");
  }
  const optim::ParameterLayout& layout() const override { return layout_; }
  double value(std::span<const double> x) override {
    if (!f_.value) return sum_of_squares(x);
    double value = 0;
    call("lather_function.value", [&] { return f_.value(f_.user, x.data(), &value, nullptr); });
    return value;
  }
  double value_and_gradient(std::span<const double> x, std::span<double> gradient) override {
    if (f_.value) {
      double value = 0;
      call("lather_function.value", [&] { return f_.value(f_.user, x.data(), &value, gradient.data()); });
      return value;
    }
    const double value = sum_of_squares(x);
    transposed_jacobian_times(x, r_, gradient);  // gradient = 2 J^T r
    for (double& g : gradient) g *= 2;
    return value;
  }
  std::size_t residual_count() const override { return f_.residual_count; }
  void residuals(std::span<const double> x, std::span<double> r) override {
    call("lather_function.residuals", [&] { return f_.residuals(f_.user, x.data(), r.data()); });
  }
  void jacobian_rows(std::span<const double> x, std::size_t first, std::size_t count, double* rows) override {
    call("lather_function.jacobian", [&] { return f_.jacobian(f_.user, x.data(), first, count, rows); });
  }

 private:
  template <class F>
  static void call(const char* name, F&& function) {
    const std::int32_t status = called_back(name, function);
    if (status != 0) throw CallbackFailed(fmt::format("{} has returned {}", name, status));
    poll_stop();
  }
  double sum_of_squares(std::span<const double> x) {
    r_.resize(f_.residual_count);
    residuals(x, r_);
    double sum = 0;
    for (const double r : r_) sum += r * r;
    return sum;
  }
  lather_function f_;
  optim::ParameterLayout layout_;
  std::vector<double> r_;
};

pde::PinnObjective& loss_of(const lather_objective& handle) {
  auto* const loss = handle.loss;
  if (!loss) throw Error("this objective is a function of the caller's; problems only have points and seeds");
  return *loss;
}

optim::Objective& squares_of(const lather_objective& handle) {
  auto& function = *handle.objective;
  if (function.residual_count() == 0) throw Error("this objective has no residuals");
  return function;
}

template <class T>
std::span<T> array(T* data, std::size_t size, const char* name) {
  return {&required(data, name), size};
}

void draw_points(lather_objective& handle, std::uint64_t seed, std::span<const double> x) {
  pde::PointSource source(handle.loss->problem(), handle.sampling, seed);
  source.update(0, *handle.loss, x);
  handle.residual_count = handle.loss->residual_count();
}

std::unique_ptr<lather_objective> objective_of(const train::ProblemSource& source, const char* settings) {
  const train::Config config = train::resolve(read_settings(settings, source));
  const pde::Problem problem = train::read_problem(config);
  train::Config alone = config;  // without the optimizer of the recipe, which is not used
  alone.optimizer = optim::OptimizerSpec("sgd");
  train::require_room(alone, problem);
  auto loss = std::make_unique<pde::PinnObjective>(
      problem, pde::EngineOptions{.device = config.device,
                                  .threads = static_cast<int>(config.threads),
                                  .precision = config.precision});
  auto* const same = loss.get();
  auto handle = std::make_unique<lather_objective>(std::move(loss));
  handle->loss = same;
  handle->sampling = pde::sampling_settings(config.training.points, problem);
  draw_points(*handle, config.seed, handle->loss->initialize(config.seed));
  return handle;
}

void set_points(pde::PinnObjective& loss, const std::string& name, std::size_t count, const double* rows) {
  const auto& sets = loss.problem().point_sets;
  std::vector<std::string> names;
  std::size_t chosen = sets.size();
  for (std::size_t s = 0; s < sets.size(); ++s) {
    names.push_back(sets[s].name);
    if (sets[s].name == name) chosen = s;
  }
  if (chosen == sets.size()) throw Error(unknown_name_message("point set", name, names));
  if (sets[chosen].kind == pde::PointSet::Kind::data)
    throw Error(fmt::format("'{}' is a set of data; its points are those of its file", name));
  if (count == 0) throw Error(fmt::format("'{}': expected at least one point", name));
  const auto dimensions = static_cast<std::size_t>(loss.problem().dimensions());
  const auto given = array(rows, array_length("count", count, dimensions), "coordinates");
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!std::isfinite(given[i]))
      throw Error(fmt::format("'{}': coordinate {} of point {} is {}", name, i % dimensions + 1,
                              i / dimensions + 1, given[i]));
  pde::Points points;
  points.coordinates.assign(dimensions, std::vector<double>(count));
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < dimensions; ++k) points.coordinates[k][i] = given[i * dimensions + k];
  loss.set_points(static_cast<int>(chosen), std::move(points));
}

}  // namespace
}  // namespace lather::capi

lather_objective::lather_objective(std::unique_ptr<lather::optim::Objective> given)
    : objective(std::move(given)),
      size(objective->size()),
      residual_count(objective->residual_count()),
      gpu(objective->cuda_objective() != nullptr) {}

namespace lather::capi {

extern "C" {

std::int32_t lather_objective_create(const lather_problem* problem, const char* settings,
                                     lather_objective** objective) {
  return guarded([&] {
    required(objective, "the pointer for the result");
    *objective = objective_of(In(problem, "problem", Use::share)->source, settings).release();
  });
}

std::int32_t lather_objective_from_function(const lather_function* function, const char* blocks,
                                            lather_objective** objective) {
  return guarded([&] {
    required(objective, "the pointer for the result");
    const auto known = known_part(required(function, "function"), "lather_function");
    *objective = new lather_objective(std::make_unique<CallersFunction>(known, read_blocks(blocks)));
  });
}

void lather_objective_free(lather_objective* objective) { free_handle(objective); }

std::int32_t lather_objective_info(lather_objective* objective, const char** json) {
  return guarded([&] {
    const In handle(objective, "objective");
    auto& function = *handle->objective;
    nlohmann::json info = {{"size", function.size()},
                           {"residual_count", function.residual_count()},
                           {"blocks", blocks_json(function.layout())},
                           {"terms", function.term_names()},
                           {"point_sets", nlohmann::json::object()}};
    if (const auto* loss = handle->loss)
      for (std::size_t s = 0; s < loss->problem().point_sets.size(); ++s)
        info["point_sets"][loss->problem().point_sets[s].name] = loss->points(static_cast<int>(s)).count();
    give_json(json, info);
  });
}

std::uint64_t lather_objective_size(const lather_objective* objective) {
  return size_of(objective, [](const lather_objective& handle) { return handle.size; });
}

std::uint64_t lather_objective_residual_count(const lather_objective* objective) {
  return size_of(objective, [](const lather_objective& handle) { return handle.residual_count.load(); });
}

std::int32_t lather_objective_initialize(lather_objective* objective, std::uint64_t seed, double* x) {
  return guarded([&] {
    const In handle(objective, "objective");
    auto& loss = loss_of(*handle);
    const auto to = array(x, handle->size, "x");
    const auto start = loss.initialize(seed);
    std::copy(start.begin(), start.end(), to.begin());
    draw_points(*handle, seed, start);
  });
}

std::int32_t lather_objective_set_points(lather_objective* objective, const char* set, std::uint64_t count,
                                         const double* coordinates) {
  return guarded([&] {
    const In handle(objective, "objective");
    auto& loss = loss_of(*handle);
    set_points(loss, required_text(set, "set"), count, coordinates);
    handle->residual_count = loss.residual_count();
  });
}

std::int32_t lather_objective_value(lather_objective* objective, const double* x, double* value) {
  return guarded([&] {
    const In handle(objective, "objective");
    auto& function = *handle->objective;
    required(value, "value") = function.value(array(x, function.size(), "x"));
  });
}

std::int32_t lather_objective_gradient(lather_objective* objective, const double* x, double* value,
                                       double* gradient) {
  return guarded([&] {
    const In handle(objective, "objective");
    auto& function = *handle->objective;
    const double at_x = function.value_and_gradient(array(x, function.size(), "x"),
                                                    array(gradient, function.size(), "gradient"));
    if (value) *value = at_x;
  });
}

std::int32_t lather_objective_gradient_on_device(lather_objective* objective, const double* x, double* value,
                                                 double* gradient, void* stream) {
  return guarded([&] {
    const In handle(objective, "objective");
    auto& loss = loss_of(*handle);
    const double at_x =
        optim::gradient_on_device(loss, &required(x, "x"), &required(gradient, "gradient"), stream);
    if (value) *value = at_x;
  });
}

std::int32_t lather_objective_residuals(lather_objective* objective, const double* x, double* r) {
  return guarded([&] {
    const In handle(objective, "objective");
    auto& f = squares_of(*handle);
    f.residuals(array(x, f.size(), "x"), array(r, f.residual_count(), "r"));
  });
}

std::int32_t lather_objective_jacobian(lather_objective* objective, const double* x, std::uint64_t first,
                                       std::uint64_t count, double* rows) {
  return guarded([&] {
    const In handle(objective, "objective");
    auto& f = squares_of(*handle);
    const std::size_t all = f.residual_count();
    if (first > all || count > all - first)
      throw Error(fmt::format("{} rows from row {} of a Jacobian with {} rows", count, first, all));
    if (count > 0) f.jacobian_rows(array(x, f.size(), "x"), first, count, &required(rows, "rows"));
  });
}

std::int32_t lather_objective_jacobian_times(lather_objective* objective, const double* x, const double* v,
                                             double* Jv) {
  return guarded([&] {
    const In handle(objective, "objective");
    auto& f = squares_of(*handle);
    f.jacobian_times(array(x, f.size(), "x"), array(v, f.size(), "v"), array(Jv, f.residual_count(), "Jv"));
  });
}

std::int32_t lather_objective_transposed_jacobian_times(lather_objective* objective, const double* x,
                                                        const double* w, double* Jtw) {
  return guarded([&] {
    const In handle(objective, "objective");
    auto& f = squares_of(*handle);
    f.transposed_jacobian_times(array(x, f.size(), "x"), array(w, f.residual_count(), "w"),
                                array(Jtw, f.size(), "Jtw"));
  });
}

}  // extern "C"

}  // namespace lather::capi
