// Ctrl-C while calls of the C interface run.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "decay.hpp"

namespace lather {
namespace {

using Json = nlohmann::json;

std::atomic<int> handled = 0;  // by the handler that was there before

class Interrupts : public InAFolder {
 protected:
  void SetUp() override {
    handled = 0;
    before_ = ::signal(SIGINT, [](int) { ++handled; });
  }
  void TearDown() override {
    lather_release_interrupts();
    ::signal(SIGINT, before_);
  }
  void (*before_)(int) = nullptr;
};

void wait_for_the_grace_to_end() { std::this_thread::sleep_for(std::chrono::milliseconds(400)); }

TEST_F(Interrupts, AreLeftAloneUnlessAskedForAndAfterwards) {
  ::raise(SIGINT);
  EXPECT_EQ(handled, 1);
  ok(lather_catch_interrupts());
  ::raise(SIGINT);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(lather_release_interrupts(), 1);  // no call has ended for it
  ::raise(SIGINT);
  EXPECT_EQ(handled, 2);
  ok(lather_catch_interrupts());
  EXPECT_EQ(lather_release_interrupts(), 0);
}

TEST_F(Interrupts, EndOneCallAndNotTheNext) {
  lather_objective* made = nullptr;
  ok(lather_objective_create(decay().get(), R"({"threads": 2})", &made));
  const Objective objective(made);
  std::vector<double> x(lather_objective_size(made));
  double value = 0, again = 0;
  ok(lather_objective_initialize(made, 1, x.data()));
  ok(lather_objective_value(made, x.data(), &value));
  ok(lather_catch_interrupts());
  ::raise(SIGINT);
  wait_for_the_grace_to_end();
  EXPECT_EQ(lather_objective_value(made, x.data(), &again), LATHER_INTERRUPTED);
  EXPECT_STREQ(lather_last_error(), "interrupted");
  EXPECT_EQ(lather_interrupted(), 1);
  ok(lather_objective_value(made, x.data(), &again));
  EXPECT_EQ(lather_interrupted(), 0);
  EXPECT_EQ(again, value);
  EXPECT_EQ(lather_release_interrupts(), 0);
}

TEST_F(Interrupts, EndTheCallsOfTheirThreadAlone) {
  ok(lather_catch_interrupts());
  ::raise(SIGINT);
  wait_for_the_grace_to_end();
  std::thread([] {
    EXPECT_EQ(lather_catch_interrupts(), LATHER_INVALID);
    EXPECT_EQ(lather_release_interrupts(), 0);
    const auto training = trainer(R"({"threads": 1})");
    ok(lather_trainer_step(training.get(), 1, nullptr));
  }).join();
  EXPECT_EQ(lather_release_interrupts(), 1);
}

TEST_F(Interrupts, SaveARunAndReturnIt) {
  const auto training =
      trainer(R"({"optimizer": "adam", "steps": 100000000, "threads": 1})", at("run").c_str());
  auto watcher = sized<lather_watcher>();
  watcher.progress = [](void*, const lather_progress* progress) {
    if (progress->step >= 3) ::raise(SIGINT);
    return 0;
  };
  ok(lather_catch_interrupts());
  const char* text = nullptr;
  ok(lather_trainer_run(training.get(), &watcher, &text));
  EXPECT_EQ(lather_interrupted(), 1);
  const auto summary = Json::parse(text);
  EXPECT_EQ(summary["reason"], "interrupted");
  EXPECT_EQ(lather_release_interrupts(), 0);
  EXPECT_EQ(handled, 0);
}

// A step of an optimizer has been taken, or nothing has changed.
TEST_F(Interrupts, LeaveNoStepHalfTaken) {
  for (const char* name : {"lm", "ss-broyden", "soap", "adam"}) {
    lather_objective* made = nullptr;
    const auto problem = decay();
    ok(lather_objective_create(problem.get(), R"({"threads": 1})", &made));
    const Objective objective(made);
    const char* info = nullptr;
    ok(lather_objective_info(made, &info));
    const Json described = Json::parse(info);
    Json list = Json::array();
    for (const auto& b : described["blocks"])
      list.push_back(b["matrix"] ? Json{{"name", b["name"]}, {"rows", b["rows"]}, {"cols", b["cols"]}}
                                 : Json{{"name", b["name"]}, {"size", b["rows"]}});
    const std::string blocks = list.dump(), settings = Json{{"name", name}}.dump();
    const auto path = [&](bool interrupted) {
      lather_optimizer* optimizer = nullptr;
      ok(lather_optimizer_create(settings.c_str(), blocks.c_str(), LATHER_CPU, &optimizer));
      const Method method(optimizer);
      std::vector<double> x(lather_objective_size(made));
      ok(lather_objective_initialize(made, 1, x.data()));
      if (interrupted) {
        ok(lather_catch_interrupts());
        const auto start = x;
        ::raise(SIGINT);
        wait_for_the_grace_to_end();
        EXPECT_EQ(lather_optimizer_step(optimizer, made, x.data(), nullptr), LATHER_INTERRUPTED) << name;
        EXPECT_EQ(x, start) << name;
        EXPECT_EQ(lather_release_interrupts(), 0);
      }
      for (int k = 0; k < 3; ++k) ok(lather_optimizer_step(optimizer, made, x.data(), nullptr));
      return x;
    };
    EXPECT_EQ(path(true), path(false)) << name;
  }
}

}  // namespace
}  // namespace lather
