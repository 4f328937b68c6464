#include "lather/train/config.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lather/core/device.hpp"

#include "lather/core/error.hpp"
#include "lather/train/family_defaults.hpp"
#include "lather/train/recipe.hpp"
#include "lather/train/run_folder/run_folder.hpp"
#include "small_problem.hpp"

namespace lather::train {
namespace {

using testing::TemporaryFolder;

class ConfigTest : public ::testing::Test {
 protected:
  ConfigRequest request(std::vector<pde::Override> settings = {}) {
    ConfigRequest r;
    r.problem = file_.string();
    r.threads = 1;
    r.settings = std::move(settings);
    return r;
  }
  // What the error says; empty if there is none.
  std::string complaint(const ConfigRequest& r) {
    try {
      resolve(r);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  TemporaryFolder folder_;
  std::filesystem::path file_ = testing::write_small_problem(folder_.path());
};

TEST_F(ConfigTest, TakesTheRecipeOfTheProblem) {
  const Config c = resolve(request());
  EXPECT_EQ(c.problem.name, "small");
  EXPECT_EQ(c.stop.steps, 200);
  EXPECT_EQ(c.optimizer.name, "ss-esoap");
  EXPECT_EQ(c.training.points.points.at("interior"), 64);
}

TEST_F(ConfigTest, SettingsGoWhereTheyBelong) {
  const Config c = resolve(request({{"optimizer.learning_rate", "0.002"},
                                    {"network.width", "7"},
                                    {"training.points.interior", "32"},
                                    {"parameters.nu", "0.25"},
                                    {"training.steps", "12"},
                                    {"optimizer.clip.limit", "2"},
                                    {"equation.heat.weight", "3"}}));
  EXPECT_EQ(options::to_json(c.optimizer)["learning_rate"], 0.002);
  EXPECT_EQ(c.optimizer.wrappers.clip->limit, 2.0);
  EXPECT_EQ(c.training.points.points.at("interior"), 32);
  EXPECT_EQ(c.training.points.points.at("walls"), 16);
  EXPECT_EQ(c.stop.steps, 12);
  const pde::Problem problem = read_problem(c);
  EXPECT_EQ(problem.network.width, 7);
  EXPECT_EQ(problem.terms[0].weight, 3);
}

TEST_F(ConfigTest, MistypedKeysAreErrorsThatNameTheNearest) {
  const std::vector<std::pair<pde::Override, std::string>> slips = {
      {{"optimizer.learning_rat", "1"}, "learning_rate"},
      {{"network.widht", "9"}, "width"},
      {{"training.ponts.interior", "9"}, "points"},
      {{"training.points.interor", "9"}, "interior"},
      {{"parameters.mu", "9"}, "nu"},
      {{"optimiser.learning_rate", "1"}, "optimizer"},
      {{"training.record_evry", "9"}, "record_every"},
      {{"optimizer.schedule.dekay", "cosine"}, "decay"}};
  for (const auto& [setting, nearest] : slips) {
    const std::string said = complaint(request({setting}));
    EXPECT_NE(said.find("'" + nearest + "'"), std::string::npos) << setting.path << ": " << said;
  }
}

TEST_F(ConfigTest, ValuesThatMakeNoSenseAreErrors) {
  EXPECT_NE(complaint(request({{"optimizer.learning_rate", "fast"}})), "");
  EXPECT_NE(complaint(request({{"training.steps", "many"}})), "");
  EXPECT_NE(complaint(request({{"training.points.interior", "-4"}})), "");
  ConfigRequest r = request();
  r.steps = 0;
  EXPECT_NE(complaint(r), "");
  r = request();
  r.recipe = "papre";
  EXPECT_NE(complaint(r), "");
  r = request();
  r.device = Device::cuda;
  if (!cuda_report().usable) {
    EXPECT_NE(complaint(r).find("use --device cpu"), std::string::npos);
  }
  r = request();
  r.optimizer = "ss-esop";
  EXPECT_NE(complaint(r).find("ss-esoap"), std::string::npos);
}

TEST_F(ConfigTest, ComesBackFromJsonAsItWas) {
  ConfigRequest r = request({{"optimizer.learning_rate", "0.1"},
                             {"optimizer.then.name", "lbfgs"},
                             {"optimizer.then.at_step", "50"}});
  r.optimizer = "adam";
  r.target = parse_target("l2=1e-4");
  const Config c = resolve(r);
  const Config back = config_from_json(nlohmann::json::parse(to_json(c).dump()));
  EXPECT_EQ(to_json(back), to_json(c));
  EXPECT_EQ(identity(back), identity(c));
}

TEST_F(ConfigTest, DamagedNumbersAndTablesAreErrorsWhenItIsRead) {
  using Json = nlohmann::json;
  const Json whole = to_json(resolve(request()));
  const std::vector<std::pair<const char*, Json>> damages = {
      {"/format", 1},
      {"/format", 1e300},
      {"/stop/steps", 0},
      {"/stop/steps", 18446744073709551615u},
      {"/stop/seconds", -1},
      {"/stop/target", {{"quantity", "l3"}, {"value", 1}}},
      {"/stop/target", {{"quantity", "l2"}, {"value", 0}}},
      {"/record/record_every", 0},  // it is used as a modulus
      {"/record/validate_every", 0},
      {"/record", Json::array()},
      {"/threads", 0},
      {"/threads", 1 << 30},
      {"/seed", -1},
      {"/seed", 1e300},
      {"/training", Json::array()},
      {"/problem/overrides", Json::array({"nu"})},
      {"/optimizer/name", 3},
      {"/training/steps", 0},
      {"/training/planned_steps", 3},  // no such key
      {"/trainin", 1},
      {"/device", "gpu"}};
  for (const auto& [place, value] : damages) {
    Json damaged = whole;
    damaged[Json::json_pointer(place)] = value;
    EXPECT_THROW(config_from_json(damaged), Error) << place << " = " << value;
  }
  EXPECT_NO_THROW(config_from_json(whole));
}

TEST_F(ConfigTest, ErrorsNameTheLine) {
  nlohmann::json json = to_json(resolve(request()));
  json["training"]["planned_steps"] = 3;
  const std::string text = json.dump(2);
  const auto at = text.find("\"planned_steps\"");
  try {
    config_from_text(text, "runs/mine/config.json");
    FAIL() << "an unknown key was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.where().file, "runs/mine/config.json");
    EXPECT_EQ(error.where().line, 1 + std::count(text.begin(), text.begin() + at, '\n'));
    EXPECT_EQ(error.where().column, static_cast<int>(at - text.rfind('\n', at)));
  }
}

TEST_F(ConfigTest, WhatNoMemoryHoldsIsAnErrorAtOnce) {
  for (const pde::Override& setting :
       std::vector<pde::Override>{{"network.width", "1e18"},
                                  {"training.points.interior", "1000000000000000"},
                                  {"training.sampling.validation", "1e15"},
                                  {"training.causal.chunks", "1e15"}})
    EXPECT_NE(complaint(request({setting})), "") << setting.path;
  EXPECT_NE(complaint(request({{"network.width", "16384"}, {"network.depth", "1000"}})).find("weights"),
            std::string::npos);
}

TEST_F(ConfigTest, SettingsThatAreNoTextAreErrors) {
  for (const char* path :
       {"optimizer.learning_rate", "training.network.width", "equation.heat.name", "training.optimizer"})
    EXPECT_NE(complaint(request({{path, "\xff\xfe"}})), "") << path;
  EXPECT_NE(complaint(request({{"training.optimizer", "3"}})).find("training.optimizer"), std::string::npos);
}

TEST(JsonText, NestedDeeperThanAnythingWrittenHereIsAnError) {
  EXPECT_THROW(parse_json(std::string(100000, '['), "deep.json"), Error);
  EXPECT_THROW(parse_json(std::string(100, '[') + std::string(100, ']'), "deep.json"), Error);
  EXPECT_THROW(parse_json("{\"a\": 1e999}", "large.json"), Error);
  EXPECT_EQ(parse_json("[1]", "small.json"), nlohmann::json({1}));
}

TEST_F(ConfigTest, LimitsDoNotChangeTheIdentityOfARun) {
  Config c = resolve(request());
  const auto before = identity(c);
  c.stop.steps = 5;
  EXPECT_EQ(identity(c), before);
  c.seed = 1;
  EXPECT_NE(identity(c), before);
}

// A problem file with another [training], and what is wrong with it.
class RecipeKeysTest : public ConfigTest {
 protected:
  // With `text` in place of everything from [training] on; line 25 is its first.
  std::string complaint_about(const std::string& text) {
    std::string whole = testing::kSmallProblem;
    whole = whole.substr(0, whole.find("[training]")) + text;
    std::ofstream(file_) << whole;
    return complaint(request());
  }
};

TEST_F(RecipeKeysTest, EveryKeyIsKnownOrAnErrorAtItsPlaceAlsoInRecipesThatAreNotUsed) {
  const std::vector<std::array<std::string, 3>> slips = {
      {"[training]\nweightin = {method = \"ntk\"}\n", ":26:1: ", "'weighting'"},
      {"[training]\nstep = 5\n", ":26:1: ", "'steps'"},
      {"[training.qick]\nsteps = 5\n", ":25:", "'quick'"},
      {"[training.paper]\nstepss = 5\n", ":26:1: ", "'steps'"},
      {"[training.paper]\npoints = {inside = 10}\n", ":26:11: ", "'inside'"},
      {"[training.paper]\nparameters = {mu = 10}\n", ":26:15: ", "'mu'"},
      {"[training.paper]\nnetwork = {widht = 10}\n", ":26:12: ", "'width'"},
      {"[training.paper]\noptimizer = \"adm\"\n", ":26:13: ", "'adam'"},
      {"[training.paper]\noptimizer = {name = \"adam\", learning_rat = 1}\n", ":26:29: ", "'learning_rate'"},
      {"[training.paper]\noptimizer = {name = \"adam\", then = {name = \"lbfgs\"}}\n", ":26:13: ", "at_step"},
      {"[training.paper]\nsampling = \"sobel\"\n", ":26:12: ", "'sobol'"},
      {"[training.paper]\nsampling = {every = 1}\nresample_every = 2\n", ":27:1: ", "give only one"},
      {"[training.paper]\nfocus = [{share = 0.5, y = [0, 1]}]\n", ":26:", "'y'"},
      {"[training.paper]\nfocus = [{x = [0, 1]}]\n", ":26:", "'share'"},
      {"[training.paper]\ntime_windows = {cout = 5}\n", ":26:17: ", "'count'"},
      {"[training.paper]\ncausal = {coordinate = \"s\"}\n", ":25:", "coordinate for the time"},
      {"[training.paper]\ncontinuation = {parameter = \"nuu\", values = [1, 2]}\n", ":25:", "'nu'"},
      {"[training.paper]\ncontinuation = {parameter = \"nu\"}\n", ":25:", "values"}};
  for (const auto& [text, place, word] : slips) {
    const std::string said = complaint_about(text);
    EXPECT_NE(said.find(file_.string() + place), std::string::npos) << text << said;
    EXPECT_NE(said.find(word), std::string::npos) << text << said;
  }
}

TEST_F(RecipeKeysTest, TablesOfTrainingHoldForEveryRecipe) {
  EXPECT_EQ(complaint_about("[training]\ntime_windows = {count = 5, warm_start = false, points = 4096}\n"),
            "");
  const Config windows = resolve(request());
  EXPECT_EQ(windows.training.time_windows.count, 5);
  EXPECT_FALSE(windows.training.time_windows.warm_start);
  EXPECT_EQ(windows.training.time_windows.points, 4096);
  EXPECT_EQ(
      complaint_about("[training]\nsampling = {method = \"adaptive\", every = 10}\ncausal_tolerance = 2\n"
                      "[training.quick]\nresample_every = 7\ncausal_tolerance = 0\n"),
      "");
  const Config layered = resolve(request());
  EXPECT_EQ(layered.training.points.sampling.method, pde::SamplingMethod::adaptive);
  EXPECT_EQ(layered.training.points.sampling.every, 7);
  EXPECT_TRUE(layered.training.causal->off());
}

TEST_F(RecipeKeysTest, OptionsOfAnotherOptimizerAreNotKept) {
  EXPECT_EQ(complaint_about("[training]\noptimizer = {name = \"lbfgs\", history = 7}\n"
                            "[training.quick]\noptimizer = {name = \"adam\", learning_rate = 0.5}\n"
                            "[training.paper]\noptimizer = {history = 8}\n"),
            "");
  EXPECT_EQ(options::to_json(resolve(request()).optimizer)["learning_rate"], 0.5);
  ConfigRequest paper = request({{"optimizer.history", "9"}});
  paper.recipe = "paper";
  EXPECT_EQ(options::to_json(resolve(paper).optimizer)["history"], 9);
}

const char* const kFamilies = R"([training]
optimizer = {name = "lm", max_memory = 1}
[training.quick]
steps = 30
points = {interior = 500}
sampling = {method = "adaptive", every = 5}
network = {width = 11}
[training.quick.first-order]
steps = 70
optimizer = {learning_rate = 0.25}
[training.best]
steps = 40
)";

TEST_F(RecipeKeysTest, AnOptimizerOfAnotherFamilyGetsTheSettingsOfItsFamily) {
  ASSERT_EQ(complaint_about(kFamilies), "");
  const Config own = resolve(request());
  EXPECT_EQ(own.stop.steps, 30);
  EXPECT_EQ(options::to_json(own.optimizer)["max_memory"], 1);
  EXPECT_EQ(own.adapted, "");
  const auto with = [&](const char* optimizer) {
    ConfigRequest r = request();
    r.optimizer = optimizer;
    return resolve(r);
  };
  const Config adam = with("adam");  // the file has a table for its family
  EXPECT_EQ(adam.stop.steps, 70);
  EXPECT_EQ(options::to_json(adam.optimizer)["learning_rate"], 0.25);
  EXPECT_TRUE(adam.optimizer.wrappers.schedule->over_the_whole_run());
  EXPECT_EQ(adam.adapted, "settings of [training.quick.first-order]");
  const Config soap = with("soap");  // and none for this one
  const FamilyDefaults kronecker = family_defaults(optim::Family::kronecker);
  EXPECT_EQ(soap.stop.steps, kronecker.steps);
  EXPECT_EQ(options::to_json(soap.optimizer)["learning_rate"], kronecker.learning_rate);
  for (const Config* config : {&adam, &soap}) {
    EXPECT_EQ(read_problem(*config).network.width, 64);
    EXPECT_EQ(config->training.points.points.at("interior"), 4096);
    EXPECT_EQ(config->training.points.sampling.every, 1000);
    EXPECT_EQ(config->training.points.sampling.method,
              pde::SamplingMethod::adaptive);  // belongs to no family
  }
  const Config engd = with("engd");  // of the same family: all stays but the options of lm
  EXPECT_EQ(engd.stop.steps, 30);
  EXPECT_EQ(engd.adapted, "");
  EXPECT_EQ(read_problem(engd).network.width, 11);
}

TEST_F(RecipeKeysTest, MistakesInTheTableOfAFamilyAreErrorsAtTheirPlace) {
  EXPECT_NE(complaint_about("[training.quick]\nsteps = 5\n[training.quick.first-order]\nstep = 5\n")
                .find(":28:1: "),
            std::string::npos);
  EXPECT_NE(complaint_about("[training.quick]\nsteps = 5\n[training.quick.frst-order]\nsteps = 5\n")
                .find("'first-order'"),
            std::string::npos);
}

TEST_F(RecipeKeysTest, TheRecipeWithoutANameIsQuickAndBestOnTheGpu) {
  ASSERT_EQ(complaint_about(kFamilies), "");
  const Config config = resolve(request());
  EXPECT_EQ(config.recipe, "quick");
  EXPECT_EQ(default_recipe(config.problem.tree(), Device::cuda), "best");
  EXPECT_EQ(default_recipe(parse_toml("[training.quick]\nsteps = 5\n", "x"), Device::cuda), "quick");
}

TEST_F(RecipeKeysTest, ReferencesThatDoNotExistAreRefused) {
  EXPECT_NE(complaint_about("[reference]\nsolver = \"burgres\"\n").find("'burgers'"), std::string::npos);
  EXPECT_NE(complaint_about("[reference]\nsolver = \"burgers\"\nnuu = 3\n").find(":27:1: "),
            std::string::npos);
  EXPECT_NE(complaint_about("[reference]\nsolver = \"burgers\"\nup_to_constant = [\"p\"]\n").find("'p'"),
            std::string::npos);
}

TEST_F(ConfigTest, LeastSquaresInSinglePrecisionIsRefused) {
  ConfigRequest r = request();
  r.optimizer = "lm";
  r.precision = pde::Precision::float32;
  EXPECT_NE(complaint(r).find("lm needs float64"), std::string::npos);
}

TEST(Target, IsAMetricAndAValue) {
  EXPECT_EQ(parse_target("residual=1e-6").value, 1e-6);
  for (const char* bad : {"residul=1", "l2", "l2=", "l2=-1", "l2=x", ""})
    EXPECT_THROW(parse_target(bad), Error) << bad;
}

}  // namespace
}  // namespace lather::train
