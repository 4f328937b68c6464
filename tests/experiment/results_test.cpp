// Verdicts about the paper's order of methods, from made-up runs.
#include "lather/experiment/verdicts/events.hpp"
#include "lather/experiment/verdicts/verdict.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "lather/core/files.hpp"
#include "lather/experiment/kept_fields.hpp"
#include "lather/experiment/pages/events_table.hpp"
#include "lather/experiment/pages/field_maps.hpp"
#include "lather/experiment/pages/write_up.hpp"
#include "small_experiment.hpp"
#include "train/small_problem.hpp"

namespace lather::experiment {
namespace {

using small_experiment::kSmallExperiment;
using small_experiment::read_text;
using testing::TemporaryFolder;

// Claims that may or may not hold for the made-up runs.
const std::string kChecks = R"(
[[check]]
says = "Adam leads."
question = "Does Adam lead?"
variant = "adam"
below = ["ss-esoap"]

[[check]]
says = "SS-eSOAP has about three times the value of Adam."
variant = "ss-esoap"
over = "adam"
range = [2, 5]

[[check]]
says = "SS-eSOAP diverges."
variant = "ss-esoap"
result = "diverged"

[[check]]
says = "Nobody knows."
not_tested = "there are no runs"

[[check]]
says = "The loss does not jump where a basis changes."
variant = "ss-esoap"
events = "loss_after_1"
range = [0, 1.1]

[[check]]
says = "Ten steps later the basis fits."
variant = "ss-esoap"
events = "rho_after_10"
range = [0, 0.25]

[[check]]
says = "Ten steps later gradients agree."
variant = "ss-esoap"
events = "gradient_cosine_after_10"
range = [0.5, 1]

[[check]]
says = "Hardly any change of basis doubles the loss."
variant = "ss-esoap"
events = "doubled_after_1"
range = [0, 0.1]

[[check]]
says = "Adam ends far below SS-eSOAP."
variant = "adam"
over = "ss-esoap"
range = [0, 0.1]
)";

class Verdicts : public ::testing::Test {
 protected:
  CheckVerdict check(std::size_t i) const { return judge(result_, experiment_.checks[i]); }
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

  double l2_ = 0.1;  // of the runs made next

