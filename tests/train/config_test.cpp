#include "lather/train/config.hpp"

#include <gtest/gtest.h>

#include "lather/core/device.hpp"

#include "lather/core/error.hpp"
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
  EXPECT_EQ(c.problem_name, "small");
  EXPECT_EQ(c.stop.steps, 200);
  EXPECT_EQ(c.optimizer["name"], "ss-esoap");
  EXPECT_EQ(c.training["points"]["interior"], 64);
}

TEST_F(ConfigTest, SettingsGoWhereTheyBelong) {
  const Config c = resolve(request({{"optimizer.learning_rate", "0.002"},
                                    {"network.width", "7"},
                                    {"training.points.interior", "32"},
                                    {"parameters.nu", "0.25"},
                                    {"training.steps", "12"},
                                    {"optimizer.clip.limit", "2"},
                                    {"equation.heat.weight", "3"}}));
  EXPECT_EQ(c.optimizer["learning_rate"], 0.002);
  EXPECT_EQ(c.optimizer["clip"]["limit"], 2.0);
  EXPECT_EQ(c.training["points"]["interior"], 32);
  EXPECT_EQ(c.training["points"]["walls"], 16);
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
  r.size = "papre";
  EXPECT_NE(complaint(r), "");
  r = request();
  r.device = "cuda";
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
      {"/format", 2},
      {"/format", 1e300},
      {"/stop/steps", 0},
      {"/stop/steps", 18446744073709551615u},
      {"/stop/seconds", -1},
      {"/stop/target", {{"quantity", "l3"}, {"value", 1}}},
      {"/stop/target", {{"quantity", "l2"}, {"value", 0}}},
      {"/record/record_every", 0},  // a remainder is taken by it
      {"/record/validate_every", 0},
      {"/record", Json::array()},
      {"/threads", 0},
      {"/threads", 1 << 30},
      {"/seed", -1},
      {"/seed", 1e300},
      {"/training", Json::array()},
      {"/problem/overrides", Json::array({"nu"})},
      {"/optimizer/name", 3}};
  for (const auto& [place, value] : damages) {
    Json damaged = whole;
    damaged[Json::json_pointer(place)] = value;
    EXPECT_THROW(config_from_json(damaged), Error) << place << " = " << value;
  }
  EXPECT_NO_THROW(config_from_json(whole));
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

TEST(Target, IsAFigureAndAValue) {
  EXPECT_EQ(parse_target("residual=1e-6").value, 1e-6);
  for (const char* bad : {"residul=1", "l2", "l2=", "l2=-1", "l2=x", ""})
    EXPECT_THROW(parse_target(bad), Error) << bad;
}

}  // namespace
}  // namespace lather::train
