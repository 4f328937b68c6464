// Sweeps and comparisons through the C interface do what the commands do.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "decay.hpp"
#include "lather/core/files.hpp"

namespace lather {
namespace {

namespace fs = std::filesystem;

using CInterfaceRuns = InAFolder;

void note_line(void* user, const char* text) {
  static_cast<std::vector<std::string>*>(user)->push_back(text);
}

TEST_F(CInterfaceRuns, SweepsAsTheCommandDoes) {
  const char* const sweep = R"(metric = "l2"
seeds = 2
steps = 4
axes = {network = {width = [3, 5]}})";
  const std::string folder = at("sweep");
  std::vector<std::string> lines;
  std::int32_t stop = 1;
  lather_runs_watcher watcher{.size = sizeof watcher, .user = &lines, .message = note_line, .stop = &stop};
  const char* text = nullptr;
  ok(lather_sweep(decay().get(), sweep, folder.c_str(), R"({"jobs": 2})", &watcher, &text));
  EXPECT_FALSE(nlohmann::json::parse(text)["complete"].get<bool>());  // it was stopped before it began
  stop = 0;
  ok(lather_sweep(decay().get(), sweep, folder.c_str(), R"({"jobs": 2})", &watcher, &text));
  const nlohmann::json result = nlohmann::json::parse(text);
  EXPECT_TRUE(result["complete"].get<bool>());
  EXPECT_EQ(lines.size(), 4u);
  ASSERT_EQ(result["points"].size(), 2u);
  EXPECT_LE(result["points"][0]["score"], result["points"][1]["score"]);
  EXPECT_EQ(read_file(folder + "/table.md"), result["table"]);
  EXPECT_TRUE(fs::exists(result["page"].get<std::string>()));
  for (const auto& point : result["points"])
    for (const auto& run : point["runs"]) EXPECT_TRUE(fs::exists(run.get<std::string>() + "/summary.json"));
  const auto written =
      fs::last_write_time(result["points"][1]["runs"][0].get<std::string>() + "/summary.json");
  ok(lather_sweep(decay().get(), sweep, folder.c_str(), nullptr, nullptr, &text));  // nothing is repeated
  EXPECT_EQ(fs::last_write_time(result["points"][1]["runs"][0].get<std::string>() + "/summary.json"),
            written);
  ok(lather_sweep(decay().get(), sweep, folder.c_str(), R"({"collect": true})", nullptr, &text));
  EXPECT_EQ(nlohmann::json::parse(text)["table"], result["table"]);

  EXPECT_EQ(lather_sweep(decay().get(), "metrik = 1", folder.c_str(), nullptr, nullptr, &text),
            LATHER_INVALID);
  EXPECT_NE(std::string(lather_last_error()).find("metric"), std::string::npos) << lather_last_error();
  EXPECT_EQ(lather_sweep(decay().get(), sweep, (folder + "/table.md").c_str(), nullptr, nullptr, &text),
            LATHER_INVALID);
  EXPECT_NE(std::string(lather_last_error()).find("is a file"), std::string::npos) << lather_last_error();
  EXPECT_EQ(lather_sweep(nullptr, "steps = 2", folder.c_str(), nullptr, nullptr, &text), LATHER_INVALID);
  EXPECT_NE(std::string(lather_last_error()).find("problem"), std::string::npos) << lather_last_error();
}

TEST_F(CInterfaceRuns, ComparesAsTheCommandDoes) {
  const char* const optimizers =
      R"([{"name": "lm"}, {"name": "adam", "label": "slow", "set": {"optimizer.learning_rate": 1e-4}}])";
  const std::string folder = at("versus");
  const auto compare = [&](const char* settings, const char* options, const char** result) {
    return lather_compare(decay().get(), optimizers, settings, folder.c_str(), options, nullptr, result);
  };
  const char* text = nullptr;
  ok(compare(R"({"steps": 3})", R"({"seeds": [4, 5], "jobs": 2})", &text));
  const nlohmann::json result = nlohmann::json::parse(text);
  EXPECT_TRUE(result["complete"].get<bool>());
  EXPECT_EQ(result["groups"][1]["name"], "slow");
  EXPECT_EQ(result["groups"][1]["runs"][0], folder + "/slow-4");
  EXPECT_EQ(nlohmann::json::parse(read_file(folder + "/slow-5/config.json"))["optimizer"]["learning_rate"],
            1e-4);
  EXPECT_EQ(read_file(folder + "/table.md"), result["table"]);
  const auto history = read_file(folder + "/lm-5/history.csv");
  ok(compare(R"({"steps": 3, "threads": 1})", R"({"seeds": [4, 5]})", &text));  // nothing is repeated
  EXPECT_EQ(nlohmann::json::parse(text)["table"], result["table"]);
  EXPECT_EQ(read_file(folder + "/lm-5/history.csv"), history);

  EXPECT_EQ(compare(R"({"seed": 1})", R"({"seads": [1]})", &text), LATHER_INVALID);
  EXPECT_EQ(compare("{}", R"({"seeds": [-1]})", &text), LATHER_INVALID);
  EXPECT_EQ(lather_compare(decay().get(), R"([{"name": "lm"}, {"name": "lm"}])", "{}", folder.c_str(), "{}",
                           nullptr, &text),
            LATHER_INVALID);
  EXPECT_NE(std::string(lather_last_error()).find("twice"), std::string::npos) << lather_last_error();
  EXPECT_EQ(lather_compare(nullptr, optimizers, "{}", "", "{}", nullptr, &text), LATHER_INVALID);
}

}  // namespace
}  // namespace lather
