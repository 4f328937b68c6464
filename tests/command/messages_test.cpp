// What a user types by mistake, and the message it gets.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "process.hpp"

namespace lather::testing {
namespace {

namespace fs = std::filesystem;

class Messages : public ::testing::Test {
 protected:
  Finished run(std::vector<std::string> arguments) {
    return lather(std::move(arguments), {folder_.path(), {}});
  }
  // Refused with `status` and these words, and nothing was written.
  void expect_refused(std::vector<std::string> arguments, int status, const std::string& words) {
    const auto before = entries();
    const Finished refused = run(std::move(arguments));
    EXPECT_EQ(refused.status, status) << refused.out << refused.err;
    EXPECT_TRUE(contains(refused.err, words)) << refused.err;
    EXPECT_EQ(entries(), before);
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> list;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) list.push_back(entry.path());
    std::sort(list.begin(), list.end());
    return list;
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }

  TemporaryFolder folder_;
  std::string problem_ = write_small_problem(folder_.path()).string();
};

TEST_F(Messages, AMisspeltCommandOrOptionGetsTheNearest) {
  expect_refused({"trian", problem_}, 1, "unknown command 'trian'; did you mean 'train'?");
  expect_refused({"list", "optimisers"}, 1, "did you mean 'optimizers'?");
  expect_refused({"train", problem_, "--stpes", "4"}, 1, "unknown option '--stpes'; did you mean '--steps'?");
  expect_refused({}, 1, "a command is missing");
}

TEST_F(Messages, NumbersThatDoNotFitAreRefusedInsteadOfWrapping) {
  expect_refused({"train", problem_, "--seed", "-1"}, 1,
                 "--seed: expected a whole number in [0, 18446744073709551615]");
  expect_refused({"train", problem_, "--seed", "18446744073709551616"}, 1, "--seed: expected a whole number");
  expect_refused({"train", problem_, "--steps", "9223372036854775808"}, 1,
                 "--steps: expected a whole number in [1, 9223372036854775807]");
  expect_refused({"train", problem_, "--steps", "1.5"}, 1, "got '1.5'");
  expect_refused({"train", problem_, "--steps", "-4"}, 1, "--steps: expected a whole number");
  expect_refused({"train", problem_, "--time", "soon"}, 1, "--time: expected a number");
  expect_refused({"compare", problem_, "--seeds", "-1"}, 1, "--seeds: expected a whole number");
}

TEST_F(Messages, StepsMayBeWrittenWithAnExponent) {
  const Finished trained = run({"train", problem_, "--steps", "1e1", "--json", "--out", "run"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_EQ(nlohmann::json::parse(trained.out)["step"], 10);
}

TEST_F(Messages, TheGpuIsCalledCuda) {
  expect_refused({"train", problem_, "--device", "gpu"}, 1, "did you mean 'cuda'?");
}

TEST_F(Messages, NothingIsWrittenBesideForeignFiles) {
  fs::create_directory(folder_ / "mine");
  write("mine/thesis.tex", "");
  expect_refused({"train", problem_, "--steps", "2", "--out", "mine"}, 2,
                 "'mine' is not empty (it holds 'thesis.tex')");
  expect_refused(
      {"compare", problem_, "--steps", "2", "--seeds", "1", "--optimizers", "adam", "--out", "mine"}, 2,
      "neither empty nor that of a comparison");
  fs::create_directory(folder_ / "empty");
  EXPECT_EQ(run({"train", problem_, "--steps", "2", "--quiet", "--out", "empty"}).status, 0);
  expect_refused({"train", problem_, "--steps", "2", "--out", "empty"}, 2, "holds a run already");
}

class OfARun : public Messages {
 protected:
  void SetUp() override {
    ASSERT_EQ(run({"train", problem_, "--steps", "2", "--quiet", "--out", "run"}).status, 0);
  }
};

TEST_F(OfARun, AGridThatDoesNotFitIntoMemoryIsRefused) {
  expect_refused({"export", "run", "--grid", "10000000,10000000"}, 2, "--grid: 1e+14 points");
}

TEST_F(OfARun, ReportNamesWhatAFigureCanShow) {
  const auto refused = [&](const char* option, const char* value, const std::string& words) {
    expect_refused({"report", "run", "--figure", "f.svg", option, value}, 2, words);
  };
  refused("--quantity", "resdual", "unknown value of --quantity 'resdual'; did you mean 'residual'?");
  refused("--quantity", "memory", "(known: h1, l2, loss, mean_square, residual, training_loss)");
  refused("--panel", "curvs", "unknown value of --panel 'curvs'; did you mean 'curves'?");
  refused("--over", "step", "unknown value of --over 'step'; did you mean 'steps'?");
  refused("--seeds", "appart", "unknown value of --seeds 'appart'; did you mean 'apart'?");
  expect_refused({"report", "run", "--figure", "f.png"}, 2, "must end in .svg or .pdf");
  expect_refused({"report", "run", "--quantity", "l2"}, 1, "--figure");
}

TEST_F(OfARun, PredictDoesNotOverwriteItsPoints) {
  write("points.csv", "x,t\n0.5,0.5\n");
  expect_refused({"predict", "run", "points.csv", "--out", "./points.csv"}, 2, "the file of the points");
  EXPECT_EQ(content(folder_ / "points.csv"), "x,t\n0.5,0.5\n");
}

TEST_F(OfARun, PointsMayComeFromASpreadsheetOrNumPy) {
  write("plain.csv", "x,t\n0.5,0.25\n");
  write("marked.csv", "\xEF\xBB\xBFx,t\r\n0.5,0.25\r\n");
  write("numpy.csv", "# x,t\n5.0e-01,2.5e-01\n");
  const Finished plain = run({"predict", "run", "plain.csv"});
  ASSERT_EQ(plain.status, 0) << plain.err;
  EXPECT_EQ(run({"predict", "run", "marked.csv"}).out, plain.out);
  EXPECT_EQ(run({"predict", "run", "numpy.csv"}).out, plain.out);
}

TEST_F(Messages, CheckSuggestsProblems) {
  expect_refused({"check", "burgrs"}, 2, "did you mean 'burgers'?");
  expect_refused({"check", "none.toml"}, 2, "there is no file 'none.toml'");
  fs::create_directory(folder_ / "dir.toml");
  expect_refused({"check", "dir.toml"}, 2, "'dir.toml' is a folder, not a problem file");
}

TEST_F(Messages, CommandsThatMovedSayWhereTo) {
  for (const auto& [command, place] :
       std::vector<std::pair<std::string, std::string>>{{"reproduce", "lab/reproduce"},
                                                        {"task", "lab/reproduce"},
                                                        {"replay", "tests/optim"},
                                                        {"estimate", "lab_scaling"}})
    expect_refused({command, "all", "--budget", "quick"}, 2, "`lather " + command + "` has moved to");
  EXPECT_EQ(run({"--help"}).out.find("reproduce"), std::string::npos);
}

TEST_F(Messages, TrainingOnARoughCoefficientIsWarnedOf) {
  write("rough.toml", R"toml(name = "rough"
coordinates = ["x"]
fields = ["u"]
[domain]
x = [0, 1]
[let]
k = "1 + step(x - 0.5)"
[[equation]]
name = "flux"
residual = "D(k*u_x, x) + 1"
)toml");
  const std::string words =
      "rough.toml:10:12: the derivative of step(x - 0.5) by x is taken: its jump is dropped";
  const Finished checked = run({"check", "rough.toml"});
  EXPECT_TRUE(contains(checked.out, words)) << checked.out;
  const Finished trained = run({"train", "rough.toml", "--steps", "2", "--out", "run"});
  EXPECT_EQ(trained.status, 0);
  EXPECT_TRUE(contains(trained.err, words)) << trained.err;
}

// A closed terminal sends SIGHUP.
TEST_F(Messages, AHangupSavesTheRun) {
  Process training(lather_command({"train", problem_, "--steps", "10000000", "--quiet", "--out", "run"}),
                   {folder_.path(), {}});
  // By the time its first line is written, signals are caught.
  const fs::path history = folder_ / "run" / "history.csv";
  ASSERT_TRUE(wait_until([&] { return fs::exists(history) && fs::file_size(history) > 0; }));
  training.send(SIGHUP);
  EXPECT_EQ(training.wait().status, 130);
  EXPECT_EQ(run({"eval", "run"}).status, 0);
}

TEST_F(Messages, ADeletedRunFolderIsNotCalledSaved) {
  Process training(lather_command({"train", problem_, "--steps", "10000000", "--out", "run"}),
                   {folder_.path(), {}});
  ASSERT_TRUE(wait_until([&] { return !content(folder_ / "run" / "history.csv").empty(); }));
  fs::remove_all(folder_ / "run");
  training.send(SIGINT);
  const Finished stopped = training.wait();
  EXPECT_EQ(stopped.status, 2) << stopped.err;
  EXPECT_TRUE(contains(stopped.err, "was deleted or moved")) << stopped.err;
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

}  // namespace
}  // namespace lather::testing
