// The command `lather task` as a user runs it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "process.hpp"

namespace lather::testing {
namespace {

// On small problems.
Finished task(const std::string& name, const std::string& optimizers, std::vector<std::string> more = {},
              const Surroundings& surroundings = {}) {
  std::vector<std::string> words{"task", name, "--size", "small", "--optimizers", optimizers};
  words.insert(words.end(), more.begin(), more.end());
  return lather(std::move(words), surroundings);
}

// Refused before anything is run, with this in the message.
void expect_refusal(const Finished& finished, const std::string& message) {
  EXPECT_EQ(finished.status, 2) << finished.err;
  EXPECT_TRUE(contains(finished.err, message)) << finished.err;
  EXPECT_EQ(finished.out, "");
}

// Per optimizer and seed, the steps in curves.csv, in words: "0 2 4".
std::map<std::string, std::string> steps_in(const std::filesystem::path& file) {
  std::map<std::string, std::string> steps;
  std::ifstream csv(file);
  std::string line;
  std::getline(csv, line);
  while (std::getline(csv, line)) {
    const auto seed = line.find(','), step = line.find(',', seed + 1), metrics = line.find(',', step + 1);
    auto& words = steps[line.substr(0, step)];
    words += (words.empty() ? "" : " ") + line.substr(step + 1, metrics - step - 1);
  }
  return steps;
}

TEST(TaskCommand, PrintsTheTableAndWritesTheCurves) {
  const TemporaryFolder folder;
  const auto finished = task("logistic", "lbfgs,ss-broyden",
                             {"--seeds", "2", "--steps", "10", "--batch", "0", "--set", "lbfgs.history=5",
                              "--out", (folder / "out").string()});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_TRUE(contains(finished.out, "| ss-broyden "));
  EXPECT_TRUE(contains(finished.out, "\"history\":5"));
  std::ifstream csv(folder / "out" / "curves.csv");
  std::string header;
  std::getline(csv, header);
  EXPECT_EQ(header, "optimizer,seed,step,loss,accuracy,gradient_condition,gradient_nuclear_norm");
  const std::string all = "0 1 2 3 4 5 6 7 8 9 10";
  const std::map<std::string, std::string> expected{
      {"lbfgs,0", all}, {"lbfgs,1", all}, {"ss-broyden,0", all}, {"ss-broyden,1", all}};
  EXPECT_EQ(steps_in(folder / "out" / "curves.csv"), expected);
  EXPECT_TRUE(contains(content(folder / "out" / "settings.json"), "\"complete\": true"));
  EXPECT_FALSE(contains(content(folder / "out" / "table.md"), "Incomplete"));
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(folder / "out")) ++files;
  EXPECT_EQ(files, 3U);
}

TEST(TaskCommand, NamesTheMetricThatItPrints) {
  EXPECT_TRUE(contains(task("quadratic", "adam", {"--seeds", "1", "--steps", "2"}).out, "adam seed 0: gap "));
  EXPECT_TRUE(contains(task("quadratic", "adam", {"--seeds", "1", "--steps", "2", "--tune"}).out,
                       "adam learning_rate 0.01: gap "));
}

TEST(TaskCommand, HasColumnsUpToTheLastStepWhateverTheNumberOfSteps) {
  const TemporaryFolder folder;
  const auto finished =
      task("quadratic", "adam",
           {"--seeds", "1", "--steps", "13", "--record", "4", "--out", folder.path().string()});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(steps_in(folder / "curves.csv").at("adam,0"), "0 2 4 5 7 8 10 12 13");
  const auto header = finished.out.substr(finished.out.find("| steps"));
  std::istringstream words(header.substr(0, header.find('\n')));
  std::string steps;
  for (std::string word; words >> word;)
    if (word != "|") steps += word + " ";
  EXPECT_EQ(steps, "steps 2 5 7 10 13 ");
  EXPECT_EQ(task("quadratic", "adam", {"--seeds", "1", "--steps", "1"}).status, 0);
}

TEST(TaskCommand, RefusesUnknownNames) {
  expect_refusal(task("logistc", "lbfgs"), "did you mean 'logistic'");
  expect_refusal(task("quadratic", "adam,sopa"),
                 "--optimizers: unknown optimizer 'sopa'; did you mean 'soap'");
  expect_refusal(task("quadratic", "adam,soap,adam"), "--optimizers: 'adam' is named twice");
  expect_refusal(task("quadratic", "lbfgs", {"--set", "lbfgs.histry=3"}),
                 "--set lbfgs.histry=3: unknown option of lbfgs 'histry'; did you mean 'history'");
}

TEST(TaskCommand, RefusesSettingsThatWouldHaveNoEffect) {
  expect_refusal(task("quadratic", "adam", {"--set", "task.seed=3"}), "task.seed cannot be set");
  expect_refusal(task("quadratic", "adam", {"--tune", "--set", "adam.learning_rate=0.5"}),
                 "--set adam.learning_rate=0.5: --tune chooses");
  expect_refusal(task("quadratic", "adam", {"--tune", "--set", "optimizer.learning_rate=0.5"}),
                 "--tune chooses");
  expect_refusal(task("quadratic", "adam", {"--set", "adam.name=soap"}), "adam.name cannot be set");
  expect_refusal(task("logistic", "adam", {"--batch", "5", "--set", "task.batch=3"}),
                 "--batch sets the same");
  expect_refusal(task("quadratic", "adam", {"--batch", "5"}), "only the logistic task has batches");
  expect_refusal(task("quadratic", "adam", {"--set", "task.batch_steps=5"}),
                 "task.batch_steps has no effect: every step sees the whole problem, not a batch");
  expect_refusal(task("logistic", "ss-esoap", {"--batch", "0", "--set", "task.renew_secants=true"}),
                 "task.renew_secants has no effect");
}

// Tau needs a secant, which a new batch in every step takes away; other methods never see the difference.
TEST(TaskCommand, RenewsSecantsOnNewBatches) {
  const auto curves = [](const std::string& renew, const std::string& metric) {
    const TemporaryFolder folder;
    const auto finished =
        task("logistic", "soap,ss-esoap",
             {"--seeds", "1", "--steps", "20", "--set", "task.renew_secants=" + renew, "--set",
              "ss-esoap.secant_metric=" + metric, "--out", folder.path().string()});
    EXPECT_EQ(finished.status, 0) << finished.err;
    const auto text = content(folder / "curves.csv");
    const auto second = text.find("ss-esoap,");
    return std::pair{text.substr(0, second), text.substr(second)};
  };
  const auto renewed = curves("true", "adam"), voided = curves("false", "adam"), off = curves("true", "off");
  EXPECT_EQ(renewed.first, voided.first);
  EXPECT_EQ(voided.second, off.second);
  EXPECT_NE(renewed.second, off.second);
}

// There every label of the logistic problem, 1000 rows of 40, has the loss log 2, and none is met.
TEST(TaskCommand, StartsAtZeroWithAStartScaleOfZero) {
  const auto start = [](const std::string& scale) {
    const TemporaryFolder folder;
    const auto finished = task("logistic", "adam",
                               {"--seeds", "1", "--steps", "1", "--set", "task.start_scale=" + scale, "--out",
                                folder.path().string()});
    EXPECT_EQ(finished.status, 0) << finished.err;
    const auto text = content(folder / "curves.csv");
    double loss = 0, accuracy = -1;
    EXPECT_EQ(std::sscanf(text.c_str() + text.find("adam,0,0,"), "adam,0,0,%lf,%lf,", &loss, &accuracy), 2);
    return std::pair{loss, accuracy};
  };
  const auto [loss, accuracy] = start("0");
  EXPECT_NEAR(loss, 40000 * std::log(2.0), 1e-8 * loss);
  EXPECT_EQ(accuracy, 0);
  EXPECT_GT(start("1").first, 1.01 * loss);
}

TEST(TaskCommand, SaysWhichNumbersItTakes) {
  const auto finished = task("quadratic", "adam", {"--steps", "0"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_TRUE(contains(finished.err, "--steps: expected a whole number in [1, 1000000000], got '0'"))
      << finished.err;
}

TEST(TaskCommand, ChecksEveryOptimizerAndTheFolderBeforeTheFirstRun) {
  const std::vector<std::string> brief{"--seeds", "1", "--steps", "5"};
  expect_refusal(task("logistic", "lbfgs,linear", brief), "linear cannot be used on the logistic task");
  expect_refusal(task("logistic", "lbfgs,lm", brief),
                 "lm needs an objective that is a sum of squared residuals");
  expect_refusal(task("logistic", "adam",
                      {"--steps", "5", "--set", "adam.then.name=lm", "--set", "adam.then.at_step=3"}),
                 "sum of squared residuals");
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "not a folder";
  expect_refusal(task("quadratic", "adam", {"--steps", "5", "--out", (folder / "file").string()}),
                 "--out: cannot create the folder");
}

TEST(TaskCommand, RefusesWhatItDoesNotUnderstandInTheDataFile) {
  const TemporaryFolder folder;
  Surroundings here;
  here.folder = folder.path();
  const auto expect = [&](const std::string& data, const std::string& message) {
    std::ofstream(folder / "data.json") << data;
    expect_refusal(task("quadratic", "adam", {"--seeds", "1", "--steps", "2", "--data", "data.json"}, here),
                   message);
  };
  expect(R"({"quadratic": {"metric": "gapp"}})",
         "data.json:1:26: quadratic.metric: unknown metric 'gapp'; did you mean 'gap'? (known: loss, gap, ");
  expect(R"({"quadratic": {"metric": "nosuch"}})", "unknown metric 'nosuch' (known: loss, gap, ");
  expect(R"({"quadratic": {"metrik": "gap"}})",
         "data.json:1:16: unknown key of quadratic 'metrik'; did you mean 'metric'");
  expect(R"({"quadratik": {}})", "did you mean 'quadratic'");
  expect(R"({"logistic": {"steps": 0}})", "logistic.steps: expected a whole number in [1, ");
  expect(R"({"quadratic": {"settings": {"adm": {}}}})", "'adm'; did you mean 'adam'");
  expect(R"({"quadratic": {"settings": {"soap": {"beta": 1}}}})", "unknown option of soap 'beta'");
  expect(R"({"quadratic": {"settings": {"adam": {"schedule.decay": "cosin"}}}})", "did you mean 'cosine'");
  expect(R"({"quadratic": {"paper": {"adam": {"last": "1"}}}})", "expected a step, got 'last'");
  expect(R"({"learning_rate_grid": [0]})", "expected a list of positive numbers");
  expect(R"({"quadratic": )", "data.json: not valid JSON");
}

TEST(TaskCommand, UsesTheDataFile) {
  const TemporaryFolder folder;
  std::ofstream(folder / "data.json") << R"({"quadratic": {"metric": "residual_condition", "steps": 4,
                         "settings": {"adam": {"schedule.decay": "cosine", "learning_rate": 0.25}}}})";
  const auto finished =
      task("quadratic", "adam", {"--seeds", "1", "--data", (folder / "data.json").string()});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_TRUE(contains(finished.out, "adam seed 0: residual_condition ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "after 4 steps"));
  EXPECT_TRUE(contains(finished.out, "\"learning_rate\":0.25"));
  EXPECT_TRUE(contains(finished.out, "\"decay\":\"cosine\""));
}

// Steps of 1e200 make the loss infinite.
TEST(TaskCommand, ChoosesNoLearningRateThatDiverges) {
  const TemporaryFolder folder;
  const auto tuned_over = [&](const std::string& grid) {
    std::ofstream(folder / "data.json") << R"({"learning_rate_grid": )" + grid + "}";
    return task("quadratic", "adam",
                {"--seeds", "1", "--steps", "3", "--tune", "--data", (folder / "data.json").string()});
  };
  for (const char* grid : {"[0.01, 1e200]", "[1e200, 0.01]"}) {
    const auto finished = tuned_over(grid);
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_TRUE(contains(finished.out, "adam learning_rate 1e+200: loss not finite, diverged\n"))
        << finished.out;
    EXPECT_TRUE(contains(finished.out, "\"learning_rate\":0.01")) << finished.out;
  }
  const auto hopeless = tuned_over("[1e190, 1e200]");
  EXPECT_EQ(hopeless.status, 2);
  EXPECT_TRUE(
      contains(hopeless.err, "--tune: adam diverges with every learning rate of the grid (1e+190, 1e+200)"))
      << hopeless.err;
  EXPECT_FALSE(contains(hopeless.out, "adam seed 0"));
}

TEST(TaskCommand, SaysSoIfFilesCannotBeWrittenButShowsTheTable) {
  const TemporaryFolder folder;
  Surroundings full_disk;
  full_disk.largest_file = 8000;  // the table is smaller, the curves are not
  const auto finished =
      task("quadratic", "adam",
           {"--seeds", "1", "--steps", "200", "--record", "1", "--out", folder.path().string()}, full_disk);
  EXPECT_EQ(finished.status, 2);
  EXPECT_TRUE(contains(finished.err, "curves.csv")) << finished.err;
  EXPECT_TRUE(contains(finished.out, "| adam "));
  EXPECT_FALSE(contains(finished.out, "wrote"));
  EXPECT_FALSE(std::filesystem::exists(folder / "curves.csv"));
}

TEST(TaskCommand, KeepsWhatHasEndedIfItIsInterrupted) {
  const TemporaryFolder folder;
  Process process(
      lather_command({"task", "quadratic", "--size", "small", "--optimizers", "adam,muon", "--seeds",
                      "100000", "--steps", "50", "--record", "10", "--out", folder.path().string()}));
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(folder / "settings.json"); }));
  process.send(SIGTERM);
  const auto finished = process.wait();
  EXPECT_EQ(finished.status, 130);
  EXPECT_TRUE(contains(finished.err, " of 200000 runs have ended and are in ")) << finished.err;
  EXPECT_TRUE(contains(finished.out, "\nIncomplete: "));
  EXPECT_TRUE(content(folder / "table.md").starts_with("Incomplete: "));
  EXPECT_TRUE(contains(content(folder / "table.md"), "over the seeds that have ended\n"));
  EXPECT_FALSE(nlohmann::json::parse(content(folder / "settings.json")).at("complete").get<bool>());
  const auto steps = steps_in(folder / "curves.csv");
  EXPECT_TRUE(steps.count("adam,0"));
  for (const auto& [run, recorded] : steps) EXPECT_EQ(recorded, "0 10 20 30 40 50") << run;
}

TEST(TaskCommand, EndsOnAnInterruptionOfTheSearchForLearningRates) {
  Process process(lather_command(
      {"task", "quadratic", "--size", "small", "--optimizers", "adam", "--steps", "100000000", "--tune"}));
  const auto catches_interrupts = [&] {  // a mask of signals, SIGINT being the second
    const std::string status = content(fmt::format("/proc/{}/status", process.pid()));
    const auto mask = status.find("SigCgt:");
    return mask != std::string::npos && (std::stoull(status.substr(mask + 7), nullptr, 16) & 2) != 0;
  };
  ASSERT_TRUE(wait_until(catches_interrupts));
  process.send(SIGINT);
  const auto finished = process.wait();
  EXPECT_EQ(finished.status, 130);
  EXPECT_TRUE(contains(finished.err, "interrupted: 0 of 3 runs have ended\n")) << finished.err;
}

}  // namespace
}  // namespace lather::testing
