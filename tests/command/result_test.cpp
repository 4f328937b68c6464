// What a run gives: the best step, how it was judged, and a self-contained folder.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "process.hpp"

namespace lather::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// A network of 482 parameters on 20 of 40 rows of pure noise: whatever it learns
// makes the other 20 worse than their mean.
constexpr const char* kSigns = "++-+---++-+-+--+--++-+--+++--+-+-+--++-+";
constexpr const char* kNoisyFit = R"toml(
name = "fit"
coordinates = ["x"]
fields = ["u"]
[domain]
x = [0, 1]
[network]
width = 20
depth = 2
[unknown]
a = {initial = 0.5, known = 0}
[[data]]
name = "measured"
file = "rows.csv"
residual = "u + a - v"
[training]
optimizer = "lbfgs"
[training.quick]
steps = 400
sampling = {data_validation = 0.5}
)toml";

class Result : public ::testing::Test {
 protected:
  Result() {
    std::ofstream(folder_ / "fit.toml") << kNoisyFit;
    std::ofstream rows(folder_ / "rows.csv");
    rows << "x,v\n";
    for (int i = 0; i < 40; ++i) {
      rows << (i + 0.5) / 40 << "," << (kSigns[i] == '+' ? 1 : -1) << "\n";
    }
  }
  Finished run(std::vector<std::string> arguments) {
    return lather(std::move(arguments), {folder_.path(), {}});
  }
  Json summary(const std::string& name) { return Json::parse(content(folder_ / name / "summary.json")); }
  void expect_refused(std::vector<std::string> arguments, const std::string& words) {
    arguments.insert(arguments.end(), {"--out", "refused"});
    const Finished refused = run(arguments);
    EXPECT_EQ(refused.status, 2) << refused.out;
    EXPECT_TRUE(contains(refused.err, words)) << refused.err;
    EXPECT_FALSE(fs::exists(folder_ / "refused"));
  }
  TemporaryFolder folder_;
  std::string small_ = write_small_problem(folder_.path()).string();
};

