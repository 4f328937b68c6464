// Arguments that cannot be right are refused in words before anything happens.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "function.hpp"
#include "lather/optim/catalogue.hpp"

namespace lather {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Misuse, SizesOfStructuresAreCheckedBeforeAnythingHappens) {
  Meanwhile quiet;
  auto function = quiet.function();
  const auto objective = six_objective(function);
  const auto adam = six_optimizer(R"({"name": "adam"})");
  const auto training = trainer(nullptr);
  double x[6] = {}, g[6] = {1, 1, 1, 1, 1, 1};
  const lather_tensor tensors[] = {{x, g, LATHER_FLOAT64, 4}, {x + 4, g, LATHER_FLOAT64, 2}};
  auto step = sized<lather_step>();
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{8}, ~std::uint64_t{0}}) {
    step.size = size;
    EXPECT_EQ(lather_optimizer_step(adam.get(), objective.get(), x, &step), LATHER_INVALID);
    EXPECT_TRUE(says("lather_step.size")) << lather_last_error();
    EXPECT_EQ(lather_optimizer_apply(adam.get(), tensors, 2, 0, nullptr, &step), LATHER_INVALID);
    EXPECT_EQ(lather_trainer_step(training.get(), 1, &step), LATHER_INVALID);
    function.size = size;
    lather_objective* made = nullptr;
    EXPECT_EQ(lather_objective_from_function(&function, kSixBlocks, &made), LATHER_INVALID);
    auto watcher = sized<lather_watcher>();
    watcher.size = size;
    EXPECT_EQ(lather_trainer_run(training.get(), &watcher, nullptr), LATHER_INVALID);
    EXPECT_TRUE(says("lather_watcher.size")) << lather_last_error();
    auto runs = sized<lather_runs_watcher>();
    runs.size = size;
    const char* text = nullptr;
    EXPECT_EQ(lather_sweep(decay().get(), "steps = 1", "x", nullptr, &runs, &text), LATHER_INVALID);
    EXPECT_TRUE(says("lather_runs_watcher.size")) << lather_last_error();
  }
  for (const double value : x) EXPECT_EQ(value, 0);
  const char* info = nullptr;
  ok(lather_trainer_info(training.get(), &info));
  EXPECT_EQ(nlohmann::json::parse(info)["step"], 0);
}

// x is as long as the objective says: an optimizer of more parameters must not read on.
TEST(Misuse, AnOptimizerOfMoreParametersDoesNotReadBeyondX) {
  Meanwhile quiet;
  const auto objective = six_objective(quiet.function());
  const auto adam = six_optimizer(R"({"name": "adam"})", R"([{"name": "long", "size": 20000000}])");
  std::vector<double> x(6);
  EXPECT_EQ(lather_optimizer_step(adam.get(), objective.get(), x.data(), nullptr), LATHER_INVALID);
  EXPECT_TRUE(says("20000000 parameters, the objective has 6")) << lather_last_error();
}

TEST(Misuse, StructuresOfALaterVersionAreReadAsFarAsTheyAreKnown) {
  struct Later {
    lather_step step;
    std::int64_t member;
  } later;
  std::memset(&later, 0x55, sizeof later);
  later.step.size = sizeof later;
  ok(lather_trainer_step(trainer(nullptr).get(), 1, &later.step));
  EXPECT_EQ(later.member, 0x5555555555555555);
  struct LaterFunction {
    lather_function function;
    std::int64_t member = 0;
  } later_function;
  Meanwhile quiet;
  later_function.function = quiet.function();
  later_function.function.size = sizeof later_function;
  six_objective(later_function.function);
  later_function.member = 1;
  lather_objective* made = nullptr;
  EXPECT_EQ(lather_objective_from_function(&later_function.function, kSixBlocks, &made), LATHER_INVALID);
  EXPECT_TRUE(says("does not know")) << lather_last_error();
}

TEST(Misuse, OptimizersRefuseObjectivesOfAnotherSize) {
  lather_objective* made = nullptr;
  ok(lather_objective_create(decay().get(), nullptr, &made));
  const Objective loss(made);
  const auto words =
      "made for 3 parameters, the objective has " + std::to_string(lather_objective_size(made));
  for (const auto& entry : optim::catalogue()) {
    const auto method = six_optimizer((R"({"name": ")" + entry.name + "\"}").c_str(),
                                      R"([{"name": "x", "rows": 3, "cols": 1, "role": "output"}])");
    double x[3] = {1, 2, 3};
    EXPECT_EQ(lather_optimizer_step(method.get(), loss.get(), x, nullptr), LATHER_INVALID) << entry.name;
    EXPECT_TRUE(says(words.c_str())) << lather_last_error();
    EXPECT_EQ(x[1], 2);
  }
}

TEST(Misuse, TensorsAreAsLargeAsTheirBlocks) {
  const auto adam = six_optimizer(R"({"name": "adam"})", R"([{"name": "x", "size": 10000000}])");
  double one = 1;
  const lather_tensor tensor{&one, &one, LATHER_FLOAT64, 1};
  EXPECT_EQ(lather_optimizer_apply(adam.get(), &tensor, 1, 0, nullptr, nullptr), LATHER_INVALID);
  EXPECT_TRUE(says("has 1 elements, block 'x' of the optimizer has 10000000")) << lather_last_error();
  EXPECT_EQ(one, 1);
}

