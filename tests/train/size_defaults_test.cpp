// Settings chosen by the size of a problem, for files without recipes.
#include "lather/train/size_defaults.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "lather/core/files.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/train/config.hpp"
#include "paths.hpp"

namespace lather::train {
namespace {

std::string unseen(const std::string& name) {
  return lather::test::source_path("tests/unseen/" + name + ".toml");
}

pde::Problem problem_of(const std::string& equation) {
  return pde::read_problem_text(
      "name = \"p\"\ncoordinates = [\"x\", \"t\"]\nfields = [\"u\"]\n[domain]\nx = [0, 1]\nt = [0, "
      "1]\n[unknown]\nnu = 1\n"
      "[[equation]]\nname = \"e\"\nresidual = \"" +
          equation + "\"\n",
      "p.toml");
}

TEST(SizeDefaults, TellLinearFromNonlinear) {
  EXPECT_TRUE(is_linear(problem_of("u_t - nu*exp(x)*u_xx + sin(t)")));
  EXPECT_FALSE(is_linear(problem_of("u_t + nu*u*u_x")));
  EXPECT_FALSE(is_linear(problem_of("u_t - nu*sin(u)")));
}

TEST(SizeDefaults, GiveEveryUnseenProblemTwoResidualsPerParameterAndAReasonForEveryChoice) {
  const std::set<std::string> linear = {"beam", "boundary-layer", "clamped-plate", "poisson-3d"};
  for (const std::string name : {"beam", "boundary-layer", "clamped-plate", "fisher-kpp", "heat-inverse",
                                 "nonlinear-schroedinger", "poisson-3d"}) {
    EXPECT_EQ(resolve({.problem = unseen(name)}).optimizer.name, linear.contains(name) ? "linear" : "lm")
        << name;
    const Config config = resolve({.problem = unseen(name), .optimizer = "lm"});
    EXPECT_GE(config.chosen.size(), 4u) << name;
    pde::PinnObjective objective(read_problem(config));
    EXPECT_EQ(
        warn_of_few_residuals(objective.problem(), config.training, config.optimizer, objective.layout()), "")
        << name;
  }
}

TEST(SizeDefaults, SolveALinearProblemForItsOutputLayer) {
  const Config config = resolve({.problem = unseen("beam")});
  const auto network = read_problem(config).network;
  EXPECT_EQ(network.depth, 1);
  EXPECT_EQ(network.activation, net::ActivationName::sin);
  EXPECT_GE(config.training.points.points.at("interior"), 4 * network.width);
  EXPECT_GE(config.chosen.size(), 5u);
  // A network set by the user is to be trained.
  for (const auto& [key, value] :
       {std::pair{"network.width", "30"}, {"network.depth", "2"}, {"network.type", "modified-mlp"}})
    EXPECT_EQ(resolve({.problem = unseen("beam"), .settings = {{key, value}}}).optimizer.name, "lm") << key;
}

TEST(SizeDefaults, AreOverriddenByOptionsAndByTheFile) {
  const Config wide = resolve({.problem = unseen("beam"), .settings = {{"network.width", "30"}}});
  EXPECT_EQ(read_problem(wide).network.width, 30);
  const Config narrow = resolve({.problem = unseen("beam"), .optimizer = "lm"});
  EXPECT_GT(wide.training.points.points.at("interior"), narrow.training.points.points.at("interior"));
  const Config few = resolve(
      {.problem = unseen("beam"), .optimizer = "lm", .settings = {{"training.points.interior", "77"}}});
  EXPECT_EQ(few.training.points.points.at("interior"), 77);
  EXPECT_EQ(few.chosen.size() + 1, narrow.chosen.size()) << "no reason for what was asked for";
  EXPECT_NE(resolve({.problem = unseen("beam"), .optimizer = "adam"}).optimizer.name, "lm");
  EXPECT_TRUE(resolve({.problem = "burgers"}).chosen.empty()) << "it has recipes";
}

TEST(SizeDefaults, WarnOfFewerThanTwoResidualsPerParameterAndNameTheRemedy) {
  const Config config = resolve(
      {.problem = unseen("beam"), .optimizer = "lm", .settings = {{"training.points.interior", "200"}}});
  pde::PinnObjective objective(read_problem(config));
  const std::string warning =
      warn_of_few_residuals(objective.problem(), config.training, config.optimizer, objective.layout());
  EXPECT_NE(warning.find("training.points.interior=3072"), std::string::npos) << warning;
}

TEST(SizeDefaults, WarnOfFewResidualsForAnOutputLayerToo) {
  const Config config = resolve({.problem = "burgers", .settings = {{"training.points.interior", "1500"}}});
  ASSERT_EQ(config.optimizer.name, "gauss-newton");
  pde::PinnObjective objective(read_problem(config));
  const std::string warning =
      warn_of_few_residuals(objective.problem(), config.training, config.optimizer, objective.layout());
  EXPECT_NE(warning.find("for 1601 parameters: gauss-newton will fit"), std::string::npos) << warning;
}

// `linear` solves for the output layer alone: these columns count, not the hidden weights.
TEST(SizeDefaults, WarnOfFewResidualsForLinearToo) {
  const auto warning = [](const char* points) {
    const Config config = resolve({.problem = "heat-1d", .settings = {{"training.points.interior", points}}});
    EXPECT_EQ(config.optimizer.name, "linear");
    pde::PinnObjective objective(read_problem(config));
    return warn_of_few_residuals(objective.problem(), config.training, config.optimizer, objective.layout());
  };
  EXPECT_NE(warning("50").find("linear will fit the points"), std::string::npos) << warning("50");
  EXPECT_NE(warning("50").find("training.points.interior="), std::string::npos) << warning("50");
  EXPECT_EQ(warning("4096"), "");
}

TEST(SizeDefaults, GiveAMethodOfAnotherFamilyTheSettingsOfIt) {
  const auto network = [](const Config& config) { return read_problem(config).network; };
  for (const auto& [optimizer, family, rate, steps] : {std::tuple{"ss-esoap", "kronecker", 3e-3, 10000},
                                                       {"soap", "kronecker", 3e-3, 10000},
                                                       {"adam", "first-order", 1e-3, 20000}}) {
    const Config config = resolve({.problem = unseen("fisher-kpp"), .optimizer = optimizer});
    EXPECT_EQ(config.optimizer.name, optimizer);
    EXPECT_EQ(options::to_json(config.optimizer)["learning_rate"], rate) << optimizer;
    ASSERT_TRUE(config.optimizer.wrappers.schedule) << optimizer;
    EXPECT_TRUE(config.optimizer.wrappers.schedule->over_the_whole_run());
    EXPECT_EQ(config.training.points.sampling.every, 1000) << optimizer;
    EXPECT_EQ(config.training.points.points.at("interior"), 4096) << optimizer;
    EXPECT_EQ(config.stop.steps, steps) << optimizer;
    EXPECT_EQ(network(config).width, 64) << optimizer;
    EXPECT_EQ(network(config).depth, 4) << optimizer;
    EXPECT_EQ(config.adapted, std::string("settings of ") + family + " methods");
    EXPECT_GE(config.chosen.size(), 5u) << optimizer;
  }
  // Options given by the user are kept.
  const Config own = resolve({.problem = unseen("fisher-kpp"),
                              .optimizer = "soap",
                              .settings = {{"network.width", "30"}, {"optimizer.learning_rate", "0.01"}},
                              .steps = 77});
  EXPECT_EQ(network(own).width, 30);
  EXPECT_EQ(network(own).depth, 4);
  EXPECT_EQ(options::to_json(own.optimizer)["learning_rate"], 0.01);
  EXPECT_EQ(own.stop.steps, 77);
  EXPECT_EQ(
      resolve({.problem = unseen("fisher-kpp"), .optimizer = "gauss-newton"}).training.points.sampling.every,
      0);
}

TEST(SizeDefaults, AreTheSameHoweverTheMethodIsNamed) {
  const Config by_option = resolve({.problem = unseen("fisher-kpp"), .optimizer = "adam"});
  for (const char* path : {"optimizer.name", "training.optimizer", "training.optimizer.name"}) {
    const Config config = resolve({.problem = unseen("fisher-kpp"), .settings = {{path, "adam"}}});
    EXPECT_EQ(options::to_json(config.optimizer), options::to_json(by_option.optimizer)) << path;
    EXPECT_EQ(read_problem(config).network.width, 64) << path;
    EXPECT_EQ(config.stop.steps, by_option.stop.steps) << path;
    EXPECT_EQ(config.chosen, by_option.chosen) << path;
  }
}

TEST(SizeDefaults, GiveNoReasonThatOptionsContradict) {
  const auto reasons = [](std::vector<pde::Override> settings) {
    std::string text;
    for (const auto& reason :
         resolve({.problem = unseen("fisher-kpp"), .optimizer = "soap", .settings = std::move(settings)})
             .chosen)
      text += reason + "\n";
    return text;
  };
  EXPECT_NE(reasons({}).find("learning rate 0.003 with a cosine schedule"), std::string::npos);
  const std::string own = reasons({{"optimizer.learning_rate", "0.01"}, {"network.width", "30"}});
  EXPECT_EQ(own.find("0.003"), std::string::npos) << own;
  EXPECT_NE(own.find("cosine schedule: for kronecker methods"), std::string::npos) << own;
  EXPECT_NE(own.find("network 30×4"), std::string::npos) << own;
  EXPECT_EQ(reasons({{"training.resample_every", "7"}}).find("drawn every"), std::string::npos);
}

TEST(SizeDefaults, InSinglePrecisionAreThoseOfSsEsoap) {
  const Config config = resolve({.problem = unseen("fisher-kpp"), .precision = pde::Precision::float32});
  EXPECT_EQ(config.optimizer.name, "ss-esoap");
  EXPECT_TRUE(config.optimizer.wrappers.schedule);
  EXPECT_EQ(config.stop.steps, 10000);
  ASSERT_FALSE(config.chosen.empty());
  EXPECT_NE(config.chosen.front().find("least-squares methods need float64"), std::string::npos);
}

TEST(SizeDefaults, StandInForAMissingQuickRecipe) {
  const std::string text =
      read_file(unseen("fisher-kpp")) + "\n[training.paper]\noptimizer = \"adam\"\nsteps = 9\n";
  const Config quick = resolve({.problem = unseen("fisher-kpp"), .text = text});
  EXPECT_EQ(quick.optimizer.name, "lm");
  EXPECT_GE(quick.chosen.size(), 5u);
  const Config paper = resolve({.problem = unseen("fisher-kpp"), .text = text, .recipe = "paper"});
  EXPECT_EQ(paper.optimizer.name, "adam");
  EXPECT_EQ(paper.stop.steps, 9);
  EXPECT_TRUE(paper.chosen.empty());
}

TEST(SizeDefaults, SayWhyThereAreWindowsAndWhyNot) {
  const auto reason = [](const Config& config) {
    for (const auto& text : config.chosen)
      if (text.find("time window") != std::string::npos) return text;
    return std::string();
  };
  EXPECT_EQ(reason(resolve({.problem = unseen("fisher-kpp")})),
            "one time window: nonlinear, but in time and 1 further dimension");
  EXPECT_EQ(reason(resolve({.problem = unseen("beam")})), "one time window: linear");
  EXPECT_EQ(reason(resolve({.problem = unseen("poisson-3d")})),
            "no time windows: no condition at an initial time t to hand over");
  ConfigRequest plane{
      .problem = "p.toml",
      .text =
          "name = \"p\"\ncoordinates = [\"x\", \"y\", \"t\"]\nfields = [\"u\"]\n"
          "[domain]\nx = [0, 1]\ny = [0, 1]\nt = [0, 1]\n"
          "[[equation]]\nname = \"e\"\nresidual = \"u_t - u_xx - u_yy - u^3\"\n"
          "[[condition]]\nname = \"initial\"\nwhere = \"t = 0\"\nresidual = \"u - sin(pi*x)\"\n"};
  const Config windows = resolve(plane);
  EXPECT_EQ(windows.training.time_windows.windows(), 4);
  EXPECT_EQ(windows.training.stages.target, 0) << "a window that can be improved is";
  EXPECT_GT(windows.training.stages.plateau, 0);
  EXPECT_EQ(windows.training.stages.remedy(), Unsolved::prolong);
  // Windows set by the user are left alone.
  plane.settings = {{"training.time_windows", "1"}};
  const Config one = resolve(plane);
  EXPECT_EQ(one.training.time_windows.windows(), 1);
  EXPECT_EQ(one.training.stages.plateau, 0);
  EXPECT_EQ(2 * one.stop.steps, windows.stop.steps);
  EXPECT_EQ(reason(one), "");
  plane.settings = {{"training.time_windows.warm_noise", "0.01"}};
  EXPECT_EQ(resolve(plane).training.time_windows.windows(), 4);
}

TEST(SizeDefaults, WarnOfWindowsWithoutAStep) {
  ConfigRequest request{.problem = "burgers"};
  EXPECT_EQ(warn_of_few_steps(resolve(request).training), "");
  request.steps = 3;
  const std::string warning = warn_of_few_steps(resolve(request).training);
  EXPECT_NE(warning.find("3 steps for 16 time windows"), std::string::npos) << warning;
  EXPECT_NE(warning.find("--steps 16"), std::string::npos) << warning;
}

// The matrix of four million parameters takes 175 TiB.
TEST(SizeDefaults, LeaveLmToNetworksWhoseMatrixFits) {
  const char* text =
      "name = \"p\"\ncoordinates = [\"x\", \"t\"]\nfields = [\"u\"]\n[domain]\nx = [0, 1]\nt = "
      "[0, 1]\n[[equation]]\nname = \"e\"\nresidual = \"u_t - u_xx + u^3\"\n";
  const auto chosen = [&](std::vector<pde::Override> settings, std::optional<double> seconds = {}) {
    return resolve({.problem = "p.toml", .text = text, .settings = std::move(settings), .seconds = seconds});
  };
  EXPECT_EQ(chosen({}).optimizer.name, "lm");
  const Config large = chosen({{"network.width", "2000"}, {"network.depth", "2"}});
  EXPECT_EQ(large.optimizer.name, "ss-esoap");
  EXPECT_TRUE(
      large.chosen.at(0).starts_with("method ss-esoap: the matrix of lm for 4010001 parameters would "))
      << large.chosen.at(0);
  // One step on 100 million points, in a second.
  const Config slow = chosen({{"training.points.interior", "1e8"}}, 1);
  EXPECT_EQ(slow.optimizer.name, "ss-esoap");
  EXPECT_TRUE(slow.chosen.at(0).starts_with("method ss-esoap: a step of lm for ")) << slow.chosen.at(0);
}

}  // namespace
}  // namespace lather::train
