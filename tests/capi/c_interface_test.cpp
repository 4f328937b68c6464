// The C interface: it computes what the library computes, and mistakes give codes with messages.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "decay.hpp"
#include "lather/core/files.hpp"
#include "lather/lather.h"
#include "lather/optim/catalogue.hpp"
#include "lather/train/run.hpp"
#include "optim/test_functions.hpp"

namespace lather {
namespace {

using Json = nlohmann::json;

TEST(CInterface, SaysWhatIsWrongAndWhere) {
  lather_problem* problem = nullptr;
  EXPECT_EQ(lather_problem_open("burgerz", &problem), LATHER_INVALID);
  EXPECT_NE(std::strstr(lather_last_error(), "did you mean 'burgers'"), nullptr) << lather_last_error();
  EXPECT_EQ(lather_problem_from_text("name = \"x\"\ncoordinate = [\"t\"]\n", "mine.toml", &problem),
            LATHER_INVALID);
  EXPECT_NE(std::strstr(lather_last_error(), "mine.toml:"), nullptr) << lather_last_error();
  EXPECT_EQ(problem, nullptr);
  EXPECT_EQ(lather_problem_open(nullptr, &problem), LATHER_INVALID);
  EXPECT_EQ(lather_problem_open("burgers", nullptr), LATHER_INVALID);

  lather_trainer* made = nullptr;
  const auto mine = decay();
  for (const auto& [settings, words] :
       std::vector<std::pair<const char*, const char*>>{{R"({"optimizr": "lm"})", "did you mean 'optimizer'"},
                                                        {R"({"optimizer": "adm"})", "did you mean 'adam'"},
                                                        {R"({"device": "gpu"})", "device"},
                                                        {R"({"steps": 0})", "steps"},
                                                        {R"({"steps": "many"})", "steps"},
                                                        {R"({"target": "l3=1"})", "target"},
                                                        {R"({"set": {"network.widht": 3}})", "widht"},
                                                        {R"({"set": 3})", "set"},
                                                        {R"([1])", "object"},
                                                        {R"({"steps": )", "settings"}}) {
    EXPECT_EQ(lather_trainer_create(mine.get(), settings, nullptr, nullptr, &made), LATHER_INVALID)
        << settings;
    EXPECT_NE(std::strstr(lather_last_error(), words), nullptr) << settings << ": " << lather_last_error();
  }
  EXPECT_EQ(lather_trainer_step(nullptr, 1, nullptr), LATHER_INVALID);
  EXPECT_STREQ(lather_last_error(), "trainer is NULL");
  lather_trainer_free(nullptr);
}

TEST(CInterface, ErrorsAndTextsBelongToTheirThread) {
  lather_problem* problem = nullptr;
  EXPECT_EQ(lather_problem_open("no-such-problem", &problem), LATHER_INVALID);
  const std::string mine = lather_last_error();
  const char* text = nullptr;
  ok(lather_problem_names(&text));
  const std::string names = text;
  std::thread([] {
    EXPECT_STREQ(lather_last_error(), "");
    const char* other = nullptr;
    ok(lather_optimizer_catalogue(&other));
  }).join();
  EXPECT_EQ(lather_last_error(), mine);
  EXPECT_EQ(text, names);
}

TEST(CInterface, StepsAreThoseOfTheTrainer) {
  const auto training = trainer(R"({"seed": 3, "threads": 1, "set": {"network": {"width": 5}}})");
  auto step = sized<lather_step>();
  for (int i = 0; i < 4; ++i) ok(lather_trainer_step(training.get(), 1, &step));
  std::vector<double> x(lather_trainer_size(training.get()));
  ok(lather_trainer_parameters(training.get(), 0, x.data()));

  train::ConfigRequest request;
  request.problem = "decay.toml";
  request.text = kDecay;
  request.seed = 3;
  request.threads = 1;
  request.settings = {{"network.width", "5"}};
  train::Trainer plain(train::resolve(request));
  optim::StepReport report;
  for (int i = 0; i < 4; ++i) report = plain.advance();
  EXPECT_EQ(x, std::vector<double>(plain.parameters().begin(), plain.parameters().end()));
  EXPECT_EQ(step.loss, report.loss);
  EXPECT_EQ(step.status, LATHER_RUNNING);
}

TEST(CInterface, ObjectiveGradientAndJacobianFitTogether) {
  lather_objective* made = nullptr;
  ok(lather_objective_create(decay().get(), nullptr, &made));
  const Objective loss(made);
  const std::size_t n = lather_objective_size(made), m = lather_objective_residual_count(made);
  ASSERT_EQ(m, 41u);
  std::vector<double> x(n), g(n), r(m), J(m * n), v(n), Jv(m), w(m), Jtw(n);
  ok(lather_objective_initialize(made, 7, x.data()));
  double value = 0;
  ok(lather_objective_gradient(made, x.data(), &value, g.data()));
  ok(lather_objective_residuals(made, x.data(), r.data()));
  ok(lather_objective_jacobian(made, x.data(), 0, m, J.data()));
  for (std::size_t i = 0; i < n; ++i) v[i] = std::sin(1.0 + i);
  for (std::size_t i = 0; i < m; ++i) w[i] = std::cos(1.0 + i);
  ok(lather_objective_jacobian_times(made, x.data(), v.data(), Jv.data()));
  ok(lather_objective_transposed_jacobian_times(made, x.data(), w.data(), Jtw.data()));
  double squares = 0;
  for (const double ri : r) squares += ri * ri;
  EXPECT_NEAR(value, squares, 1e-13 * squares);
  for (std::size_t k = 0; k < n; ++k) {
    double Jtr = 0, plain = 0;
    for (std::size_t i = 0; i < m; ++i) Jtr += J[i * n + k] * r[i], plain += J[i * n + k] * w[i];
    EXPECT_NEAR(g[k], 2 * Jtr, 1e-12 * (1 + std::abs(g[k])));
    EXPECT_NEAR(Jtw[k], plain, 1e-12 * (1 + std::abs(plain)));
  }
  for (std::size_t i = 0; i < m; ++i) {
    double plain = 0;
    for (std::size_t k = 0; k < n; ++k) plain += J[i * n + k] * v[k];
    EXPECT_NEAR(Jv[i], plain, 1e-12 * (1 + std::abs(plain)));
  }
  EXPECT_EQ(lather_objective_jacobian(made, x.data(), 40, 2, J.data()), LATHER_INVALID);

  // Other points: fewer residuals.
  const double two[] = {0.25, 0.75};
  ok(lather_objective_set_points(made, "interior", 2, two));
  EXPECT_EQ(lather_objective_residual_count(made), 3u);
  EXPECT_EQ(lather_objective_set_points(made, "inside", 2, two), LATHER_INVALID);
  EXPECT_NE(std::strstr(lather_last_error(), "unknown point set 'inside'"), nullptr) << lather_last_error();
}

// f = sum (x_i - i)^2, as a value with gradient, or as residuals.
std::int32_t value_of(void*, const double* x, double* value, double* gradient) {
  *value = 0;
  for (int i = 0; i < 6; ++i) {
    *value += (x[i] - i) * (x[i] - i);
    if (gradient) gradient[i] = 2 * (x[i] - i);
  }
  return 0;
}
std::int32_t residuals_of(void*, const double* x, double* r) {
  for (int i = 0; i < 6; ++i) r[i] = x[i] - i;
  return 0;
}
std::int32_t rows_of(void*, const double*, std::uint64_t first, std::uint64_t count, double* rows) {
  std::fill(rows, rows + count * 6, 0.0);
  for (std::uint64_t k = 0; k < count; ++k) rows[k * 6 + first + k] = 1;
  return 0;
}
std::int32_t fails(void*, const double*, double*, double*) { return 1; }

constexpr const char* kBlocks = R"([{"name": "W", "rows": 2, "cols": 2}, {"name": "b", "size": 2}])";

Objective objective_of(const lather_function& function) {
  lather_objective* made = nullptr;
  ok(lather_objective_from_function(&function, kBlocks, &made));
  return Objective(made);
}

Method method(const char* settings) {
  lather_optimizer* made = nullptr;
  ok(lather_optimizer_create(settings, kBlocks, LATHER_CPU, &made));
  return Method(made);
}

TEST(CInterface, MinimizesAFunctionOfTheCallers) {
  auto by_value = sized<lather_function>();
  by_value.value = value_of;
  auto by_residuals = sized<lather_function>();
  by_residuals.residual_count = 6;
  by_residuals.residuals = residuals_of;
  by_residuals.jacobian = rows_of;
  for (const auto& [name, function] :
       {std::pair{R"({"name": "lbfgs"})", &by_value}, std::pair{R"({"name": "lm"})", &by_residuals},
        std::pair{R"({"name": "lbfgs"})", &by_residuals}}) {
    const auto objective = objective_of(*function);
    const auto optimizer = method(name);
    double x[6] = {}, value = 1;
    auto step = sized<lather_step>();
    for (int i = 0; i < 30 && step.status == LATHER_RUNNING; ++i)
      ok(lather_optimizer_step(optimizer.get(), objective.get(), x, &step));
    ok(lather_objective_value(objective.get(), x, &value));
    EXPECT_LT(value, 1e-18) << name;
  }
  auto nothing = sized<lather_function>();
  lather_objective* made = nullptr;
  EXPECT_EQ(lather_objective_from_function(&nothing, kBlocks, &made), LATHER_INVALID);
}

TEST(CInterface, AFunctionThatFailsEndsTheCallAndLeavesX) {
  auto function = sized<lather_function>();
  function.value = fails;
  const auto objective = objective_of(function);
  for (const char* name : {R"({"name": "adam"})", R"({"name": "lbfgs"})"}) {
    const auto optimizer = method(name);
    double x[6] = {1, 2, 3, 4, 5, 6};
    EXPECT_EQ(lather_optimizer_step(optimizer.get(), objective.get(), x, nullptr), LATHER_CALLBACK);
    EXPECT_EQ(x[2], 3);
  }
}

// Steps with given gradients are the same as on an objective with those gradients, in both precisions.
TEST(CInterface, GivenGradientsTakeTheStepsOfAnObjective) {
  auto function = sized<lather_function>();
  function.value = value_of;
  const auto objective = objective_of(function);
  for (const auto& entry : optim::catalogue()) {
    const std::string& name = entry.name;
    if (entry.needs_residuals) continue;
    const std::string settings = Json{{"name", name}}.dump();
    const auto reference = method(settings.c_str()), given = method(settings.c_str());
    double x[6] = {}, gradient[6], value = 0, W[4] = {}, b[2] = {};
    const lather_tensor tensors[] = {{W, gradient, LATHER_FLOAT64, 4}, {b, gradient + 4, LATHER_FLOAT64, 2}};
    if (entry.family != optim::Family::first_order && entry.family != optim::Family::kronecker) {
      EXPECT_EQ(lather_optimizer_apply(given.get(), tensors, 2, 0, nullptr, nullptr), LATHER_INVALID) << name;
      continue;
    }
    for (int i = 0; i < 12; ++i) {
      ok(lather_objective_gradient(objective.get(), x, &value, gradient));
      ok(lather_optimizer_step(reference.get(), objective.get(), x, nullptr));
      auto step = sized<lather_step>();
      ok(lather_optimizer_apply(given.get(), tensors, 2, value, nullptr, &step));
      EXPECT_EQ(step.loss, value);
    }
    EXPECT_EQ(std::vector<double>(x, x + 4), std::vector<double>(W, W + 4)) << name;
    EXPECT_EQ(std::vector<double>(x + 4, x + 6), std::vector<double>(b, b + 2)) << name;
  }
  const auto adam = method(R"({"name": "adam", "learning_rate": 0.5})");
  float W[4] = {1, 2, 3, 4}, b[2] = {5, 6}, g[4] = {1, -1, 1, -1};
  const lather_tensor floats[] = {{W, g, LATHER_FLOAT32, 4}, {b, g, LATHER_FLOAT32, 2}};
  ok(lather_optimizer_apply(adam.get(), floats, 2, NAN, nullptr, nullptr));
  EXPECT_NEAR(W[0], 0.5, 1e-6);
  EXPECT_NEAR(b[1], 6.5, 1e-6);
  EXPECT_EQ(lather_optimizer_apply(adam.get(), floats, 1, 0, nullptr, nullptr), LATHER_INVALID);
}

TEST(CInterface, AnOptimizerGoesOnFromItsBytes) {
  auto function = sized<lather_function>();
  function.value = value_of;
  const auto objective = objective_of(function);
  const auto settings = R"({"name": "ss-esoap"})";
  const auto first = method(settings), second = method(settings);
  double x[6] = {}, y[6];
  for (int i = 0; i < 7; ++i) ok(lather_optimizer_step(first.get(), objective.get(), x, nullptr));
  const void* bytes = nullptr;
  std::uint64_t count = 0;
  ok(lather_optimizer_save(first.get(), &bytes, &count));
  ok(lather_optimizer_load(second.get(), bytes, count));
  std::copy(x, x + 6, y);
  for (int i = 0; i < 7; ++i) {
    ok(lather_optimizer_step(first.get(), objective.get(), x, nullptr));
    ok(lather_optimizer_step(second.get(), objective.get(), y, nullptr));
  }
  EXPECT_EQ(std::vector<double>(x, x + 6), std::vector<double>(y, y + 6));
  EXPECT_EQ(lather_optimizer_load(second.get(), "nonsense", 8), LATHER_INVALID);
}

struct Seen {
  int calls = 0, stop_at = 0;
  std::int64_t last = 0;
};
std::int32_t watch(void* user, const lather_progress* p) {
  auto& seen = *static_cast<Seen*>(user);
  seen.last = p->step;
  return ++seen.calls == seen.stop_at;
}

TEST_F(CInterfaceRun, RunsStopsResumesAndReadsAsTheCommandDoes) {
  const auto settings = R"({"threads": 1, "seed": 2})";
  const auto whole = trainer(settings, at("whole").c_str());
  const char* text = nullptr;
  ok(lather_trainer_run(whole.get(), nullptr, &text));
  const auto summary = Json::parse(text);
  EXPECT_EQ(summary["reason"], "steps");
  EXPECT_LT(summary["best"]["l2"]["u"], 1e-3);

  Seen seen{.stop_at = 5};
  auto watcher = sized<lather_watcher>();
  watcher.user = &seen;
  watcher.progress = watch;
  watcher.interval = 100;
  {
    const auto stopped = trainer(settings, at("stopped").c_str());
    ok(lather_trainer_run(stopped.get(), &watcher, &text));
    EXPECT_EQ(Json::parse(text)["reason"], "interrupted");
    EXPECT_EQ(seen.last, 5);
  }
  lather_trainer* made = nullptr;
  ok(lather_trainer_resume(at("stopped").c_str(), nullptr, &made));
  const Training resumed(made);
  ok(lather_trainer_run(made, nullptr, &text));
  EXPECT_EQ(read_file(at("stopped") + "/history.csv"), read_file(at("whole") + "/history.csv"));

  ok(lather_trainer_open(at("whole").c_str(), &made));
  const Training read(made);
  EXPECT_EQ(lather_trainer_run(made, nullptr, &text), LATHER_INVALID);  // open for reading
  const double t[] = {0, 1};
  double values[2][2], truth[2];
  ok(lather_trainer_predict(made, 1, "u,u_t", 2, t, &values[0][0]));
  ok(lather_trainer_reference(made, 2, t, truth));
  EXPECT_NEAR(values[1][0], std::exp(-1), 1e-3);
  EXPECT_NEAR(values[1][1], -std::exp(-1), 1e-2);
  EXPECT_NEAR(truth[1], std::exp(-1), 1e-14);
  EXPECT_EQ(lather_trainer_predict(made, 1, "u,v", 2, t, &values[0][0]), LATHER_INVALID);

  const std::string folder = at("whole");
  const char* runs[] = {folder.c_str()};
  ok(lather_report_page(runs, 1, &text));
  EXPECT_EQ(std::string(text).rfind("<!", 0), 0u);
  ok(lather_report_figure(runs, 1, &text));
  EXPECT_NE(std::string(text).find("<svg"), std::string::npos);
  const auto groups = Json::array({{{"name", "lm"}, {"summaries", {summary}}}}).dump();
  ok(lather_report_table(groups.c_str(), 0, &text));
  EXPECT_NE(std::string(text).find("| lm"), std::string::npos) << text;
}

TEST_F(CInterfaceRun, TakesWhatHasEndedAndGoesOnWithTheRest) {
  const auto begin = [&](const char* settings) {
    lather_trainer* made = nullptr;
    const auto status = lather_trainer_create_or_resume(decay().get(), settings, at("run").c_str(), &made);
    EXPECT_EQ(status, std::strstr(settings, "seed") ? LATHER_INVALID : LATHER_OK) << lather_last_error();
    return Training(made);
  };
  Seen seen{.stop_at = 3};
  auto watcher = sized<lather_watcher>();
  watcher.user = &seen;
  watcher.progress = watch;
  const char* text = nullptr;
  ok(lather_trainer_run(begin("{}").get(), &watcher, &text));
  ok(lather_trainer_run(begin("{}").get(), &watcher, &text));
  EXPECT_EQ(Json::parse(text)["reason"], "steps");
  const int calls = seen.calls;
  ok(lather_trainer_run(begin("{}").get(), &watcher, &text));  // nothing is left to do
  EXPECT_EQ(seen.calls, calls);
  EXPECT_EQ(Json::parse(text)["reason"], "steps");
  begin(R"({"seed": 9})");  // another run
}

TEST_F(CInterfaceRun, ACheckpointInAFileBringsTheTrainerBack) {
  const auto first = trainer(R"({"threads": 1})"), second = trainer(R"({"threads": 1})"),
             other = trainer(R"({"seed": 5})");
  ok(lather_trainer_step(first.get(), 1, nullptr));
  ok(lather_trainer_step(first.get(), 1, nullptr));
  ok(lather_trainer_save(first.get(), at("state").c_str()));
  ok(lather_trainer_load(second.get(), at("state").c_str()));
  std::vector<double> x(lather_trainer_size(first.get())), y(x.size());
  for (auto* training : {first.get(), second.get()}) ok(lather_trainer_step(training, 1, nullptr));
  ok(lather_trainer_parameters(first.get(), 0, x.data()));
  ok(lather_trainer_parameters(second.get(), 0, y.data()));
  EXPECT_EQ(x, y);
  EXPECT_EQ(lather_trainer_load(other.get(), at("state").c_str()), LATHER_INVALID);
  EXPECT_NE(std::strstr(lather_last_error(), "other settings"), nullptr);
}

TEST_F(CInterfaceRun, TwoThreadsTrainAtOnceAndGetWhatOneGets) {
  const auto curve = [&](const std::string& name, int seed) {
    const auto settings = Json{{"seed", seed}, {"threads", 1}}.dump();
    const auto training = trainer(settings.c_str(), at(name).c_str());
    ok(lather_trainer_run(training.get(), nullptr, nullptr));
    return read_file(at(name) + "/history.csv");
  };
  const std::string one = curve("one", 1), two = curve("two", 2);
  std::string first, second;
  std::thread other([&] { second = curve("second", 2); });
  first = curve("first", 1);
  other.join();
  EXPECT_EQ(first, one);
  EXPECT_EQ(second, two);
}

}  // namespace
}  // namespace lather