  RunRecord run(double mean_square) {
    const auto folder = folder_.path() / std::to_string(count_++);
    std::filesystem::create_directory(folder);
    const std::string residual = mean_square < 0 ? "null" : std::to_string(std::sqrt(mean_square));
    write_file_atomically(folder / "summary.json", std::string("{\"reason\": \"") +
                                                       (mean_square < 0 ? "non_finite" : "steps") +
                                                       "\", \"final\": {\"residual\": " + residual +
                                                       ", \"l2\": {\"u\": " + std::to_string(l2_) + "}}}");
    return {RunStatus::done, folder, ""};
  }
  TemporaryFolder folder_;
  int count_ = 0;
  Experiment experiment_ = read_text(kSmallExperiment + kChecks);
  Plan plan_ = make_plan(experiment_, "quick", Device::cpu);
  ExperimentResult result_;
};

TEST_F(Verdicts, HoldWhereTheLeaderIsThePapers) {
  const Verdict verdict = of({1, 1.1}, {4, 4.4});
  EXPECT_EQ(verdict.kind, Verdict::Kind::holds);
  EXPECT_EQ(verdict.agreeing, 1);
  EXPECT_EQ(verdict.pairs, 1);
}

TEST_F(Verdicts, FailWhereAnotherIsBetterInAllSeeds) {
  const Verdict verdict = of({4, 4.4}, {1, 1.1});
  EXPECT_EQ(verdict.kind, Verdict::Kind::fails);
  EXPECT_EQ(verdict.words, "Adam leads in the paper; here it is behind ss-esoap (4.00 times ss-esoap)");
  EXPECT_EQ(verdict.agreeing, 0);
}

TEST_F(Verdicts, AreOpenWhereSeedsCannotTellButNotFromOneSeed) {
  EXPECT_EQ(of({1, 3}, {1, 2.8}).kind, Verdict::Kind::within_error);
  EXPECT_EQ(of({1, 2}, {1.05, 2.6}).kind,
            Verdict::Kind::within_error);  // even if the paper's leader leads
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

// One seed of three is far off: its mean would be level with everything, its logarithms are not.
TEST_F(Verdicts, AreNotMadeLevelByOneLargeValue) {
  EXPECT_EQ(of({1000, 1000, 1e9}, {1, 1.1, 1.2}).pairs_text(),
            "0 in its order, 1 not told apart, 0 reversed");
  EXPECT_EQ(of({1000, 2000, 3e4}, {1, 1.1, 1.2}).kind, Verdict::Kind::fails);
  EXPECT_EQ(measured(0).text(), "median 2.00e+03 (1.0e+03 … 3.0e+04)");
  of({1000, -1, 3e4}, {1, 1.1, 1.2});
  EXPECT_EQ(measured(0).text(), "1.00e+03 and 3.00e+04; 1 of 3 diverged") << "their median is their mean";
}

TEST_F(Verdicts, AreNotGivenWhereNoMethodSolvesTheProblem) {
  l2_ = 0.9;
  const Verdict verdict = of({1, 1.1}, {4, 4.4});
  EXPECT_EQ(verdict.kind, Verdict::Kind::untested);
  EXPECT_NE(verdict.words.find("no method solves it here"), std::string::npos) << verdict.words;
  EXPECT_EQ(check(0).kind, CheckVerdict::Kind::untested);
}

// A small residual of something else than the solution wins nothing.
TEST_F(Verdicts, CountARunThatHasNotSolvedItsProblemAsLast) {
  of({4, 4.4}, {1, 1.1});
  l2_ = 0.9;
  for (RunRecord& seed : result_.cells[1].seeds) seed = run(1);
  EXPECT_EQ(judge(result_, experiment_.metrics[0], "heat-1d").kind, Verdict::Kind::holds);
  EXPECT_EQ(check(0).kind, CheckVerdict::Kind::holds);
  EXPECT_EQ(measured(1).text(), "1.00e+00 ± 0.0e+00; not solved");
  EXPECT_EQ(measured(0).unsolved, 0);
}

TEST_F(Verdicts, CountARunWithAnotherUnknownAsNotSolved) {
  of({4, 4.4}, {1, 1.1});
  for (RunRecord& seed : result_.cells[1].seeds) {
    auto summary = nlohmann::json::parse(read_file(seed.folder / "summary.json"));
    summary["unknowns"] = {{"lambda", {{"known", 1.92}, {"value", 1.92}, {"last", 1.9}}}};
    write_file_atomically(seed.folder / "summary.json", summary.dump());
  }
  EXPECT_EQ(measured(1).unsolved, 0);
  auto summary = read_summary(result_.cells[1].seeds[0]);
  summary["unknowns"]["lambda"]["last"] = 1.0;
  write_file_atomically(result_.cells[1].seeds[0].folder / "summary.json", summary.dump());
  EXPECT_EQ(measured(1).unsolved, 1);
  EXPECT_EQ(judge(result_, experiment_.metrics[0], "heat-1d").kind, Verdict::Kind::holds);  // it comes last
}

TEST_F(Verdicts, SayWhichRunsTheTimeLimitCutOff) {
  of({1, 1.1}, {4, 4});
  const auto file = result_.cells[1].seeds[0].folder / "summary.json";
  auto summary = nlohmann::json::parse(read_file(file));
  summary["reason"] = "time";
  write_file_atomically(file, summary.dump());
  EXPECT_EQ(measured(1).text(), "4.00e+00 ± 0.0e+00; 1 of 2 cut off by the time limit");
  EXPECT_EQ(measured(0).cut_off, 0);
}

TEST_F(Verdicts, SayWhichRunsHaveNoValue) {
  of({1, 1.1}, {4, 4});
  write_file_atomically(result_.cells[1].seeds[0].folder / "summary.json", R"({"reason": "steps"})");
  EXPECT_EQ(measured(1).text(), "4.00e+00; 1 of 2 without a value");
}

TEST_F(Verdicts, OnClaimsInWords) {
  of({1, 1.1}, {4, 4.4});
  EXPECT_EQ(check(0).kind, CheckVerdict::Kind::holds);
  EXPECT_EQ(check(0).evidence, "holds on Heat (0.25 times ss-esoap)");
  EXPECT_EQ(check(1).kind, CheckVerdict::Kind::holds);
  EXPECT_EQ(check(1).evidence, "holds on Heat (4.00 (4.00 … 4.00) times Adam; 2 to 5 counts)");
  EXPECT_EQ(check(2).kind, CheckVerdict::Kind::fails);
  EXPECT_EQ(check(3).kind, CheckVerdict::Kind::untested);
  EXPECT_EQ(check(3).evidence, "there are no runs");
  of({4, 4.4}, {1, 1.1});
  EXPECT_EQ(check(0).kind, CheckVerdict::Kind::fails);
  EXPECT_EQ(check(1).kind, CheckVerdict::Kind::fails);
  of({4, 1}, {1, 1.1});
  EXPECT_EQ(check(0).evidence, "cannot tell on Heat (1.91 times ss-esoap, lower in 1 of 2 seeds)");
  EXPECT_EQ(check(0).kind, CheckVerdict::Kind::undecided);
  of({4, 1}, {-1, -1});
  EXPECT_EQ(check(0).kind, CheckVerdict::Kind::holds);
  EXPECT_EQ(check(0).evidence, "holds on Heat (ss-esoap has 2 seeds without a value)");
  EXPECT_EQ(check(2).kind, CheckVerdict::Kind::holds);
  of({4, 1}, {});
  EXPECT_EQ(check(0).evidence, "not tested on Heat (runs are missing)");
}

TEST_F(Verdicts, OnARangeAreOpenWhereTheIntervalCrossesItsEnds) {
  of({1, 1}, {2, 5.5});
  EXPECT_EQ(check(1).kind, CheckVerdict::Kind::undecided) << check(1).evidence;
  of({1, 1}, {60, 60.1});
  EXPECT_EQ(check(1).kind, CheckVerdict::Kind::fails);
  of({1}, {3});
  EXPECT_EQ(check(1).evidence, "holds on Heat (3.00 times Adam; 2 to 5 counts, one seed)");
  of({1, 1}, {3, -1});  // a seed without a value says nothing about a factor
  EXPECT_EQ(check(1).kind, CheckVerdict::Kind::untested);
}

// Mean squares of 2 and 2.2: their mean is 2.1, its standard error 0.1, 12.706 of which are 95 %.
TEST_F(Verdicts, OnAValueOfItsOwnTakeTheIntervalOfTheMean) {
  CheckEntry own = experiment_.checks[0];
  own.below.clear();
  const auto within = [&](double low, double high) {
    own.low = low, own.high = high;
    return judge(result_, own);
  };
  of({2, 2.2}, {4, 4});
  EXPECT_EQ(within(0, 4).evidence, "holds on Heat (2.10e+00 (8.29e-01 … 3.37e+00); at most 4 counts)");
  EXPECT_EQ(within(2, 4).kind, CheckVerdict::Kind::undecided);
  EXPECT_EQ(within(4, 1e300).evidence,
            "does not hold on Heat (2.10e+00 (8.29e-01 … 3.37e+00); 4 or more counts)");
  of({2, -1}, {4, 4});
  EXPECT_EQ(within(0, 4).evidence, "not tested on Heat (2.00e+00; 1 of 2 diverged; at most 4 counts)");
  of({2}, {4});
  EXPECT_EQ(within(0, 4).evidence, "holds on Heat (2.00e+00, one seed; at most 4 counts)");

  experiment_.metrics[0].quantity = Quantity::basis_share;
  write_file_atomically(result_.cells[0].seeds[0].folder / "summary.json",
                        R"({"reason": "steps", "basis_updates": 34, "step": 100, "matrices": 10})");
  EXPECT_EQ(within(0.1, 0.2).evidence, "does not hold on Heat (3.4 %, one seed; 10 to 20 % counts)");
}

TEST_F(Verdicts, ThatATargetIsMissedNeedAMethodThatReachesIt) {
  auto& metric = experiment_.metrics[0];
  metric.quantity = Quantity::seconds_to_target;
  metric.target = 0.5;
  CheckEntry missed = experiment_.checks[2];  // of SS-eSOAP
  missed.result = "did not reach it";
  of({1}, {4});
  EXPECT_EQ(judge(result_, missed).evidence, "not tested on Heat (no method reaches it)");
  const auto adam = result_.cells[0].seeds[0].folder;
  write_file_atomically(adam / "history.jsonl", "{\"step\": 7, \"residual\": 0.5}\n");
  write_file_atomically(adam / "timing.csv", "step,seconds\n7,1.5\n");
  EXPECT_EQ(judge(result_, missed).evidence, "holds on Heat (did not reach it)");
}

// What two labels have in common is said once, and a label that continues the one above is whole.
TEST_F(Verdicts, NameMethodsAndProblemsAsASentenceNeedsThem) {
  experiment_.variants[0].label = "Adam, decayed";
  experiment_.variants[1].label = "SS-eSOAP, decayed";
  of({1, 1.1}, {4, 4.4});
  EXPECT_EQ(check(0).evidence, "holds on Heat (0.25 times SS-eSOAP)");
  experiment_.variants[1].label = "SS-eSOAP";
  EXPECT_EQ(check(0).evidence, "holds on Heat (0.25 times SS-eSOAP)");
  EXPECT_EQ(check(1).evidence, "holds on Heat (4.00 (4.00 … 4.00) times Adam, decayed; 2 to 5 counts)");

  const std::string second =
      "[[problem]]\nname = \"heat-1d-again\"\nlabel = \"… again\"\nproblem = \"heat-1d\"\n\n[[variant]]";
  const Experiment two = read_text(small_experiment::with(kSmallExperiment, "[[variant]]", second) + kChecks);
  const Plan plan = make_plan(two, "quick", Device::cpu);
  const ExperimentResult result{&plan, {}};
  EXPECT_EQ(judge(result, two.checks[0]).evidence,
            "not tested on Heat (not part of this budget), Heat, again (not part of this budget)");
}

TEST_F(Verdicts, ThatOneIsFarBelowCountSeedsWithoutAValue) {
  of({1, 1}, {20, 20.1});
  EXPECT_EQ(check(8).kind, CheckVerdict::Kind::holds) << check(8).evidence;
  of({1, 1}, {5, 5.1});
  EXPECT_EQ(check(8).kind, CheckVerdict::Kind::fails);
  of({1, -1}, {20, 20.1});  // behind, whatever the factor
  EXPECT_EQ(check(8).evidence, "does not hold on Heat (1 seed without a value; at most 0.1 counts)");
  of({1, 1}, {-1, -1});
  EXPECT_EQ(check(8).evidence, "holds on Heat (ss-esoap has 2 seeds without a value; at most 0.1 counts)");
  of({1, 1, 1}, {5, 5.1, -1});  // a factor is that of the others
  EXPECT_EQ(check(8).kind, CheckVerdict::Kind::fails) << check(8).evidence;
}

TEST_F(Verdicts, AreNotGivenWhereAllThatTuningTriedDiverges) {
  of({-1, -1}, {4, 4});
  result_.cells[0].judged = {INFINITY, 3.0};
  EXPECT_EQ(check(0).kind, CheckVerdict::Kind::fails);
  result_.cells[0].judged = {INFINITY, INFINITY};
  EXPECT_EQ(check(0).evidence, "not tested on Heat (all that tuning tried diverges: Adam)");
  // Nor is it an entrant in the paper's ranking, which then has one method only.
  EXPECT_EQ(judge(result_, experiment_.metrics[0], "heat-1d").words, "not tested");
}

TEST_F(Verdicts, OnTheTrainingLossTakeTheSummarys) {
  of({1}, {4});
  write_file_atomically(result_.cells[0].seeds[0].folder / "summary.json",
                        R"({"reason": "steps", "final": {"training_loss": 0.25, "validation_loss": 3}})");
  MetricEntry metric;
  metric.quantity = Quantity::training_loss;
  EXPECT_EQ(measure(result_, metric, result_.cells[0]).text(), "2.50e-01");
}

TEST_F(Verdicts, OnTheLargestValueLookAtAllSteps) {
  of({1}, {4});
  write_file_atomically(
      result_.cells[0].seeds[0].folder / "history.jsonl",
      "{\"step\": 1, \"task.gap\": 2}\n{\"step\": 2, \"task.gap\": 7}\n{\"step\": 3, \"task.gap\": 1}\n");
  MetricEntry metric;
  metric.quantity = Quantity::task_metric;
  metric.task_metric = "gap";
  metric.largest = true;
  EXPECT_EQ(measure(result_, metric, result_.cells[0]).text(), "7.00e+00");
}

// Medians of what is known ten steps after a change; losses of the worst tenth.
TEST_F(Verdicts, OnChangesOfBasesComeFromTheirLog) {
  of({1}, {4});
  EXPECT_EQ(check(5).kind, CheckVerdict::Kind::untested);
  write_file_atomically(
      result_.cells[1].seeds[0].folder / "events.jsonl",
      R"({"rho_left": 0.6, "rho_right": 0.1, "gradient_cosine": 0.05, "loss": 2, "loss_after_1": 2.1, )"
      R"("rho_after_10": 0.03, "gradient_cosine_after_10": 0.3}
{"rho_left": 0.1, "rho_right": 0.7, "gradient_cosine": 0.1, "loss": 1, "loss_after_1": 3, "rho_after_10": 0.2, "gradient_cosine_after_10": 0.4}
{"rho_left": 0.8, "rho_right": 0.1, "gradient_cosine": 0.2, "loss": 1}
)");
  EXPECT_EQ(check(4).evidence,
            "does not hold on Heat (3.00 times the loss before, in the worst tenth of changes; at most 1.1 "
            "counts)");
  EXPECT_EQ(check(5).evidence,
            "holds on Heat (0.03 ten steps after the median change, 0.7 at it; at most 0.25 counts)");
  EXPECT_EQ(check(6).evidence,
            "does not hold on Heat (0.3 ten steps after the median change, 0.1 at it; 0.5 to 1 counts)");
  EXPECT_EQ(
      check(7).evidence,
      "does not hold on Heat (50 % of changes more than double the loss in one step; at most 10 % counts)");
}

// Nothing was before it. A second stage begins with such bases too, at a later step.
TEST_F(Verdicts, OnChangesOfBasesDoNotCountTheFirstBasisOfALayer) {
  experiment_.events = true;
  of({1}, {4});
  const auto write_log = [&](const std::string& lines) {
    write_file_atomically(result_.cells[1].seeds[0].folder / "events.jsonl", lines);
  };
  const std::string first =
      R"({"step": 1, "rho_left": 9, "rho_right": 9, "gamma": 1, "loss": 1, "loss_after_1": 9, "loss_after_10": 9, )"
      R"("rho_after_10": 9, "gradient_cosine_after_10": 9)";
  const std::string of_second_stage = small_experiment::with(first, "\"step\": 1", "\"step\": 101") + "}\n";
  const std::string of_earlier_version = first + R"(, "gradient_cosine": 0})" + "\n";
  write_log(first + "}\n" + of_second_stage + of_earlier_version);
  EXPECT_TRUE(events_table(result_).rows.empty());
  EXPECT_EQ(check(5).kind, CheckVerdict::Kind::untested);
  write_log(
      first + "}\n" + of_second_stage + of_earlier_version +
      R"({"step": 7, "rho_left": 0.5, "rho_right": 0.1, "gamma": 0.75, "gradient_cosine": -0.6, "loss": 2, )"
      R"("loss_after_1": 2, "loss_after_10": 1, "rho_after_10": 0.1, "gradient_cosine_after_10": 0.7})"
      "\n");
  const auto table = events_table(result_);
  ASSERT_EQ(table.rows.size(), 1U);
  std::vector<std::string> cells;
  for (const auto& cell : table.rows[0]) cells.push_back(cell.text);
  EXPECT_EQ(cells, (std::vector<std::string>{"Heat", "ss-esoap", "1", "0.5", "0.1", "-0.6", "0.7", "0.75",
                                             "1", "1", "0 %", "0.5", "0.5"}));
  for (const std::size_t i : {4U, 5U, 6U}) EXPECT_EQ(check(i).kind, CheckVerdict::Kind::holds);
}

TEST_F(Verdicts, CountOnlyRunsThatHaveEnded) {
  of({1, 1.1, 1.2}, {4, 4.4, 4.8});
  result_.cells[0].seeds[2].status = RunStatus::interrupted;
  std::filesystem::remove(result_.cells[0].seeds[2].folder / "summary.json");
  const Ratio ratio = ratio_between(result_, experiment_.metrics[0], "adam", "ss-esoap");
  EXPECT_EQ(ratio.pairs, 2);
  EXPECT_EQ(ratio.lost, 0);
  EXPECT_EQ(ratio.kind(), Ratio::Kind::better);
}

TEST_F(Verdicts, CountZeroAsTheSmallestValue) {
  of({0, 0}, {4, 4.4});
  const Ratio ratio = ratio_between(result_, experiment_.metrics[0], "adam", "ss-esoap");
  EXPECT_EQ(ratio.pairs, 2);
  EXPECT_LT(ratio.factor, 1e-200);
}

TEST_F(Verdicts, CountARunThatEndedNotANumberAsDivergedWhateverItsLastNumberWas) {
  of({1, 1.1}, {4, 4.4});
  const auto& run = result_.cells[1].seeds[0].folder;
  write_file_atomically(run / "summary.json", R"({"reason": "non_finite", "final": {"residual": 1e90}})");
  EXPECT_EQ(measured(1).text(), "4.40e+00; 1 of 2 diverged");
}

TEST(Quantile, IsTheSmallestValueThatSuchAShareDoesNotExceed) {
  EXPECT_EQ(quantile({3, 1}, 0.9), 3);
  EXPECT_EQ(quantile({5, 4, 3, 2, 1}, 0.9), 5);
  EXPECT_EQ(quantile({10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 0.9), 9);
  EXPECT_EQ(quantile({1, 2, 3}, 0), 1);
}

TEST_F(Verdicts, CountARunThatEndsFarAboveItsStartAsDiverged) {
  of({1, 1.1}, {4, 4.4});
  EXPECT_EQ(measured(1).diverged, 0);
  const auto& run = result_.cells[1].seeds[0].folder;
  const auto end_at = [&](double loss) {
    write_file_atomically(run / "summary.json", fmt::format(R"({{"reason": "steps", "starting_loss": 1,
                                          "final": {{"residual": 2, "validation_loss": {}}}}})",
                                                            loss));
  };
  end_at(9);
  EXPECT_EQ(measured(1).diverged, 0);
  end_at(11);
  EXPECT_EQ(measured(1).text(), "4.40e+00; 1 of 2 diverged");
  EXPECT_EQ(judge(result_, experiment_.metrics[0], "heat-1d").kind, Verdict::Kind::holds);
}

