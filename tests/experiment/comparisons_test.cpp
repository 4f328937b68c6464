// Variants side by side, from made-up runs, and heat maps of what tuning tried.
#include "lather/experiment/pages/comparisons.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/experiment/pages/figures.hpp"
#include "lather/experiment/pages/method_colours.hpp"
#include "lather/experiment/pages/tau_table.hpp"
#include "lather/experiment/pages/write_up.hpp"
#include "lather/report/draw/colours.hpp"
#include "lather/report/draw/glyphs.hpp"
#include "small_experiment.hpp"
#include "train/small_problem.hpp"

namespace lather::experiment {
namespace {

using small_experiment::kSmallExperiment;
using small_experiment::read_text;
using small_experiment::with;
using testing::TemporaryFolder;

const char* const kTable = R"([[table]]
title = "Methods"
about = "Which one?"
variants = ["adam", "ss-esoap"]

[[figure]])";

class Comparisons : public ::testing::Test {
 protected:
  // Runs of Adam and SS-eSOAP with these residuals; negative: not a number.
  const ExperimentResult& of(const std::vector<double>& adam, const std::vector<double>& esoap) {
    result_ = {&plan_, {}};
    for (const auto* residuals : {&adam, &esoap}) {
      CellResult cell;
      cell.cell = &plan_.cells[result_.cells.size()];
      for (const double value : *residuals) cell.seeds.push_back(run(value));
      result_.cells.push_back(cell);
    }
    return result_;
  }
  Ratio ratio(const std::vector<double>& adam, const std::vector<double>& esoap) {
    return ratio_between(of(adam, esoap), experiment_.metrics[0], "ss-esoap", "adam");
  }

  Experiment experiment_ = read_text(with(with(kSmallExperiment, "[[figure]]", kTable),
                                          "paper.heat-1d = {adam = 1e-3, ss-esoap = [2e-3, 1e-4]}\n", ""));
  Plan plan_ = make_plan(experiment_, "quick", Device::cpu);
  ExperimentResult result_;

