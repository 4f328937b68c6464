// Changes of bases are logged once each, with the losses that follow them.
#include "lather/train/event_log.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lather/train/run.hpp"
#include "lather/train/saved_run.hpp"
#include "small_problem.hpp"

namespace lather::train {
namespace {

using testing::content;
using testing::TemporaryFolder;

std::vector<LoggedEvent> added(EventLog& log, const optim::BasisLog& basis, std::int64_t before,
                               double loss) {
  log.add(basis, before, loss);
  return log.take(false);
}

TEST(EventLog, WaitsForTheLossesThatFollow) {
  EventLog log;
  optim::BasisLog basis;
  basis.first_step = 3;  // the optimizer's own count differs
  basis.losses = {5, 4, 3};
  basis.events = {{4, "layer1", 0.3, 0.1, 0.75, 0.5}};
  EXPECT_TRUE(added(log, basis, 100, 0).empty());
  basis = {{}, 6, {2, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3}, {{"layer0"}, {"layer1"}}, {}};
  for (int i = 0; i < 9; ++i)  // layer0 and layer1 of each step
    basis.fits.insert(basis.fits.end(), {{0.9, 0.9}, {0.01 * i, 0.1 * i}});
  const auto events = added(log, basis, 103, 0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].step, 102);
  EXPECT_EQ(events[0].loss, 4);
  EXPECT_EQ(events[0].loss_after_1, 3);
  EXPECT_EQ(events[0].loss_after_10, 0.3);
  EXPECT_EQ(events[0].rho_after_10, 0.08);
  EXPECT_EQ(events[0].gradient_cosine_after_10, 0.8);
}

TEST(EventLog, OneStepAtATimeGivesWhatManyAtATimeGive) {
  const std::vector<double> losses{9, 8, 7, 6, 5, 4, 3, 2, 1, 0.5, 0.25, 0.125, 0.1};
  const std::vector<optim::BasisEvent> events{
      {1, "a", 1, 0, 1, 0}, {1, "b", 0, 1, 1, 0}, {3, "a", 1, 1, 0.5, 0}};
  const std::vector<optim::TauCounts> layers{{"a"}, {"b"}};
  std::vector<optim::BasisFit> fits;
  for (std::size_t i = 0; i < 2 * losses.size(); ++i)
    fits.push_back({static_cast<double>(i), -static_cast<double>(i)});
  EventLog together, apart;
  together.add({events, 1, losses, layers, fits}, 0, 0);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    optim::BasisLog one{{}, static_cast<std::int64_t>(i) + 1, {}, layers, {fits[2 * i], fits[2 * i + 1]}};
    for (const auto& event : events)
      if (event.step == one.first_step) one.events.push_back(event);
    apart.add(one, static_cast<std::int64_t>(i), losses[i]);
  }
  const auto expected = together.take(true), found = apart.take(true);
  ASSERT_EQ(expected.size(), 3U);
  ASSERT_EQ(found.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(found[i].step, expected[i].step);
    EXPECT_EQ(found[i].layer, expected[i].layer);
    EXPECT_EQ(found[i].loss_after_1, expected[i].loss_after_1);
    EXPECT_EQ(found[i].loss_after_10, expected[i].loss_after_10);
    EXPECT_EQ(found[i].rho_after_10, expected[i].rho_after_10);
    EXPECT_EQ(found[i].gradient_cosine_after_10, expected[i].gradient_cosine_after_10);
  }
  EXPECT_EQ(expected[1].rho_after_10, 21);  // b, ten steps after the first
}

Config esoap_config(const std::filesystem::path& folder, std::int64_t steps) {
  ConfigRequest r;
  r.problem = testing::write_small_problem(folder).string();
  r.optimizer = "ss-esoap";
  r.threads = 1;
  r.steps = steps;
  r.settings = {{"training.record_every", "25"},
                {"training.validate_every", "25"},
                {"optimizer.variance_transition", "downscale"}};  // a gamma to record
  return resolve(r);
}

// The log has every change, the recorded steps only some; tau is counted in every step with a secant.
TEST(EventLog, OfARunIsCompleteAlsoWhereItWasResumed) {
  const TemporaryFolder folder;
  const Config config = esoap_config(folder.path(), 60);
  const auto whole_path = folder / "whole", parts_path = folder / "parts";
  Outcome whole;
  {
    auto whole_folder = RunFolder::create(whole_path, config);
    Trainer trainer(config);
    whole = run(trainer, whole_folder, {});
  }
  {
    auto parts = RunFolder::create(parts_path, config);
    Trainer trainer(config);
    Watcher watcher;
    watcher.interrupted = [left = 33]() mutable { return --left < 0; };
    run(trainer, parts, watcher);
  }
  {
    auto parts = RunFolder::open(parts_path);
    Trainer trainer(config);
    std::vector<std::string> messages;
    run(trainer, parts, {}, restore(trainer, parts, messages));
  }
  const std::string events = content(whole_path / "events.jsonl");
  EXPECT_EQ(content(parts_path / "events.jsonl"), events);
  std::istringstream lines(events);
  std::int64_t count = 0, first_bases = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto event = nlohmann::json::parse(line);
    EXPECT_GT(std::max(event["rho_left"].get<double>(), event["rho_right"].get<double>()), 0.2);
    EXPECT_LT(event["gamma"].get<double>(), 1);
    EXPECT_EQ(event.contains("gradient_cosine"), event["step"] > 1);  // the first gradient has none before it
    first_bases += event["step"] == 1;
    if (event["step"] > 50) continue;  // the run was over ten steps later
    EXPECT_GE(event["rho_after_10"].get<double>(), 0);
    EXPECT_LE(std::abs(event["gradient_cosine_after_10"].get<double>()), 1 + 1e-12);
  }
  EXPECT_EQ(count, whole.summary.basis_updates);
  EXPECT_GT(first_bases, 0);
  EXPECT_GT(count, first_bases);
  ASSERT_FALSE(whole.summary.tau.empty());
  for (const auto& [layer, tau] : whole.summary.tau) {
    EXPECT_GT(tau.steps, 40);  // of 60: no secant in the first step and after a redraw
    EXPECT_LT(tau.steps, 60);
    double sum = 0;
    for (const double part : tau.parts) sum += part;
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_GE(tau.at_one, tau.no_curvature);
  }
}

}  // namespace
}  // namespace lather::train
