// Verdicts about the paper's order of methods, from made-up runs.
#include "lather/experiment/results.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lather/core/files.hpp"
#include "lather/experiment/kept_fields.hpp"
#include "small_experiment.hpp"
#include "train/small_problem.hpp"

namespace lather::experiment {
namespace {

using small_experiment::kSmallExperiment;
using small_experiment::read_text;
using testing::TemporaryFolder;

class Verdicts : public ::testing::Test {
 protected:
  // Runs of Adam and SS-eSOAP with these mean square residuals; negative: not a number.
  Verdict of(const std::vector<double>& adam, const std::vector<double>& esoap) {
    result_ = {&plan_, {}};
    for (const auto* values : {&adam, &esoap}) {
      CellResult cell;
      cell.cell = &plan_.cells[result_.cells.size()];
      for (const double value : *values) cell.seeds.push_back(run(value));
      result_.cells.push_back(cell);
    }
    return judge(result_, experiment_.metrics[0], "heat-1d");
  }
  Measured measured(std::size_t cell) {
    return measure(result_, experiment_.metrics[0], result_.cells[cell]);
  }

 private:
  RunRecord run(double mean_square) {
    const auto folder = folder_.path() / std::to_string(count_++);
    std::filesystem::create_directory(folder);
    const std::string residual = mean_square < 0 ? "null" : std::to_string(std::sqrt(mean_square));
    write_file_atomically(folder / "summary.json", std::string("{\"reason\": \"") +
                                                       (mean_square < 0 ? "non_finite" : "steps") +
                                                       "\", \"final\": {\"residual\": " + residual + "}}");
    return {RunStatus::done, folder, ""};
  }
  TemporaryFolder folder_;
  int count_ = 0;
  Experiment experiment_ = read_text(kSmallExperiment);
  Plan plan_ = make_plan(experiment_, "quick", Device::cpu);
  ExperimentResult result_;
};

TEST_F(Verdicts, HoldWhereTheLeaderIsThePapers) {
  const Verdict verdict = of({1, 1.1}, {4, 4.4});
  EXPECT_EQ(verdict.kind, Verdict::Kind::holds);
  EXPECT_EQ(verdict.agreeing, 1);
  EXPECT_EQ(verdict.pairs, 1);
}

TEST_F(Verdicts, FailWhereAnotherIsBetterByMoreThanTwoStandardErrors) {
  const Verdict verdict = of({4, 4.4}, {1, 1.1});
  EXPECT_EQ(verdict.kind, Verdict::Kind::fails);
  EXPECT_EQ(verdict.words, "Adam leads in the paper, ss-esoap here: Adam has 4 times the value of ss-esoap");
  EXPECT_EQ(verdict.agreeing, 0);
}

TEST_F(Verdicts, AreLevelWithinTwoStandardErrorsButNotFromOneSeed) {
  EXPECT_EQ(of({1, 3}, {1, 2.8}).kind, Verdict::Kind::within_error);
  const Verdict one = of({2}, {1.9});
  EXPECT_EQ(one.kind, Verdict::Kind::fails);
  EXPECT_NE(one.words.find("(one seed)"), std::string::npos);
}

TEST_F(Verdicts, CountARunThatIsNotANumberAsLast) {
  EXPECT_EQ(of({1, 1.1}, {-1, 1}).kind, Verdict::Kind::holds);
  EXPECT_EQ(measured(1).text(), "1.00e+00; 1 of 2 diverged");
  EXPECT_EQ(of({-1, -1}, {-1, -1}).kind, Verdict::Kind::untested);
  EXPECT_EQ(measured(0).text(), "diverged");
}

TEST_F(Verdicts, AreNotGivenWhereRunsAreMissing) {
  EXPECT_EQ(of({1, 1.1}, {}).kind, Verdict::Kind::untested);
}

TEST(KeptFields, AreEverySecondPointAndNoResiduals) {
  nlohmann::json x, y{0.0, 1.0}, u, r;
  for (int i = 0; i <= 2 * 64; ++i) x.push_back(0.1 * i);
  for (int i = 0; i < 2 * 129; ++i) u.push_back(i + 1e-9), r.push_back(0);
  const auto kept = kept_fields({{"step", 7},
                                 {"coordinates", {"x", "y"}},
                                 {"axes", {x, y}},
                                 {"arrays", {{"u", u}, {"residual.e", r}}}});
  EXPECT_EQ(kept["axes"][0].size(), 65U);
  EXPECT_EQ(kept["axes"][0].back(), x.back());
  EXPECT_EQ(kept["axes"][1], y);
  EXPECT_EQ(kept["arrays"].size(), 1U);
  ASSERT_EQ(kept["arrays"]["u"].size(), 130U);
  EXPECT_EQ(kept["arrays"]["u"][2], 4.0);  // x[2], y[0]; six digits
  EXPECT_EQ(kept["arrays"]["u"][129], 257.0);
  EXPECT_EQ(kept["step"], 7);
}

TEST(Measured, HasTheStandardErrorOfTheMean) {
  Measured m;
  m.values = {1, 2, 3};
  m.seeds = 3;
  EXPECT_DOUBLE_EQ(m.mean(), 2);
  EXPECT_DOUBLE_EQ(m.standard_error(), 1 / std::sqrt(3));
}

TEST(Curve, TakesTheWorstFieldAndTheSecondsOfItsStep) {
  const TemporaryFolder folder;
  write_file_atomically(
      folder.path() / "history.jsonl",
      "{\"step\": 1, \"loss\": 2}\n{\"step\": 10, \"residual\": 0.5, \"l2.u\": 0.1, \"l2.v\": "
      "0.3}\n{\"step\": 20, \"resi");
  write_file_atomically(folder.path() / "timing.csv", "step,seconds\n1,0.1\n10,1.5\n");
  const auto squares = curve_of(folder.path(), Quantity::mean_square),
             errors = curve_of(folder.path(), Quantity::l2);
  ASSERT_EQ(squares.size(), 1U);
  EXPECT_EQ(squares[0].value, 0.25);
  EXPECT_EQ(squares[0].seconds, 1.5);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].value, 0.3);
}

}  // namespace
}  // namespace lather::experiment