 private:
  RunRecord run(double residual) {
    const auto folder = folder_.path() / std::to_string(count_++);
    std::filesystem::create_directory(folder);
    write_file_atomically(
        folder / "summary.json",
        residual < 0 ? R"({"reason": "non_finite", "final": {"residual": null}})"
                     : R"({"reason": "steps", "final": {"residual": )" + std::to_string(residual) + "}}");
    return {RunStatus::done, folder, ""};
  }
  TemporaryFolder folder_;
  int count_ = 0;
};

TEST_F(Comparisons, AreOfTheSameSeeds) {
  // Residuals 2 / 1 and 8 / 1: mean squares 4 and 64 times as large, 16 in the geometric mean. Logarithms
  // differ from their mean by log 4, which is then the standard error of two; 12.706 of them are 95 % (Student's t).
  const Ratio r = ratio({1, 1}, {2, 8});
  EXPECT_NEAR(r.factor, 16, 1e-9);
  EXPECT_NEAR(std::log(r.low), std::log(16) - 12.706 * std::log(4), 1e-9);
  EXPECT_NEAR(std::log(r.high), std::log(16) + 12.706 * std::log(4), 1e-9);
  EXPECT_EQ(r.pairs, 2);
  // A change common to all seeds has no error, however far apart the seeds are.
  const Ratio same = ratio({1, 100}, {0.5, 50});
  EXPECT_NEAR(same.factor, 0.25, 1e-9);
  EXPECT_EQ(same.kind(), Ratio::Kind::better);
}

TEST_F(Comparisons, CannotTellWhereOneIsWithinTheInterval) {
  EXPECT_EQ(ratio({1, 1}, {0.5, 1.5}).kind(), Ratio::Kind::level);
  EXPECT_EQ(ratio({1, 1}, {2, 2.1}).kind(), Ratio::Kind::worse);
  EXPECT_EQ(ratio({1}, {2}).kind(), Ratio::Kind::unknown);
}

TEST_F(Comparisons, CountRunsWithoutAValueAsLost) {
  const Ratio r = ratio({1, 1, 1}, {0.5, 0.5, -1});
  EXPECT_EQ(r.lost, 1);
  EXPECT_EQ(r.kind(), Ratio::Kind::worse);
  EXPECT_NE(r.text().find("1 of 3 have no value"), std::string::npos);
  EXPECT_EQ(ratio({1, -1}, {1, 1}).kind(), Ratio::Kind::better);
}

TEST_F(Comparisons, MakeATableAndSentences) {
  const auto& result = of({1, 1}, {0.45, 0.44});
  const auto table = comparison_table(result, experiment_.tables[0]);
  ASSERT_EQ(table.rows.size(), 2U);  // nothing is known about the errors
  EXPECT_EQ(table.header[2], "Heat");
  EXPECT_EQ(table.rows[0][3].text, "");
  EXPECT_EQ(table.rows[1][4].text, "better");
  const auto sentences = findings(result);
  ASSERT_EQ(sentences.size(), 3U);
  EXPECT_EQ(sentences[0], "Methods, mean_square: better: ss-esoap (0.20).");
  EXPECT_NE(sentences[1].find("not known: ss-esoap"), std::string::npos);
  EXPECT_NE(sentences[2].find("none."), std::string::npos);  // not in both metrics
  EXPECT_EQ(comparisons_in(experiment_), 2);                 // one pair of variants, two metrics
  EXPECT_TRUE(experiment_.is_study());                       // with a page of its own kind
  const std::string page = write_page({&result, 1}, "lather reproduce small").markdown("figures");
  EXPECT_EQ(page.substr(0, 8), "# Small\n");
  EXPECT_NE(page.find("### Methods\n\nWhich one?"), std::string::npos);
}

TEST_F(Comparisons, AreInAFileWithoutTablesThatAreEmpty) {
  const TemporaryFolder folder;
  write_experiment(of({1, 1}, {0.45, 0.44}), folder.path());
  const std::string text = read_file(folder.path() / "small.md");
  EXPECT_EQ(text.find("the paper"), std::string::npos) << text;  // has no values
  EXPECT_EQ(text.find("|\n|\n"), std::string::npos) << text;     // nothing was tuned
  EXPECT_NE(text.find("\n\nMethods\n\n| "), std::string::npos) << text;
}

TEST_F(Comparisons, InPairsAreWithTheRowAbove) {
  TableEntry pairs{"Pairs", "", {"ss-esoap", "adam"}, true};
  const auto table = comparison_table(of({1, 1}, {0.45, 0.44}), pairs);
  EXPECT_EQ(table.rows[1][4].text, "worse");
}

TEST(TableOfVariants, MustNameTwoThatExist) {
  const auto message = [](const std::string& part, const std::string& by) {
    try {
      read_text(with(with(kSmallExperiment, "[[figure]]", kTable), part, by));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string both = R"(variants = ["adam", "ss-esoap"])";
  EXPECT_NE(message(both, R"(variants = ["adam", "ss-esop"])").find("ss-esoap"), std::string::npos);
  EXPECT_NE(message(both, R"(variants = ["adam"])").find("two"), std::string::npos);
  EXPECT_NE(message(both, "pairs = true\nvariants = [\"adam\", \"ss-esoap\", \"adam\"]").find("even"),
            std::string::npos);
}

TEST_F(Comparisons, HeatMapHasARowForFurtherAxesAndFramesTheChoice) {
  of({1, 1}, {1, 1});
  EXPECT_TRUE(make_grid_map(result_).panels.empty());  // nothing was searched
  auto& adam = result_.cells[0];
  ASSERT_EQ(adam.cell->candidates.size(), 4U);  // two learning rates, two beta2
  adam.judged = {3, 2, std::numeric_limits<double>::infinity(), 1};
  adam.chosen = adam.cell->candidates[3];
  const GridMap map = make_grid_map(result_);
  EXPECT_EQ(map.column_name, "learning_rate");
  EXPECT_EQ(map.columns, (std::vector<std::string>{"0.001", "0.1"}));
  EXPECT_EQ(map.rows, (std::vector<std::string>{"Adam, beta2 0.9", "Adam, beta2 0.999"}));
  ASSERT_EQ(map.panels.size(), 1U);
  ASSERT_EQ(map.panels[0].fields.size(), 4U);
  const auto& last = map.panels[0].fields[3];
  EXPECT_EQ(last.row, 1U);
  EXPECT_EQ(last.column, 1U);
  EXPECT_TRUE(last.chosen);
  EXPECT_FALSE(map.panels[0].fields[0].chosen);
  EXPECT_NE(svg_grid_map(map).find("no value"), std::string::npos);
}

// Three steps: Adam's residual falls to zero, SS-eSOAP's is zero from the start.
TEST_F(Comparisons, FigureDrawsZerosAtItsLowerEdge) {
  of({0, 0}, {0, 0});
  const std::vector<std::vector<std::string>> residuals = {{"1", "0.1", "0"}, {"0", "0", "0"}};
  for (std::size_t method = 0; method < 2; ++method)
    for (const auto& seed : result_.cells[method].seeds) {
      std::string history, timing = "step,seconds\n";
      for (std::size_t i = 0; i < 3; ++i) {
        history += "{\"step\": " + std::to_string(i) + ", \"residual\": " + residuals[method][i] + "}\n";
        timing += std::to_string(i) + "," + std::to_string(i) + "\n";
      }
      write_file_atomically(seed.folder / "history.jsonl", history);
      write_file_atomically(seed.folder / "timing.csv", timing);
    }
  PanelFigure drawing = make_figure(result_, experiment_.figures[0]);
  const auto& curves = drawing.panels.at(0).curves;
  ASSERT_EQ(curves.size(), 2U);
  ASSERT_EQ(curves[0].value.size(), 3U);
  EXPECT_NEAR(curves[0].value[1], 0.01, 1e-12);  // mean squares
  EXPECT_EQ(curves[0].value[2], 0);
  EXPECT_EQ(curves[1].value, (std::vector<double>{0, 0, 0}));
  const std::string svg = svg_panels(drawing);
  const auto has = [&](const std::string& part) { return svg.find(part) != svg.npos; };
  // The panel is 190 wide; its lower edge, at 220, is the axis.
  EXPECT_TRUE(has("text-anchor=\"end\" fill=\"#6a6f78\" font-size=\"11\">0</text>")) << svg;
  EXPECT_TRUE(has("M52 220L147 220L242 220\" fill=\"none\"")) << svg;
  EXPECT_TRUE(has("L242 220\" fill=\"none\" stroke=\"" + report::categorical_colour(0))) << svg;
  EXPECT_FALSE(has("nan") || has("inf"));
  for (const char* label : {">Adam<", ">ss-esoap<"}) EXPECT_TRUE(has(label)) << label;
  drawing.panels[0].curves.erase(drawing.panels[0].curves.begin());  // nothing but zeros
  const std::string zeros = svg_panels(drawing);
  EXPECT_NE(zeros.find("M52 220L147 220L242 220\" fill=\"none\""), zeros.npos) << zeros;
  EXPECT_EQ(zeros.find("nan"), zeros.npos);
}

// SS-eSOAP has a seed that ends near 1e300, one that has no number at all, and one as good as Adam's.
TEST_F(Comparisons, FigureKeepsItsScaleWhereSeedsDivergeAndCountsThem) {
  of({0.1, 0.1}, {-1, -1, 0.1});
  const auto write = [](const RunRecord& seed, const std::vector<std::string>& residuals) {
    std::string history, timing = "step,seconds\n";
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      history += "{\"step\": " + std::to_string(i) + ", \"residual\": " + residuals[i] + "}\n";
      timing += std::to_string(i) + "," + std::to_string(i) + "\n";
    }
    write_file_atomically(seed.folder / "history.jsonl", history);
    write_file_atomically(seed.folder / "timing.csv", timing);
  };
  const std::vector<std::string> good = {"1", "0.5", "0.1"};
  for (const auto& seed : result_.cells[0].seeds) write(seed, good);
  const auto& seeds = result_.cells[1].seeds;
  write(seeds[0], {"1", "1e100", "1e150"});
  write(seeds[1], {"\"inf\""});
  write(seeds[2], good);
  const PanelFigure drawing = make_figure(result_, experiment_.figures[0]);
  const auto& curves = drawing.panels.at(0).curves;
  ASSERT_EQ(curves.size(), 4U);
  EXPECT_EQ(curves[1].value, curves[0].value);  // the mean is that of the seeds that did not diverge
  EXPECT_TRUE(curves[2].diverged && curves[3].diverged && !curves[1].diverged);
  EXPECT_EQ(curves[2].value.size(), 3U);
  EXPECT_TRUE(curves[3].value.empty());
  const std::string svg = svg_panels(drawing);
  const auto count = [&](const std::string& part) {
    int n = 0;
    for (auto at = svg.find(part); at != svg.npos; at = svg.find(part, at + 1)) ++n;
    return n;
  };
  PanelFigure without = drawing;
  without.panels[0].curves.resize(2);
  const std::string plain = svg_panels(without);
  const auto path_of = [](const std::string& text) {  // the last one in Adam's colour
    const auto stroke = text.rfind("\" fill=\"none\" stroke=\"" + report::categorical_colour(0));
    return text.substr(text.rfind("M", stroke), stroke - text.rfind("M", stroke));
  };
  EXPECT_EQ(path_of(svg), path_of(plain)) << "seeds that diverged changed the scale";
  EXPECT_NE(svg.find(">ss-esoap (2 seeds diverged)<"), svg.npos) << svg;
  EXPECT_EQ(plain.find("diverged"), plain.npos);
  EXPECT_EQ(count("stroke-dasharray"), 2);
  EXPECT_EQ(count("stroke-width=\"1.6\"/>"), 4);  // two crosses
  // The panel is 190 wide, its upper edge at 70: the first leaves it at its second step.
  EXPECT_EQ(count("L147 70\" fill=\"none\""), 1) << svg;
  EXPECT_EQ(count("M52 70\" fill=\"none\""), 1) << svg;
  EXPECT_EQ(count("nan") + count("inf"), 0);
}

TEST_F(Comparisons, FigureOfNothingButSeedsThatDivergedShowsWhereTheyStart) {
  PanelFigure drawing;
  drawing.methods = {{"Adam", 0}};
  PanelCurve curve{0, {0, 1, 2}, {1, 10, 1e300}, {}, {}};
  curve.cut = curve.diverged = true;
  drawing.panels = {{"", {curve}}};
  const std::string svg = svg_panels(drawing);
  for (const char* number : {">10²<", ">10³<"}) EXPECT_NE(svg.find(number), svg.npos) << svg;
  EXPECT_NE(svg.find("Adam (1 seed diverged)"), svg.npos);
}

TEST_F(Comparisons, FigureWithoutZerosIsNotNumberedFromZero) {
  PanelFigure drawing;
  drawing.methods = {{"Adam", 0}};
  drawing.panels = {{"", {{0, {1, 2}, {1, 0.1}, {}, {}}}}};
  EXPECT_EQ(svg_panels(drawing).find("text-anchor=\"end\" fill=\"#6a6f78\" font-size=\"11\">0<"),
            std::string::npos);
}

TEST_F(Comparisons, FigureAndHeatMapHaveRoomForTheirWords) {
  const auto number_at = [](const std::string& svg, std::size_t from, const std::string& key) {
    return std::strtod(svg.substr(svg.find(key, from) + key.size()).c_str(), nullptr);
  };
  const std::string title = "a tenth of each dimension, start uniform on (-1, 1)";
  PanelFigure drawing;
  drawing.methods = {{"Adam", 0}, {std::string(60, 'm'), 1}};
  drawing.panels = {{title, {{0, {1, 2}, {1, 0.1}, {}, {}}}}, {title, {}}};
  GridMap map;
  map.rows = {std::string(20, 'm')}, map.columns = {"1", "2"};
  map.panels = {{title, {{0, 0, 1, false}}}, {title, {}}};
  for (const auto& svg : {svg_panels(drawing), svg_grid_map(map)}) {
    EXPECT_EQ(svg.find(title), svg.npos);  // it has several lines, which end before the next panel begins
    const auto first = svg.find(">a tenth"), second = svg.find(">a tenth", first + 1);
    ASSERT_NE(second, svg.npos) << svg;
    const auto words = svg.substr(first + 1, svg.find('<', first) - first - 1);
    const double from = number_at(svg, svg.rfind("<text", first), " x=\""),
                 to = number_at(svg, svg.rfind("<text", second), " x=\"");
    EXPECT_GT(to - from, report::room_for(words, 12, true)) << words;
  }
  EXPECT_GT(number_at(svg_panels(drawing), 0, " width=\""), 60 * 12 * 0.833);  // m in Helvetica
  const std::string svg = svg_grid_map(map);
  EXPECT_GT(number_at(svg, svg.rfind("<text", svg.find(">mmm")), " x=\""), 20 * 12 * 0.833);
}

// Six panels of nine columns are 3,000 wide: a page has room for two beside each other.
TEST_F(Comparisons, HeatMapsThatAreTooManyForARowStandInSeveral) {
  GridMap map;
  map.rows = {"Adam", "Muon"};
  for (int i = 0; i < 9; ++i) map.columns.push_back(std::to_string(i));
  const auto number_at = [](const std::string& svg, std::size_t from, const std::string& key) {
    return std::strtod(svg.substr(svg.find(key, from) + key.size()).c_str(), nullptr);
  };
  const auto drawn = [&](std::size_t panels) {
    map.panels.assign(panels, {});
    for (std::size_t p = 0; p < panels; ++p)
      map.panels[p] = {"panel " + std::to_string(p), {{1, 8, 1e-3, true}}};
    return svg_grid_map(map);
  };
  const std::string svg = drawn(6), two = drawn(2);
  const auto place = [&](int panel, const std::string& key) {
    return number_at(svg, svg.rfind("<text", svg.find(">panel " + std::to_string(panel) + "<")), key);
  };
  EXPECT_LT(number_at(svg, 0, " width=\""), 1320);
  EXPECT_EQ(number_at(svg, 0, " width=\""), number_at(two, 0, " width=\""));
  EXPECT_EQ(place(0, " y=\""), place(1, " y=\""));
  EXPECT_GT(place(1, " x=\""), place(0, " x=\"") + 9 * 54);
  EXPECT_GT(place(2, " y=\""), place(0, " y=\"") + 2 * 17);
  EXPECT_EQ(place(2, " x=\""), place(0, " x=\""));
  EXPECT_LT(place(5, " y=\""), number_at(svg, 0, " height=\""));
  int names = 0;  // of a method: before each row of panels
  for (auto at = svg.find(">Muon<"); at != svg.npos; at = svg.find(">Muon<", at + 1)) ++names;
  EXPECT_EQ(names, 3);
  map.columns.assign(40, "1");  // wider than a page, alone
  EXPECT_EQ(number_at(drawn(3), 0, " width=\""), number_at(drawn(1), 0, " width=\""));
}

TEST_F(Comparisons, HeatMapOfAZeroTellsTheOtherValuesApart) {
  GridMap map;
  map.rows = {"Adam"}, map.columns = {"1", "2", "3"};
  map.panels = {{"", {{0, 0, 0, false}, {0, 1, 1e-3, false}, {0, 2, 1e-2, false}}}};
  const std::string svg = svg_grid_map(map);
  const auto fill = [&](double share) { return svg.find(report::sequential_colour(share)) != svg.npos; };
  EXPECT_TRUE(fill(0));
  EXPECT_TRUE(fill(1.0 / 3));
  EXPECT_FALSE(fill(1));
}

TEST(TauTable, WeighsLayersByTheirStepsAndJoinsSeeds) {
  const Experiment e = read_text("tau = true\n" + std::string(kSmallExperiment));
  const Plan plan = make_plan(e, "quick", Device::cpu);
  const TemporaryFolder folder;
  write_file_atomically(
      folder.path() / "summary.json",
      R"({"reason": "steps", "optimizer_bytes": 1600, "parameters": 20, "final": {}, "tau": {
          "a": {"steps": 30, "at_one": 0.2, "at_least": 0.5, "no_curvature": 0.1,
                "parts": [0, 0, 0.5, 0, 0, 0.1, 0.1, 0, 0, 0.3, 0]},
          "b": {"steps": 10, "at_one": 1.0, "at_least": 0.0, "no_curvature": 0.0,
                "parts": [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]}}})");
  const RunRecord run{RunStatus::done, folder.path(), ""};
  ExperimentResult result{&plan, {}};
  for (const auto& cell : plan.cells) result.cells.push_back({&cell, {}, {}, {}, {}, {}});
  result.cells[1].seeds = {run, run};
  const auto table = tau_table(result);
  ASSERT_EQ(table.rows.size(), 1U);            // Adam has no tau
  EXPECT_EQ(table.rows[0][2].text, "40.0 %");  // (30 · 0.2 + 10 · 1) / 40
  EXPECT_EQ(table.rows[0][3].text, "37.5 %");
  EXPECT_EQ(table.rows[0][4].text, "7.5 %");
  EXPECT_EQ(table.rows[0][5].text, "37.5 %");              // below 0.3
  EXPECT_EQ(table.rows[0][8].text, "47.5 %");              // 0.9 to 1
  EXPECT_EQ(value_of(run, Quantity::storage, false), 10);  // 200 numbers, 20 parameters
}