TEST(Misuse, NumbersThatCannotBeMeantAreRefused) {
  lather_optimizer* method = nullptr;
  for (const char* blocks :
       {R"([{"name": "W", "rows": 4294967296, "cols": 4294967296}])",
        R"([{"name": "b", "size": 9223372036854775807}, {"name": "c", "size": 9223372036854775807}])"}) {
    EXPECT_EQ(lather_optimizer_create(R"({"name": "sgd"})", blocks, LATHER_CPU, &method), LATHER_INVALID);
    EXPECT_TRUE(says("no memory holds")) << lather_last_error();
  }
  Meanwhile quiet;
  auto function = quiet.function();
  function.residual_count = std::uint64_t{1} << 63;
  function.residuals = [](void*, const double*, double*) { return 0; };
  function.jacobian = [](void*, const double*, std::uint64_t, std::uint64_t, double*) { return 0; };
  lather_objective* made = nullptr;
  EXPECT_EQ(lather_objective_from_function(&function, kSixBlocks, &made), LATHER_INVALID);

  const auto training = trainer(nullptr);
  auto watcher = sized<lather_watcher>();
  watcher.interval = kNaN;
  EXPECT_EQ(lather_trainer_run(training.get(), &watcher, nullptr), LATHER_INVALID);
  EXPECT_TRUE(says("interval")) << lather_last_error();
  const double t = 0.5;
  double u = 0;
  EXPECT_EQ(lather_trainer_predict(training.get(), 1, "u", ~std::uint64_t{0}, &t, &u), LATHER_INVALID);
  EXPECT_TRUE(says("more than any memory holds")) << lather_last_error();

  ok(lather_objective_create(decay().get(), nullptr, &made));
  const Objective loss(made);
  const double points[] = {0.5, kNaN};
  EXPECT_EQ(lather_objective_set_points(made, "interior", 2, points), LATHER_INVALID);
  EXPECT_TRUE(says("coordinate 1 of point 2 is nan")) << lather_last_error();
  EXPECT_EQ(lather_objective_set_points(made, "interior", std::uint64_t{1} << 62, points), LATHER_INVALID);
  EXPECT_EQ(lather_objective_residual_count(made), 41u);
  const char* const run = "nowhere";
  const char* html = nullptr;
  EXPECT_EQ(lather_report_page(&run, std::uint64_t{1} << 60, &html), LATHER_INVALID);
  EXPECT_TRUE(says("at most 1000000 runs")) << lather_last_error();
  double row = 0;
  EXPECT_EQ(lather_objective_jacobian(made, &row, ~std::uint64_t{0}, 2, &row), LATHER_INVALID);
}

// Every flipped bit is noticed, and what is refused changes nothing.
TEST(Misuse, ADamagedStateIsRefusedAndLeavesTheOptimizerAsItWas) {
  Meanwhile quiet;
  const auto objective = six_objective(quiet.function());
  const auto method = six_optimizer(R"({"name": "adam", "schedule": {"decay": "cosine", "total_steps": 9}})");
  const auto saved = [&] {
    const void* bytes = nullptr;
    std::uint64_t count = 0;
    ok(lather_optimizer_save(method.get(), &bytes, &count));
    return std::string(static_cast<const char*>(bytes), count);
  };
  double x[6] = {};
  ok(lather_optimizer_step(method.get(), objective.get(), x, nullptr));
  const auto earlier = saved();
  ok(lather_optimizer_step(method.get(), objective.get(), x, nullptr));
  const auto now = saved();
  const auto load = [&](const std::string& bytes) {
    return lather_optimizer_load(method.get(), bytes.data(), bytes.size());
  };
  for (std::size_t bit = 0; bit < 8 * earlier.size(); bit += 3) {
    auto damaged = earlier;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    ASSERT_EQ(load(damaged), LATHER_INVALID) << bit;
  }
  for (std::size_t length = 0; length < earlier.size(); length += 7)
    ASSERT_EQ(load(earlier.substr(0, length)), LATHER_INVALID) << length;
  ASSERT_EQ(load(earlier + "x"), LATHER_INVALID);
  EXPECT_EQ(saved(), now);

  // Intact, but of another optimizer: what it shares with this one is not taken either.
  const auto other = six_optimizer(R"({"name": "sgd", "schedule": {"decay": "cosine", "total_steps": 9}})");
  const void* bytes = nullptr;
  std::uint64_t count = 0;
  ok(lather_optimizer_save(other.get(), &bytes, &count));
  EXPECT_EQ(lather_optimizer_load(method.get(), bytes, count), LATHER_INVALID);
  EXPECT_EQ(saved(), now);
  const auto small = six_optimizer(R"({"name": "adam"})", R"([{"name": "x", "size": 3}])");
  EXPECT_EQ(lather_optimizer_load(small.get(), now.data(), now.size()), LATHER_INVALID);
  EXPECT_TRUE(says("other blocks")) << lather_last_error();
  ok(load(earlier));
  EXPECT_EQ(saved(), earlier);
}

TEST(Misuse, PointersThatAreNoObjectsAreRefused) {
  Meanwhile quiet;
  auto objective = six_objective(quiet.function());
  const auto method = six_optimizer(R"({"name": "adam"})");
  lather_objective* const raw = objective.get();
  double x[6] = {}, value = 0;
  EXPECT_EQ(lather_objective_value(reinterpret_cast<lather_objective*>(method.get()), x, &value),
            LATHER_INVALID);
  EXPECT_STREQ(lather_last_error(), "objective points to an object of another kind: optimizer");
  EXPECT_EQ(lather_objective_value(reinterpret_cast<lather_objective*>(x), x, &value), LATHER_INVALID);
  objective.reset();
  EXPECT_EQ(lather_objective_value(raw, x, &value), LATHER_INVALID);
  EXPECT_TRUE(says("was freed")) << lather_last_error();
  EXPECT_EQ(lather_objective_size(raw), 0u);
  lather_objective_free(raw);  // again
  lather_objective_free(reinterpret_cast<lather_objective*>(x));
}

}  // namespace
}  // namespace lather
