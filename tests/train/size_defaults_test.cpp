// Settings chosen by the size of a problem, for files without recipes.
#include "lather/train/size_defaults.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

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
    EXPECT_EQ(warn_of_few_residuals(objective.problem(), config.training, config.optimizer,
                                    objective.layout().size()),
              "")
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
  // A network of one's own is to be trained.
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
  const std::string warning = warn_of_few_residuals(objective.problem(), config.training, config.optimizer,
                                                    objective.layout().size());
  EXPECT_NE(warning.find("training.points.interior=3072"), std::string::npos) << warning;
}

TEST(SizeDefaults, WarnOfFewResidualsForAnOutputLayerToo) {
  const Config config = resolve({.problem = "burgers", .settings = {{"training.points.interior", "1500"}}});
  ASSERT_EQ(config.optimizer.name, "gauss-newton");
  pde::PinnObjective objective(read_problem(config));
  const std::string warning = warn_of_few_residuals(objective.problem(), config.training, config.optimizer,
                                                    objective.layout().size());
  EXPECT_NE(warning.find("for 1601 parameters: gauss-newton will fit"), std::string::npos) << warning;
}

TEST(SizeDefaults, WarnOfWindowsWithoutAStep) {
  ConfigRequest request{.problem = "burgers"};
  EXPECT_EQ(warn_of_few_steps(resolve(request).training), "");
  request.steps = 3;
  const std::string warning = warn_of_few_steps(resolve(request).training);
  EXPECT_NE(warning.find("3 steps for 16 time windows"), std::string::npos) << warning;
  EXPECT_NE(warning.find("--steps 16"), std::string::npos) << warning;
}

}  // namespace
}  // namespace lather::train