TEST(Figure, ShowsTheVariantsItNames) {
  const Experiment e = read_text(with(kSmallExperiment, "[[figure]]\nname = \"steps\"",
                                      "[[figure]]\nname = \"steps\"\nvariants = [\"ss-esoap\"]"));
  const Plan plan = make_plan(e, "quick", Device::cpu);
  ExperimentResult result{&plan, {}};
  for (const auto& cell : plan.cells) result.cells.push_back({&cell, {}, {}, {}, {}, {}});
  const auto methods = make_figure(result, e.figures[0]).methods;
  ASSERT_EQ(methods.size(), 1U);
  EXPECT_EQ(methods[0].label, "ss-esoap");
}

// Two layers change their bases in step 7, which counts once, and one in step 9; those of the first step are none.
TEST(Figure, OverChangesLaysThemOverOneAnother) {
  const TemporaryFolder folder;
  std::string history;
  for (int step = 1; step <= 30; ++step)
    history += fmt::format("{{\"step\": {}, \"loss\": {}}}\n", step, step == 8 ? 100 : 10);
  write_file_atomically(folder / "history.jsonl", history);
  write_file_atomically(folder / "events.jsonl",
                        "{\"step\": 1, \"layer\": \"a\"}\n"
                        "{\"step\": 7, \"layer\": \"a\", \"gradient_cosine\": 0.5}\n"
                        "{\"step\": 7, \"layer\": \"b\", \"gradient_cosine\": 0.5}\n"
                        "{\"step\": 9, \"layer\": \"a\", \"gradient_cosine\": 0.5}\n");
  const Experiment e =
      read_text(with(with(kSmallExperiment, "[settings]", "[settings]\ntraining.record_every = 1"),
                     "[[figure]]", "[[figure]]\nover = \"changes\"\nvariants = [\"ss-esoap\"]"));
  const Plan plan = make_plan(e, "quick", Device::cpu);
  ExperimentResult result{&plan, {}};
  for (const auto& cell : plan.cells)
    result.cells.push_back({&cell, {}, {}, {}, {{RunStatus::done, folder.path(), ""}}, {}});
  const auto figure = make_figure(result, e.figures[0]);
  EXPECT_EQ(figure.methods[0].label, "ss-esoap (2 changes)");
  const PanelCurve& curve = figure.panels.at(0).curves.at(0);
  const auto at = [&](double k) {
    return static_cast<std::size_t>(std::find(curve.x.begin(), curve.x.end(), k) - curve.x.begin());
  };
  EXPECT_EQ(curve.value[at(0)], 1);
  EXPECT_EQ(curve.value[at(1)], 10);   // the loss of step 8 follows the change of step 7 …
  EXPECT_EQ(curve.value[at(-1)], 10);  // … and precedes that of step 9
  EXPECT_EQ(curve.value[at(2)], 1);
  EXPECT_EQ(curve.x.front(), -5);
  EXPECT_EQ(curve.x.back(), 20);
}

