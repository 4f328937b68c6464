// Additional networks for what the first one leaves.
#include "lather/train/stages/corrections.hpp"

#include <gtest/gtest.h>

#include "lather/core/error.hpp"
#include "staged_runs.hpp"

namespace lather::train {
namespace {

using test::staged;
using testing::TemporaryFolder;

// u at a few places.
std::vector<double> values_of(Trainer& trainer) {
  const std::vector<FieldDerivative> u = field_values(trainer.problem());
  return trainer.solution().evaluate(u, {{{-0.7, 0.1, 0.4, 1}, {0, 0.3, 0.9, 0.5}}, {}})[0];
}

void advance_to_stage(Trainer& trainer, int stage) {
  while (trainer.stage() < stage) trainer.advance();
}

TEST(Corrections, AddANetworkToThoseBefore) {
  TemporaryFolder folder;
  const Config config = staged(folder.path(), {{"training.corrections", "{count = 2, width = 6, depth = 1}"},
                                               {"training.steps", "30"}});
  Trainer trainer(config);
  EXPECT_EQ(trainer.stages(), 3);
  for (int stage = 1; stage <= 2; ++stage) {
    std::vector<double> before;
    double loss = 0;
    while (trainer.stage() < stage) {  // the step that enters the next stage is taken there
      before = values_of(trainer);
      loss = trainer.loss();
      trainer.advance();
    }
    EXPECT_EQ(trainer.stage_name(stage), "correction " + std::to_string(stage));
    EXPECT_LT(trainer.loss(), loss);
    // Without the new network the fields are those of the networks before.
    auto solution = trainer.solution();
    auto objective = solution.pieces()[0].objective;
    const std::vector<double> nothing(objective->size());
    const auto u = field_values(trainer.problem());
    const Solution without(trainer.problem(), {{objective, nothing, 0}});
    const auto same = without.evaluate(u, {{{-0.7, 0.1, 0.4, 1}, {0, 0.3, 0.9, 0.5}}, {}})[0];
    for (std::size_t i = 0; i < same.size(); ++i) EXPECT_NEAR(same[i], before[i], 1e-14);
  }
}

TEST(Corrections, HaveTheGradientOfTheirLoss) {
  TemporaryFolder folder;
  Trainer trainer(staged(folder.path(),
                         {{"training.corrections", "1"}, {"training.steps", "10"}, {"network.width", "5"}}));
  advance_to_stage(trainer, 1);
  auto objective = trainer.solution().pieces()[0].objective;
  std::vector<double> x(trainer.parameters().begin(), trainer.parameters().end()), gradient(x.size());
  objective->value_and_gradient(x, gradient);
  double scale = 0;
  for (const double g : gradient) scale = std::max(scale, std::abs(g));
  for (std::size_t i = 0; i < x.size(); i += 3) {
    const double h = 1e-7 * std::max(1.0, std::abs(x[i])), at = x[i];  // features bend sharply
    x[i] = at + h;
    const double up = objective->value(x);
    x[i] = at - h;
    const double down = objective->value(x);
    x[i] = at;
    EXPECT_NEAR(gradient[i], (up - down) / (2 * h), 1e-5 * scale) << i;
  }
}

TEST(Corrections, AreResumedBitForBit) {
  TemporaryFolder folder;
  for (const char* optimizer : {"ss-esoap", "lm"})
    test::expect_same_in_pieces(
        staged(folder.path(), {{"training.corrections", "2"}, {"training.steps", "45"}}, optimizer));
}

TEST(Corrections, KeepTheUnknowns) {
  TemporaryFolder folder;
  std::string text = testing::kSmallProblem;
  text.replace(text.find("[parameters]\nnu = 0.05"), 22, "[unknown]\nnu = {initial = 0.1}");
  text.erase(text.find("[reference]"));
  std::ofstream(folder / "inverse.toml") << text;
  ConfigRequest request;
  request.problem = (folder / "inverse.toml").string();
  request.optimizer = "sgd";
  request.settings = {
      {"training.corrections", "1"}, {"training.steps", "20"}, {"training.optimizer.learning_rate", "1e-3"}};
  Trainer trainer(resolve(request));
  double before = 0;
  while (trainer.stage() == 0) {
    before = trainer.unknowns()[0];
    trainer.advance();
  }
  EXPECT_NE(before, 0.1);
  EXPECT_NEAR(trainer.unknowns()[0], before, 0.01);  // one step further
}

TEST(Corrections, ThatCannotBeAreRefused) {
  TemporaryFolder folder;
  const auto message = [&](std::vector<pde::Override> settings) {
    settings.insert(settings.begin(), {"training.corrections", "1"});
    try {
      staged(folder.path(), settings);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  EXPECT_NE(message({{"training.time_windows", "2"}}).find("cannot be combined with time_windows"),
            std::string::npos);
  EXPECT_NE(message({{"training.corrections", "{width = 40}"}}).find("corrections need a count"),
            std::string::npos);
  EXPECT_NE(message({{"network.frequency_trainable", "true"}}).find("without trained scalars"),
            std::string::npos);
  EXPECT_NE(message({{"network.type", "piratenet"}, {"network.fourier_features", "8"}}).find("no piratenet"),
            std::string::npos);
  // Elsewhere this means multi-stage training; here `stages` says when a stage is done.
  EXPECT_NE(message({{"training.corrections", "0"}, {"training.stages", "3"}}).find("corrections = 2"),
            std::string::npos);
  EXPECT_EQ(message({{"training.stages", "3"}}), "");
  EXPECT_EQ(message({{"training.corrections", "0"}, {"training.stages", "1e-4"}}), "");
}

}  // namespace
}  // namespace lather::train
