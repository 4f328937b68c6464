// Several threads, functions of the caller's, freed and forked objects: every call waits its turn or
// says why not.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <cstring>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "function.hpp"

namespace lather {
namespace {

using Json = nlohmann::json;
using CInterfaceTurns = InAFolder;

// What happens in `progress`, in `message`.
struct Events {
  std::function<std::int32_t(const lather_progress&)> progress = [](const auto&) { return 0; };
  std::function<void()> message = [] {};

  lather_watcher watcher() {
    auto made = sized<lather_watcher>();
    made.user = this;
    made.progress = [](void* user, const lather_progress* p) {
      return static_cast<Events*>(user)->progress(*p);
    };
    made.message = [](void* user, const char*) { static_cast<Events*>(user)->message(); };
    return made;
  }
};

TEST_F(CInterfaceTurns, OneObjectWorksForSeveralThreads) {
  lather_objective* made = nullptr;
  ok(lather_objective_create(decay().get(), R"({"threads": 2})", &made));
  const Objective loss(made);
  std::vector<double> x(lather_objective_size(made));
  ok(lather_objective_initialize(made, 1, x.data()));
  double expected = 0;
  ok(lather_objective_value(made, x.data(), &expected));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      std::vector<double> g(x.size());
      for (int i = 0; i < 50; ++i) {
        double value = 0;
        if (lather_objective_gradient(made, x.data(), &value, g.data()) != LATHER_OK) ++wrong;
        wrong += value != expected;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(CInterfaceTurns, ARunIsReadAndStoppedByOtherThreadsButNotChanged) {
  const auto training = trainer(R"({"steps": 100000000, "optimizer": "adam"})", at("run").c_str());
  std::promise<void> begun;
  Events events;
  events.progress = [&](const auto& p) {
    if (p.step == 1) begun.set_value();
    return 0;
  };
  auto watcher = events.watcher();
  watcher.interval = 1e9;
  const char* summary = nullptr;
  std::string reason;
  std::thread run([&] {
    ok(lather_trainer_run(training.get(), &watcher, &summary));
    reason = Json::parse(summary)["reason"];
  });
  begun.get_future().wait();
  std::vector<double> a(lather_trainer_size(training.get())), b = a;
  ok(lather_trainer_parameters(training.get(), 0, a.data()));
  const double t = 0.5;
  double u = 0;
  ok(lather_trainer_predict(training.get(), 0, "u", 1, &t, &u));
  do ok(lather_trainer_parameters(training.get(), 0, b.data()));
  while (a == b);  // it goes on meanwhile
  std::thread step(
      [&] { ok(lather_trainer_step(training.get(), 1, nullptr)); });  // waits for the end of the run
  lather_trainer_stop(training.get());
  run.join();
  step.join();
  EXPECT_EQ(reason, "interrupted");
}

TEST_F(CInterfaceTurns, AFunctionOfTheCallersMayNotUseTheObjectThatCallsIt) {
  Meanwhile meanwhile;
  const auto objective = six_objective(meanwhile.function()), other = six_objective(Meanwhile().function());
  const auto method = six_optimizer(R"({"name": "adam"})");
  double x[6] = {}, value = 0;
  int calls = 0;
  meanwhile.happens = [&] {
    ++calls;
    double again = 0;
    const char* text = nullptr;
    EXPECT_EQ(lather_objective_value(objective.get(), x, &again), LATHER_INVALID);
    EXPECT_TRUE(says("objective is in use by the call that invoked this function")) << lather_last_error();
    EXPECT_EQ(lather_optimizer_info(method.get(), &text), LATHER_INVALID);
    EXPECT_EQ(lather_objective_size(objective.get()), 6u);
    return 0;
  };
  ok(lather_optimizer_step(method.get(), objective.get(), x, nullptr));
  EXPECT_EQ(calls, 1);
  meanwhile.happens = [] { return 0; };
  ok(lather_objective_value(objective.get(), x, &value));
}

TEST_F(CInterfaceTurns, ProgressMayReadItsRunButNotChangeIt) {
  const auto training = trainer(R"({"steps": 3})", at("run").c_str());
  int calls = 0;
  Events events;
  events.progress = [&](const auto&) {
    ++calls;
    std::vector<double> x(lather_trainer_size(training.get()));
    ok(lather_trainer_parameters(training.get(), 0, x.data()));
    EXPECT_NE(x, std::vector<double>(x.size()));
    EXPECT_EQ(lather_trainer_run(training.get(), nullptr, nullptr), LATHER_INVALID);
    EXPECT_TRUE(says("may read it, but not change it")) << lather_last_error();
    EXPECT_EQ(lather_trainer_step(training.get(), 1, nullptr), LATHER_INVALID);
    return 0;
  };
  const auto watcher = events.watcher();
  ok(lather_trainer_run(training.get(), &watcher, nullptr));
  EXPECT_GT(calls, 0);
}

TEST_F(CInterfaceTurns, WhatFunctionsThrowComesBackAndTheRunIsSaved) {
  Meanwhile meanwhile;
  meanwhile.happens = []() -> std::int32_t { throw std::runtime_error("no more"); };
  const auto objective = six_objective(meanwhile.function());
  for (const char* name : {R"({"name": "adam"})", R"({"name": "lbfgs"})", R"({"name": "bfgs"})"}) {
    const auto method = six_optimizer(name);
    double x[6] = {1, 2, 3, 4, 5, 6};
    EXPECT_EQ(lather_optimizer_step(method.get(), objective.get(), x, nullptr), LATHER_CALLBACK);
    EXPECT_STREQ(lather_last_error(), "lather_function.value has thrown: no more");
    EXPECT_EQ(x[5], 6);
  }
  meanwhile.happens = []() -> std::int32_t { throw 3; };
  double x[6] = {}, value = 0;
  EXPECT_EQ(lather_objective_value(objective.get(), x, &value), LATHER_CALLBACK);
  meanwhile.happens = [] { return 7; };
  EXPECT_EQ(lather_objective_value(objective.get(), x, &value), LATHER_CALLBACK);
  EXPECT_STREQ(lather_last_error(), "lather_function.value has returned 7");

  const auto training = trainer(R"({"steps": 12})", at("run").c_str());
  Events events;
  events.progress = [](const auto& p) -> std::int32_t {
    if (p.step == 4) throw std::runtime_error("that is enough");
    return 0;
  };
  const auto watcher = events.watcher();
  EXPECT_EQ(lather_trainer_run(training.get(), &watcher, nullptr), LATHER_CALLBACK);
  EXPECT_STREQ(lather_last_error(), "lather_watcher.progress has thrown: that is enough");
  lather_trainer* resumed = nullptr;
  ok(lather_trainer_resume(at("run").c_str(), nullptr, &resumed));
  const Training rest(resumed);
  const char* text = nullptr;
  ok(lather_trainer_info(resumed, &text));
  EXPECT_EQ(Json::parse(text)["step"], 4);

  auto runs = sized<lather_runs_watcher>();
  runs.message = [](void*, const char*) { throw std::runtime_error("not a line"); };
  EXPECT_EQ(lather_compare(decay().get(), R"([{"name": "adam"}, {"name": "lm"}])", R"({"steps": 2})",
                           at("compare").c_str(), R"({"seeds": [0], "jobs": 2})", &runs, &text),
            LATHER_CALLBACK);
  EXPECT_STREQ(lather_last_error(), "lather_runs_watcher.message has thrown: not a line");
}

TEST_F(CInterfaceTurns, ObjectsFreedInUseLiveUntilTheCallReturns) {
  Meanwhile meanwhile;
  auto objective = six_objective(meanwhile.function());
  auto method = six_optimizer(R"({"name": "lbfgs"})");
  auto* const raw = objective.get();
  meanwhile.happens = [&] {
    objective.reset();
    method.reset();
    double x[6] = {}, value = 0;
    EXPECT_EQ(lather_objective_value(raw, x, &value), LATHER_INVALID);
    EXPECT_TRUE(says("was freed")) << lather_last_error();
    return 0;
  };
  double x[6] = {};
  ok(lather_optimizer_step(method.get(), objective.get(), x, nullptr));

  auto training = trainer(R"({"steps": 100000000, "optimizer": "adam"})", at("run").c_str());
  Events events;
  events.progress = [&](const auto&) {
    training.reset();
    return 0;
  };
  const auto watcher = events.watcher();
  const char* summary = nullptr;
  ok(lather_trainer_run(training.get(), &watcher, &summary));
  EXPECT_EQ(Json::parse(summary)["reason"], "interrupted");  // what nobody can stop any more is stopped
  EXPECT_TRUE(std::filesystem::exists(at("run") + "/summary.json"));
}

// Each in a function that the other's object calls: one of the two is refused, and nobody waits for ever.
TEST_F(CInterfaceTurns, ThreadsThatWouldWaitForEachOtherForEverAreToldSo) {
  Meanwhile a, b;
  const auto first = six_objective(a.function()), second = six_objective(b.function());
  std::atomic<int> inside{0}, refused{0};
  const auto uses = [&](lather_objective* other) {
    ++inside;
    while (inside < 2) std::this_thread::yield();
    double x[6] = {}, value = 0;
    if (lather_objective_value(other, x, &value) == LATHER_INVALID) ++refused;
    return 0;
  };
  thread_local bool nested = false;
  a.happens = [&] { return std::exchange(nested, true) ? 0 : uses(second.get()); };
  b.happens = [&] { return std::exchange(nested, true) ? 0 : uses(first.get()); };
  const auto call = [](lather_objective* objective) {
    double x[6] = {}, value = 0;
    ok(lather_objective_value(objective, x, &value));
  };
  std::thread one(call, first.get()), two(call, second.get());
  one.join();
  two.join();
  EXPECT_EQ(refused, 1);
}

// Documented: the objects of the call stay in use.
TEST_F(CInterfaceTurns, AFunctionLeftByLongjmpLeavesAnObjectThatIsRefused) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "what the call held is lost";
#endif
  static std::jmp_buf back;
  auto function = sized<lather_function>();
  function.value = [](void*, const double*, double*, double*) -> std::int32_t { std::longjmp(back, 1); };
  lather_objective* objective = nullptr;
  ok(lather_objective_from_function(&function, kSixBlocks, &objective));
  static double x[6], value;
  if (setjmp(back) == 0) lather_objective_value(objective, x, &value);
  EXPECT_EQ(lather_objective_value(objective, x, &value), LATHER_INVALID);
  EXPECT_TRUE(says("in use")) << lather_last_error();
  lather_objective_free(objective);
}

int exit_status_of(const std::function<bool()>& succeeds) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // it does not hang
    ::_exit(succeeds() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_F(CInterfaceTurns, ObjectsWorkInAForkedProcess) {
  lather_objective* made = nullptr;
  ok(lather_objective_create(decay().get(), R"({"threads": 2})", &made));
  Objective loss(made);
  std::vector<double> x(lather_objective_size(made)), g = x;
  ok(lather_objective_initialize(made, 1, x.data()));
  double expected = 0;
  ok(lather_objective_value(made, x.data(), &expected));
  auto training = trainer(R"({"threads": 2})");
  ok(lather_trainer_step(training.get(), 1, nullptr));
  EXPECT_EQ(exit_status_of([&] {
              double value = 0, u = 0;
              const double t = 0.5;
              const bool right = lather_objective_gradient(made, x.data(), &value, g.data()) == LATHER_OK &&
                                 value == expected &&
                                 lather_trainer_predict(training.get(), 0, "u", 1, &t, &u) == LATHER_OK &&
                                 lather_trainer_step(training.get(), 2, nullptr) == LATHER_OK;
              loss.reset();
              training.reset();
              return right;
            }),
            0);
  ok(lather_objective_value(made, x.data(), &expected));
}

TEST_F(CInterfaceTurns, AnObjectThatAnotherThreadUsedIsRefusedInAForkedProcess) {
  Meanwhile meanwhile;
  const auto objective = six_objective(meanwhile.function());
  std::promise<void> inside, forked;
  meanwhile.happens = [&] {
    inside.set_value();
    forked.get_future().wait();
    return 0;
  };
  double x[6] = {}, value = 0;
  std::thread user([&] { ok(lather_objective_value(objective.get(), x, &value)); });
  inside.get_future().wait();
  EXPECT_EQ(exit_status_of([&] {
              return lather_objective_value(objective.get(), x, &value) == LATHER_INVALID &&
                     says("was in use by another thread when this process was forked");
            }),
            0);
  forked.set_value();
  user.join();
}

}  // namespace
}  // namespace lather