// Three widths, the second one changed by the budget; Adam runs out of memory there.
TEST(Figure, OverASettingHasAPointPerProblemAndMarksWhereAValueIsMissing) {
  const std::string heat = "label = \"Heat\"", figure = "name = \"steps\"",
                    quick = "[budget.quick]\nsteps = 40";
  std::string problems = heat + "\nsettings.network.width = 16\n";
  for (const char* width : {"8", "4"})
    problems += std::string("[[problem]]\nname = \"width-") + width +
                "\"\nproblem = \"heat-1d\"\nsettings.network.width = " + width + "\n";
  const Experiment e = read_text(with(with(with(kSmallExperiment, heat, problems), figure,
                                           figure + "\nover = \"network.width\"\nmetric = \"mean_square\""),
                                      quick, quick + "\nproblem.width-8.network.width = 10"));
  const Plan plan = make_plan(e, "quick", Device::cpu);
  const TemporaryFolder folder;
  const auto run = [&](const std::string& residual) {
    const auto path = folder.path() / residual;
    std::filesystem::create_directories(path);
    write_file_atomically(path / "summary.json",
                          R"({"reason": "steps", "final": {"residual": )" + residual + "}}");
    return RunRecord{RunStatus::done, path, ""};
  };
  ExperimentResult result{&plan, {}};
  for (const auto& cell : plan.cells) {
    const bool fails = cell.problem->name == "width-8" && cell.variant->name == "adam";
    const RunRecord lost{RunStatus::out_of_memory, folder.path(), "too large"};
    result.cells.push_back(
        {&cell, {}, {}, {}, fails ? std::vector{lost, lost} : std::vector{run("1"), run("2")}, {}});
  }
  const PanelFigure drawing = make_figure(result, e.figures[0]);
  ASSERT_EQ(drawing.panels.size(), 1U);
  EXPECT_EQ(drawing.methods[0].label, "Adam (out of memory at 10)");
  EXPECT_EQ(drawing.methods[1].label, "ss-esoap");
  EXPECT_EQ(drawing.x_name, "network width");
  EXPECT_EQ(drawing.y_name, "mean_square");
  const auto& curves = drawing.panels[0].curves;
  ASSERT_EQ(curves.size(), 3U);  // Adam's is in two pieces
  EXPECT_EQ(curves[0].x, std::vector<double>{4});
  EXPECT_EQ(curves[0].value, std::vector<double>{2.5});  // mean squares 1 and 4
  EXPECT_EQ(curves[0].low, std::vector<double>{1});
  EXPECT_EQ(curves[0].high, std::vector<double>{4});
  EXPECT_TRUE(curves[0].cut);
  EXPECT_EQ(curves[1].x, std::vector<double>{16});
  EXPECT_FALSE(curves[1].cut);
  EXPECT_EQ(curves[2].x, (std::vector<double>{4, 10, 16}));
  EXPECT_EQ(curves[2].method, 1U);
  const auto count = [svg = svg_panels(drawing)](const std::string& part) {
    int n = 0;
    for (auto at = svg.find(part); at != svg.npos; at = svg.find(part, at + 1)) ++n;
    return n;
  };
  for (const char* words : {">4<", ">10<", ">16<", ">network width<"}) EXPECT_EQ(count(words), 1) << words;
  EXPECT_EQ(count("<circle"), 5);                 // a dot for every value
  EXPECT_EQ(count("stroke-width=\"1.6\"/>"), 2);  // one cross
  write_experiment(result, folder.path());
  EXPECT_EQ(read_file(folder.path() / "small-steps.pdf").substr(0, 8), "%PDF-1.4");
  for (auto& seed : result.cells[1].seeds) seed = run("0");  // SS-eSOAP at width 16
  const PanelFigure with_zero = make_figure(result, e.figures[0]);
  EXPECT_EQ(with_zero.methods[1].label, "ss-esoap");
  EXPECT_EQ(with_zero.panels[0].curves[2].x, (std::vector<double>{4, 10, 16}));
  EXPECT_EQ(with_zero.panels[0].curves[2].value.back(), 0);
}