TEST_F(Verdicts, StandOnTopOfThePage) {
  of({1, 1.1}, {4, 4.4});
  const std::string page = write_page(std::span(&result_, 1), "lather reproduce small").markdown("figures");
  for (const char* words : {"Claims of the paper that were looked at: 9. Hold: 2; ",
                            "**Does Adam lead?** Yes: holds on Heat", "there are no runs"})
    EXPECT_NE(page.find(words), std::string::npos) << words;
}

TEST_F(Verdicts, OnClaimsOfOurOwnAreCountedApart) {
  of({1, 1.1}, {4, 4.4});
  experiment_.checks[0].ours = true;
  const std::string page = write_page(std::span(&result_, 1), "lather reproduce small").markdown("figures");
  for (const char* words :
       {"Claims of the paper that were looked at: 8. Hold: 1; ",
        "1 more are claims of the paper under conditions of our own, marked \"ours\" below. Hold: 1; ",
        "| Adam leads (ours). "})
    EXPECT_NE(page.find(words), std::string::npos) << words;
}

// A conclusion was written by someone who had seen the numbers.
TEST_F(Verdicts, ComeWithAConclusionOnlyWhereAllRunsHaveEnded) {
  experiment_.conclusion = "Adam it is.";
  const auto page = [&] {
    return write_page(std::span(&result_, 1), "lather reproduce small").markdown("figures");
  };
  of({1, 1.1}, {4, 4.4});
  EXPECT_NE(page().find("Adam it is."), std::string::npos);
  result_.cells[0].seeds[0].status = RunStatus::missing;
  EXPECT_EQ(page().find("Adam it is."), std::string::npos);
}

