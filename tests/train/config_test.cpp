#include "lather/train/config.hpp"

#include <gtest/gtest.h>

#include "lather/core/device.hpp"

#include "lather/core/error.hpp"
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