TEST(Figure, GivesAMethodOneColourAndNoOtherMethodBesideItTheSame) {
  std::map<std::string, std::set<int>> by_name;
  for (const auto& e : read_experiments({"all", "ss-esoap-study"})) {
    const auto colours = method_colours(e);
    for (const auto& [name, colour] : colours) by_name[name].insert(colour);
    for (const auto& figure : e.figures) {
      std::set<int> drawn;
      std::size_t methods = 0;
      for (const auto& variant : e.variants)
        if (figure.variants.empty() ||
            std::find(figure.variants.begin(), figure.variants.end(), variant.name) != figure.variants.end())
          drawn.insert(colours.at(variant.name)), ++methods;
      EXPECT_EQ(drawn.size(), methods) << e.name << ", " << figure.name;
    }
  }
  for (const char* name :
       {"adam", "muon", "soap", "purifying-shampoo", "ss-esoap", "lbfgs", "ntk", "multiadam"})
    EXPECT_EQ(by_name.at(name).size(), 1U) << name;
}

TEST(Figure, GivesADecayedArmTheColourOfItsMethod) {
  for (const auto& e : read_experiments({"matrix-logistic", "matrix-completion", "matrix-quadratic"})) {
    const auto colours = method_colours(e);
    for (const std::string arm : {"-decayed", "-decayed-faster"})
      for (const std::string method :
           {"adam", "muon", "soap", "purifying-shampoo", "ss-esoap", "ss-esoap-paper", "ss-esoap-no-tau"})
        if (const auto decayed = colours.find(method + arm); decayed != colours.end()) {
          EXPECT_EQ(decayed->second, colours.at(method)) << e.name << ", " << method << arm;
        }
    EXPECT_TRUE(colours.contains("ss-esoap-decayed")) << e.name;
  }
}