TEST_F(Verdicts, OnClaimsAreInTheFileOfTheExperiment) {
  of({1, 1.1}, {4, 4.4});
  write_experiment(result_, folder_.path());
  EXPECT_NE(read_file(folder_.path() / "small.md").find("| SS-eSOAP diverges. "), std::string::npos);
}

class LongTable : public Verdicts {
 protected:
  static std::string in(const report::Table& table, std::size_t row, const std::string& column) {
    const auto found = std::find(table.header.begin(), table.header.end(), column);
    return table.rows.at(row).at(static_cast<std::size_t>(found - table.header.begin())).text;
  }
};

TEST_F(LongTable, HasTheLabelOfTheMetricAndBothKindsOfCentre) {
  of({1, 4, 100}, {4, 4.4});
  experiment_.metrics[0].label = "mean square";
  const auto table = long_table(result_);
  EXPECT_EQ(std::set(table.header.begin(), table.header.end()).size(), table.header.size());
  EXPECT_EQ(in(table, 0, "quantity"), "mean_square");
  EXPECT_EQ(in(table, 0, "metric"), "mean square");
  EXPECT_DOUBLE_EQ(std::stod(in(table, 0, "median")), 4);
  EXPECT_DOUBLE_EQ(std::stod(in(table, 0, "min")), 1);
  EXPECT_DOUBLE_EQ(std::stod(in(table, 0, "max")), 100);
  EXPECT_DOUBLE_EQ(std::stod(in(table, 0, "mean")), 35);
  EXPECT_EQ(in(table, 0, "ratio"), "4e+03");  // of the median: values are spread; the paper has 1e-3
  of({-1}, {4});
  EXPECT_EQ(in(long_table(result_), 0, "median") + in(long_table(result_), 0, "max"), "");
}