TEST_F(Result, IsThatOfTheBestStepUnlessTheLastIsAskedFor) {
  const Finished trained = run({"train", "fit.toml", "--out", "run"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  const Json s = summary("run");
  const double best = s["unknowns"]["a"]["value"], last = s["unknowns"]["a"]["last"];
  ASSERT_LT(s["best"]["step"], s["final"]["step"]);
  ASSERT_NE(best, last);
  const auto text = [](double value) { return std::to_string(value).substr(0, 5); };
  EXPECT_TRUE(contains(trained.out, "found  a = " + text(best))) << trained.out;
  EXPECT_TRUE(contains(run({"eval", "run"}).out, "a                            " + text(best)));
  EXPECT_TRUE(contains(run({"eval", "run", "--last"}).out, "a                            " + text(last)));
  std::ofstream(folder_ / "points.csv") << "x\n0.5\n";
  const Finished at_best = run({"predict", "run", "points.csv"}),
                 at_last = run({"predict", "run", "points.csv", "--last"});
  EXPECT_EQ(at_best.status + at_last.status, 0) << at_best.err << at_last.err;
  EXPECT_NE(at_best.out, at_last.out);
  ASSERT_EQ(run({"export", "run", "--out", "best.npz"}).status, 0);
  ASSERT_EQ(run({"export", "run", "--last", "--out", "last.npz"}).status, 0);
  EXPECT_NE(content(folder_ / "best.npz"), content(folder_ / "last.npz"));
  ASSERT_EQ(run({"report", "run", "--tables", "best"}).status, 0);
  ASSERT_EQ(run({"report", "run", "--last", "--tables", "last"}).status, 0);
  EXPECT_NE(content(folder_ / "best" / "figures.md"), content(folder_ / "last" / "figures.md"));
}

TEST_F(Result, SaysWhenTheHeldOutLossRisesWhileTheTrainingLossFalls) {
  const Finished trained = run({"train", "fit.toml", "--out", "run"});
  EXPECT_TRUE(contains(trained.err, "the held-out loss rose from")) << trained.err;
  EXPECT_TRUE(contains(summary("run")["overfitting"].get<std::string>(), "while the training loss fell"));
  const Finished patient = run({"train", "fit.toml", "--patience", "8", "--out", "patient"});
  EXPECT_EQ(patient.status, 0) << patient.err;
  const Json s = summary("patient");
  EXPECT_EQ(s["reason"], "patience");
  EXPECT_EQ(s["step"].get<int>() - s["best"]["step"].get<int>(), 8 * 4) << "validated every 4 steps";
}

TEST_F(Result, OfDataAloneHasAResidualToReach) {
  const Finished trained =
      run({"train", "fit.toml", "--steps", "5", "--target", "residual=1e-6", "--out", "run"});
  EXPECT_EQ(trained.status, 3) << trained.out;
  EXPECT_EQ(summary("run")["step"], 5);
  EXPECT_GT(summary("run")["best"]["residual"], 1e-3);
  EXPECT_EQ(summary("run")["held_out_rows"]["measured"], 20);
}

TEST_F(Result, NeedsNothingButItsFolder) {
  std::string text = kNoisyFit;
  text.replace(text.find("a - v"), 5, "a - scale*v").append("[table]\nscale = \"scale.csv\"\n");
  std::ofstream(folder_ / "fit.toml") << text;
  std::ofstream(folder_ / "scale.csv") << "x,scale\n0,1\n0.5,2\n1,1\n";
  ASSERT_EQ(run({"train", "fit.toml", "--steps", "20", "--quiet", "--out", "run"}).status, 0);
  EXPECT_EQ(content(folder_ / "run" / "data" / "measured.csv"), content(folder_ / "rows.csv"));
  EXPECT_EQ(content(folder_ / "run" / "data" / "scale.table.csv"), content(folder_ / "scale.csv"));
  for (const char* gone : {"rows.csv", "scale.csv", "fit.toml"}) fs::remove(folder_ / gone);
  fs::rename(folder_ / "run", folder_ / "moved");
  EXPECT_EQ(run({"eval", "moved"}).status, 0);
  const Finished again = run({"train", "--config", "moved/config.json", "--quiet", "--out", "again"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(content(folder_ / "moved" / "history.csv"), content(folder_ / "again" / "history.csv"));
  const Finished more = run({"train", "--resume", "moved", "--steps", "30", "--quiet"});
  EXPECT_EQ(more.status, 0) << more.err;
}

TEST_F(Result, HasErrorsOfTheLastAndTheBestStepOnTheSameGrid) {
  ASSERT_EQ(run({"train", small_, "--steps", "20", "--quiet", "--out", "run"}).status, 0);
  const Json s = summary("run");
  EXPECT_EQ(s["final"]["error_grid"], 401);
  EXPECT_EQ(s["best"]["error_grid"], 401);
  if (s["final"]["step"] == s["best"]["step"]) {
    EXPECT_EQ(s["final"], s["best"]);
  }
  EXPECT_GT(s["peak_host_bytes"], 1 << 20);
}

TEST_F(Result, ShowsTheResidualAndItsSquareAndNamesBoth) {
  const Finished trained = run({"train", small_, "--steps", "20", "--out", "run"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  for (const char* step : {"best", "final"}) {
    const Json metrics = summary("run")[step];
    const double root = metrics["residual"], square = metrics["mean_square_residual"];
    EXPECT_DOUBLE_EQ(square, root * root);
    const std::string words = fmt::format(" residual {:.3e} (rms), {:.3e} (mean square)", root, square);
    EXPECT_TRUE(contains(trained.out, words)) << words << "\n" << trained.out;
  }
  const Json best = Json::parse(run({"eval", "run", "--json"}).out)["best"];
  const Finished eval = run({"eval", "run"});
  EXPECT_TRUE(contains(eval.out, "root mean square     mean square\n")) << eval.out;
  for (const auto& [term, residual] : best["residuals"].items()) {
    const double root = residual;
    const std::string line = fmt::format("  {:<28} {:>22} {:>15}\n", term, fmt::format("{:.6e}", root),
                                         fmt::format("{:.6e}", root * root));
    EXPECT_TRUE(contains(eval.out, line)) << line << "\n" << eval.out;
  }
  EXPECT_TRUE(contains(eval.out, fmt::format("{:.6e}", best["mean_square_residual"].get<double>())))
      << eval.out;
}

TEST_F(Result, ThatCannotBeJudgedOrComputedIsRefusedAtTheStart) {
  expect_refused({"train", "fit.toml", "--target", "l2=1e-3"}, "the problem has no [reference]");
  expect_refused({"train", small_, "--target", "h1=1e-3", "--set", "training.reference=false"},
                 "training.reference is false");
  expect_refused({"train", small_, "--optimizer", "lm", "--precision", "float32"}, "lm needs float64");
  expect_refused({"train", small_, "--set", "optimizer.then.name=lm", "--set", "optimizer.then.at_step=5",
                  "--precision", "float32"},
                 "lm needs float64");
  expect_refused({"train", small_, "--set", "training.weighting=\"ntk\"", "--precision", "float32"},
                 "ntk weighting needs float64");
  expect_refused({"train", small_, "--optimizer", "lm", "--set", "optimizer.clip.limit=1"},
                 "optimizer.clip cannot be combined with lm");
}

TEST_F(Result, ThatIsNotANumberNamesTheTermAndThePoint) {
  std::string text = kSmallProblem;
  text.replace(text.find("u_t - nu*u_xx"), 13, "u_t - nu*u_xx + log(t - 0.5)");
  std::ofstream(folder_ / "nan.toml") << text;
  const Finished trained = run({"train", "nan.toml", "--out", "run"});
  EXPECT_EQ(trained.status, 3);
  EXPECT_TRUE(contains(trained.out, "the residual of 'heat' is nan at x = ")) << trained.out;
}

TEST_F(Result, MayBeTheStartOfAnotherRun) {
  ASSERT_EQ(run({"train", small_, "--steps", "60", "--quiet", "--out", "first"}).status, 0);
  const Finished second = run({"train", small_, "--optimizer", "adam", "--steps", "3", "--from", "first",
                               "--set", "optimizer.learning_rate=1e-9", "--json", "--out", "second"});
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(second.err, "");
  const double before = summary("first")["best"]["validation_loss"],
               after = summary("second")["best"]["validation_loss"];
  EXPECT_NEAR(after, before, 1e-6 * before);
  // The folder of the new run does not need the old one.
  fs::remove_all(folder_ / "first");
  EXPECT_EQ(run({"eval", "second"}).status, 0);
  const Finished again = run({"train", "--config", "second/config.json", "--quiet", "--out", "again"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(content(folder_ / "again" / "history.csv"), content(folder_ / "second" / "history.csv"));
  // A different depth: what does not fit is named.
  const Finished deeper = run(
      {"train", small_, "--steps", "2", "--from", "second", "--set", "network.depth=3", "--out", "deeper"});
  EXPECT_EQ(deeper.status, 0) << deeper.err;
  EXPECT_TRUE(contains(deeper.err, "initialized afresh: layer3.weight (not there)")) << deeper.err;
  expect_refused({"train", small_, "--from", "second", "--set", "network.width=7"},
                 "no part of its network fits");
}

}  // namespace
}  // namespace lather::testing