// Beside six methods in the clear colours; where its curve is that of SS-eSOAP, both can be seen.
TEST(Figure, DashesAVariantWhoseColourResemblesOthers) {
  const Experiment e = read_experiments({"matrix-logistic"})[0];
  const auto colours = method_colours(e);
  for (const auto& variant : e.variants)
    EXPECT_EQ(is_dashed(variant, colours.at(variant.name)), variant.name.starts_with("ss-esoap-no-tau"))
        << variant.name;
  const Experiment other = read_experiments({"pinn-methods"})[0];  // usual colours, NTK's for one
  for (const auto& variant : other.variants)
    EXPECT_FALSE(is_dashed(variant, method_colours(other).at(variant.name))) << variant.name;
  PanelFigure drawing;
  drawing.methods = {{"SS-eSOAP", 3}, {"without tau", 7, true}};
  drawing.panels = {{"", {{0, {1, 2}, {1, 0.1}, {}, {}}, {1, {1, 2}, {1, 0.1}, {}, {}}}}};
  const std::string svg = svg_panels(drawing);
  int dashes = 0;
  for (auto at = svg.find("stroke-dasharray"); at != svg.npos; at = svg.find("stroke-dasharray", at + 1))
    ++dashes;
  EXPECT_EQ(dashes, 2) << "a curve and its line in the legend";
}