TEST_F(Verdicts, TableOfChangesOfBasesNamesEveryColumnOnce) {
  of({1}, {4});
  const auto header = events_table(result_).header;
  EXPECT_EQ(std::set(header.begin(), header.end()).size(), header.size());
}

// Maps of made-up runs cannot be drawn; the notes name the methods as captions would.
class BestOnMaps : public Verdicts {
 protected:
  // L2 errors of Adam and SS-eSOAP; negative: diverged.
  std::string captions(const std::vector<double>& adam, const std::vector<double>& esoap) {
    experiment_.maps = {{"heat-1d"}, "ss-esoap"};
    result_ = {&plan_, {}};
    for (const auto* errors : {&adam, &esoap}) {
      CellResult cell;
      cell.cell = &plan_.cells[result_.cells.size()];
      for (const double error : *errors) l2_ = error, cell.seeds.push_back(run(error));
      result_.cells.push_back(cell);
    }
    std::string text;
    for (const auto& note : make_field_maps(result_).notes) text += note.substr(0, note.find(':')) + "\n";
    return text;
  }
};

TEST_F(BestOnMaps, HasTheLowestValueInTheTable) {
  EXPECT_EQ(captions({0.4, 0.4}, {0.1, 0.8}),  // the mean, although the geometric mean is lower
            "No maps of Heat with Adam (the best here by l2 in the table)\nNo maps of Heat with ss-esoap\n");
  EXPECT_EQ(captions({0.4, 0.4}, {0.1, 0.6}),
            "No maps of Heat with ss-esoap (the best here by l2 in the table)\n");
  EXPECT_EQ(captions({0.4, 0.4, 0.4}, {0.01, 0.1, 0.9}),  // the median where values are spread
            "No maps of Heat with ss-esoap (the best here by l2 in the table)\n");
}

TEST_F(BestOnMaps, HasAResultInEverySeed) {
  EXPECT_EQ(captions({0.4, 0.4}, {0.1, -1}),
            "No maps of Heat with Adam (the best here by l2 in the table, of those with a result in every "
            "seed)\nNo maps of Heat with ss-esoap\n");
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
