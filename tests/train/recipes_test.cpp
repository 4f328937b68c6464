// The trainer accepts every recipe of every problem file.
#include <gtest/gtest.h>

#include "lather/pde/file/find_problem.hpp"
#include "lather/train/size_defaults.hpp"
#include "lather/train/trainer.hpp"
#include "small_problem.hpp"

namespace lather::train {
namespace {

class Recipes : public ::testing::TestWithParam<std::string> {};

TEST_P(Recipes, AreResolvedAndTheQuickOneTakesAStep) {
  ConfigRequest request;
  request.problem = GetParam();
  request.threads = 2;
  request.recipe = "paper";
  const Config paper = resolve(request);
  request.recipe = "quick";
  const Config quick = resolve(request);
  request.recipe = "best";
  const Config best = resolve(request);
  const auto parameters = [](const Config& config) {
    return pde::PinnObjective(read_problem(config)).layout().size();
  };
  EXPECT_TRUE(best.stop.steps > quick.stop.steps || parameters(best) > parameters(quick));
  EXPECT_GT(paper.stop.steps, best.stop.steps);
  for (const auto* config : {&quick, &best}) {
    const pde::PinnObjective objective(read_problem(*config));
    EXPECT_EQ(
        warn_of_few_residuals(objective.problem(), config->training, config->optimizer, objective.layout()),
        "");
  }
  for (const auto* config : {&paper, &best, &quick})
    for (const auto& set : read_problem(*config).point_sets)
      if (set.kind != pde::PointSet::Kind::data) {
        EXPECT_GT(config->training.points.points.count(set.name), 0u) << set.name;
      }
  request.recipe = "quick";
  if (quick.optimizer.entry().family == optim::Family::output_layer)
    request.settings = {{"network.width", "50"}};  // it solves for the whole layer in its first step
  Trainer trainer(resolve(request));
  EXPECT_EQ(trainer.term_names().size(), trainer.problem().terms.size());
  const std::vector<double> before(trainer.parameters().begin(), trainer.parameters().end());
  const auto status = trainer.advance().status;  // a few features may gain nothing after one step
  EXPECT_TRUE(status == optim::Status::running || status == optim::Status::converged);
  EXPECT_EQ(trainer.step(), 1);
  EXPECT_FALSE(std::equal(before.begin(), before.end(), trainer.parameters().begin()));
  EXPECT_TRUE(std::isfinite(trainer.loss()));
}

TEST(RecipesOfACavity, ChangeNetworkAndParameters) {
  ConfigRequest request;
  request.problem = "lid-driven-cavity";
  const pde::Problem plain = pde::read_problem_file(pde::find_problem(request.problem));
  EXPECT_NE(read_problem(resolve(request)).terms[0].residual.str(), plain.terms[0].residual.str());
  request.recipe = "paper";
  EXPECT_EQ(read_problem(resolve(request)).network.width, 256);
}

INSTANTIATE_TEST_SUITE_P(Problems, Recipes, ::testing::ValuesIn(pde::list_problems()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Whether errors can be measured after a parameter change, and if not, why.
std::string note_after(const pde::Override& change) {
  testing::TemporaryFolder folder;
  std::ofstream(folder / "layer.toml") << R"toml(
name = "layer"
coordinates = ["x", "t"]
fields = ["u"]
[domain]
x = [-1, 1]
t = [0, "T"]
[parameters]
T = 1
nu = 0.05
speed = 1
relative = 1
[[equation]]
name = "momentum"
residual = "u_t + speed*u*u_x - nu*u_xx"
weight = "(1 + x^2)^relative"
[network]
width = 4
depth = 1
[training.quick]
steps = 10
points = {interior = 16}
[reference]
solver = "burgers"
nu = "nu"
)toml";
  ConfigRequest request;
  request.problem = (folder / "layer.toml").string();
  request.threads = 1;
  request.settings = {change};
  Trainer trainer(resolve(request));
  trainer.measure();
  return trainer.reference_note();
}

TEST(ReferenceAfterAChangeOfParameters, IsKnownUnlessTheEquationsChangeWithoutIt) {
  EXPECT_EQ(note_after({"parameters.nu", "0.1"}), "closed form");      // it follows
  EXPECT_EQ(note_after({"parameters.T", "0.5"}), "closed form");       // the same solution, less of it
  EXPECT_EQ(note_after({"parameters.speed", "1"}), "closed form");     // no change
  EXPECT_EQ(note_after({"parameters.relative", "0"}), "closed form");  // the same solution, other weights
  const auto other = note_after({"parameters.speed", "2"});
  EXPECT_TRUE(other.starts_with("not available") && other.find("speed") != std::string::npos) << other;
}

TEST(RecipesOfFixedFeatures, HaveTheirOwnConditionsWhichOtherMethodsDoNotGet) {
  const Config own = resolve({.problem = "burgers"});
  const pde::Problem soft = read_problem(own);
  ASSERT_EQ(soft.terms.size(), 3u);  // momentum, initial, walls
  EXPECT_EQ(soft.terms[1].name, "initial");
  EXPECT_EQ(own.training.time_windows.windows(), 16);
  for (const char* optimizer : {"lm", "engd", "adam"}) {
    const Config other = resolve({.problem = "burgers", .optimizer = optimizer});
    EXPECT_EQ(read_problem(other).terms.size(), 1u) << optimizer;  // the others are built into the ansatz
    EXPECT_EQ(read_problem(other).network.train, net::TrainedLayers::all) << optimizer;
    EXPECT_EQ(other.training.time_windows.windows(), 1) << optimizer;
    EXPECT_FALSE(other.adapted.empty()) << optimizer;
  }
  EXPECT_EQ(resolve({.problem = "burgers", .optimizer = "lm"}).adapted,
            "settings of [training.quick.least-squares]");
  EXPECT_THROW(resolve({.problem = "burgers", .settings = {{"training.condition", "3"}}}), Error);
}

TEST(RecipesOfFixedFeatures, AreOfTheSameProblemForOtherMethods) {
  for (const char* optimizer : {"", "lm", "soap", "adam"}) {
    const pde::Problem cavity =
        read_problem(resolve({.problem = "lid-driven-cavity", .optimizer = optimizer}));
    EXPECT_EQ(cavity.reference.options.required("reynolds", "reference").real, 100) << optimizer;
  }
}

TEST(RecipesOfOtherMethods, KeepPointsThatHaveNamesOfTheirOwn) {
  for (const char* optimizer : {"adam", "lbfgs", "soap"}) {
    const Config config = resolve({.problem = "two-materials", .optimizer = optimizer});
    EXPECT_EQ(config.training.points.points.count("interior"), 0u) << optimizer;
    EXPECT_EQ(config.training.points.points.at("inside"), 1024) << optimizer;
    EXPECT_NO_THROW(pde::PinnObjective(read_problem(config))) << optimizer;
  }
}

TEST_P(Recipes, AreResolvedForMethodsOfEveryFamily) {
  for (const char* optimizer : {"adam", "soap", "lbfgs", "lm"})
    EXPECT_NO_THROW(resolve({.problem = GetParam(), .optimizer = optimizer})) << optimizer;
}

TEST(RecipesOfOtherMethods, GiveEveryMethodTheLayersItTrains) {
  const auto network = [](const std::string& problem, const std::string& optimizer) {
    return read_problem(resolve({.problem = problem, .optimizer = optimizer})).network;
  };
  // The recipe's own method draws the hidden layer of sines itself.
  EXPECT_EQ(network("poisson-2d", "").activation, net::ActivationName::sin);
  EXPECT_EQ(network("poisson-2d", "").train, net::TrainedLayers::all);
  // Gauss-Newton is undamped: hidden layers stay.
  EXPECT_EQ(network("poisson-2d", "gauss-newton").train, net::TrainedLayers::output);
  EXPECT_EQ(network("burgers", "gauss-newton").train, net::TrainedLayers::output);
  EXPECT_EQ(read_problem(resolve({.problem = "wave", .recipe = "best", .optimizer = "linear"})).network.train,
            net::TrainedLayers::all);
  EXPECT_THROW(resolve({.problem = "wave", .settings = {{"network.train", "output"}}}), Error);
  EXPECT_THROW(
      resolve({.problem = "wave",
               .settings = {{"network.initialization", "features"}, {"network.input_scales", "[1, 1]"}}}),
      Error);
  // A scale that nothing would read; the second network of a correction reads it.
  const auto message = [](const char* optimizer, std::vector<pde::Override> settings) -> std::string {
    try {
      resolve({.problem = "burgers", .optimizer = optimizer, .settings = std::move(settings)});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("lm", {{"network.feature_scale", "8"}}).find("network.initialization=features"),
            std::string::npos);
  EXPECT_NE(message("linear", {{"network.feature_scale", "8"}}).find("leave out network.feature_scale"),
            std::string::npos);
  EXPECT_EQ(message("gauss-newton", {{"network.feature_scale", "8"}}), "");
  EXPECT_EQ(message("lm", {{"network.feature_scale", "8"}, {"network.initialization", "features"}}), "");
  EXPECT_EQ(message("lm", {{"network.feature_scale", "8"}, {"training.corrections", "1"}}), "");
  // Fixed features are not a suitable network for the others.
  for (const char* other : {"adam", "soap", "lbfgs", "lm"}) {
    EXPECT_EQ(network("burgers-viscous", other).train, net::TrainedLayers::all) << other;
    EXPECT_EQ(network("burgers-viscous", other).activation, net::ActivationName::tanh) << other;
    EXPECT_LT(network("burgers-viscous", other).width, 100) << other;
  }
}

}  // namespace
}  // namespace lather::train