// L-BFGS and K-FAC have the same usual colour, and two variants are Adam: whoever gives way takes none that another
// method of the figure needs.
TEST(Figure, TakesNoColourThatAMethodBesideItNeeds) {
  const std::string adam = "[[variant]]\nname = \"adam\"";
  std::string first;
  for (const char* name : {"lbfgs", "kfac"}) first += "[[variant]]\nname = \"" + std::string(name) + "\"\n";
  first += "[[variant]]\nname = \"warm\"\noptimizer = \"adam\"\n";
  const auto colours = method_colours(read_text(with(kSmallExperiment, adam, first + adam)));
  const auto usual = method_colours(read_text(kSmallExperiment));
  for (const char* name : {"adam", "ss-esoap"}) EXPECT_EQ(colours.at(name), usual.at(name)) << name;
  std::set<int> different;
  for (const auto& [name, colour] : colours) different.insert(colour);
  EXPECT_EQ(different.size(), 5U);
}

TEST(Figure, DrawsAMethodInItsColourWhicheverOthersAreShown) {
  const std::string figure = "[[figure]]\nname = \"steps\"\n";
  const Experiment e = read_text(
      with(kSmallExperiment, figure, figure + "[[figure]]\nname = \"one\"\nvariants = [\"ss-esoap\"]\n"));
  const Plan plan = make_plan(e, "quick", Device::cpu);
  ExperimentResult result{&plan, {}};
  for (const auto& cell : plan.cells) result.cells.push_back({&cell, {}, {}, {}, {}, {}});
  const PanelFigure all = make_figure(result, e.figures[0]), one = make_figure(result, e.figures[1]);
  EXPECT_EQ(all.methods[1].colour, one.methods[0].colour);
  EXPECT_NE(all.methods[0].colour, one.methods[0].colour);
  const std::string stroke = "\"" + report::categorical_colour(one.methods[0].colour) + "\"";
  EXPECT_NE(svg_panels(one).find(stroke), std::string::npos);
}

}  // namespace
}  // namespace lather::experiment
