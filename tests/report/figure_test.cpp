// The standalone picture: contours by hand, colours as on the page, and a picture that parses and contains
// what it shows.
#include "lather/report/draw/figure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tuple>

#include "lather/core/error.hpp"
#include "lather/report/draw/colours.hpp"
#include "lather/report/draw/contour.hpp"
#include "lather/report/draw/panels.hpp"
#include "lather/report/draw/pdf.hpp"
#include "lather/report/draw/svg.hpp"
#include "small_run.hpp"

namespace lather::report {
namespace {

// For closed polygons under the even-odd rule, if none crosses another and holes run the other way round.
double area(const std::vector<std::vector<PlanePoint>>& loops) {
  double twice = 0;
  for (const auto& loop : loops)
    for (std::size_t i = 0; i < loop.size(); ++i) {
      const auto& a = loop[i];
      const auto& b = loop[(i + 1) % loop.size()];
      twice += a.column * b.row - b.column * a.row;
    }
  return std::abs(twice) / 2;
}

TEST(Contour, OfOneHighPointIsADiamond) {
  const std::vector<double> values = {0, 0, 0, 0, 1, 0, 0, 0, 0};
  const auto loops = region_above(0.5, 3, values);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].size(), 4u);
  EXPECT_DOUBLE_EQ(area(loops), 0.5);
}

TEST(Contour, OfALowPointInAHighPlaneIsTheRimAndAHole) {
  const std::vector<double> values = {1, 1, 1, 1, 0, 1, 1, 1, 1};
  const auto loops = region_above(0.5, 3, values);
  EXPECT_EQ(loops.size(), 2u);
  EXPECT_DOUBLE_EQ(area(loops), 4 - 0.5);
}

TEST(Contour, FollowsASlope) {
  const std::vector<double> values = {0, 1, 2, 0, 1, 2};  // two rows
  EXPECT_DOUBLE_EQ(area(region_above(0.5, 3, values)), 1.5);
  EXPECT_DOUBLE_EQ(area(region_above(-1, 3, values)), 2);
  EXPECT_TRUE(region_above(3, 3, values).empty());
}

TEST(Contour, TakesWhatIsNoNumberForLow) {
  const double nan = std::nan("");
  EXPECT_TRUE(region_above(0, 2, std::vector<double>{nan, nan, nan, nan}).empty());
  EXPECT_EQ(region_above(0, 2, std::vector<double>{1, 1, 1, nan}).size(), 1u);
}

TEST(Colours, AreThoseOfThePage) {
  EXPECT_EQ(diverging_colour(0.5), "#f5f5f5");
  EXPECT_EQ(colour(1, 0, 0), "#ffffff");
  EXPECT_EQ(colour(0, 0, 0), "#000000");
  EXPECT_EQ(colour(0.627955, 0.257683, 29.2339), "#ff0000");  // red of sRGB in Oklch
}

TEST(Ticks, AreWhereTheAxisWantsThem) {
  const auto list = ticks({2, 3.1, true, "", 0, {std::log10(128), std::log10(1024)}}, 4);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].second, "128");
  EXPECT_EQ(list[1], std::pair(std::log10(1024), std::string("1024")));
}

TEST(Ticks, BeginWithZeroWhereTheLowerEndStandsForIt) {
  Axis axis{-5.2, 0.1, true};
  axis.zero_at_low = true;
  const auto list = ticks(axis, 4);
  ASSERT_EQ(list.size(), 3U);  // 10⁻⁵ would touch the zero
  EXPECT_EQ(list[0], std::pair(-5.2, std::string("0")));
  EXPECT_EQ(list[1].second, "10⁻³");
}

TEST(Ticks, AreRoundNumbersAndPowersOfTen) {
  const auto texts = [](const Axis& axis) {
    std::string all;
    for (const auto& [at, words] : ticks(axis, 4)) all += words + " ";
    return all;
  };
  EXPECT_EQ(texts({-1, 1}), "−1 −0.5 0 0.5 1 ");
  EXPECT_EQ(texts({0, 50}), "0 20 40 ");
  EXPECT_EQ(texts({-5.2, 0.1, true}), "10⁻⁵ 10⁻³ 10⁻¹ ");
  EXPECT_EQ(texts({-0.8, -0.1, true}), "0.2 0.5 ");
  EXPECT_EQ(texts({-0.65, -0.1, true}), "0.3 0.4 0.5 0.7 ");
  EXPECT_EQ(short_figure(3.24e-5), "3.2·10⁻⁵");
  EXPECT_EQ(short_figure(9.99e-5), "1·10⁻⁴");
  EXPECT_EQ(short_figure(0.436), "0.44");
}

// Text of a picture as PDF: what its operators show, one by one.
std::string shown_in_pdf(const std::string& words, const std::string& style = "",
                         const char* anchor = "start") {
  Svg svg(200, 100, "");
  svg.text(100, 50, words, style, anchor);
  const std::string pdf = pdf_of(std::move(svg).finish());
  const auto begin = pdf.find("BT "), end = pdf.find(" ET", begin);
  return pdf.substr(begin, end - begin);
}

TEST(Pdf, HasGreekLettersAndSignsOfTheSymbolFont) {
  const std::string shown = shown_in_pdf("a γ≤τ");
  EXPECT_NE(shown.find("/F1 12.00 Tf 0.00 Ts (a ) Tj"), shown.npos) << shown;
  EXPECT_NE(shown.find("/F3 12.00 Tf 0.00 Ts (g\xa3t) Tj"), shown.npos) << shown;
  const std::string bold = shown_in_pdf("λνρσμπΑΣΩω∂", "font-weight=\"600\"");
  EXPECT_NE(bold.find("/F3 12.00 Tf 0.00 Ts (lnrsmpASWw\xb6) Tj"), bold.npos) << bold;
  EXPECT_NE(pdf_of(Svg(1, 1, "").finish()).find("/BaseFont /Symbol"), std::string::npos);
}

TEST(Pdf, HasTheLettersAndTheUsualPunctuationOfWesternLanguages) {
  EXPECT_NE(shown_in_pdf("éüßøÑ").find("(\xe9\xfc\xdf\xf8\xd1) Tj"), std::string::npos);
  EXPECT_NE(shown_in_pdf("’“”–—…•€").find("(\x92\x93\x94\x96\x97\x85\x95\x80) Tj"), std::string::npos);
  EXPECT_NE(shown_in_pdf("a < b & \"c\" (\\)").find("(a < b & \"c\" \\(\\\\\\)) Tj"), std::string::npos);
}

TEST(Pdf, LeavesOutAccentsItsFontsLackAndRaisesExponents) {
  EXPECT_NE(shown_in_pdf("Łojasiewicz, Erdős, e\u0301").find("(Lojasiewicz, Erdos, e) Tj"),
            std::string::npos);
  EXPECT_NE(shown_in_pdf("L²").find("(L) Tj /F1 7.80 Tf 4.80 Ts (2) Tj"), std::string::npos);
  EXPECT_NE(shown_in_pdf("x₁").find("(x) Tj /F1 7.80 Tf -1.80 Ts (1) Tj"), std::string::npos);
  EXPECT_NE(shown_in_pdf("日\xff").find("(\?\?) Tj"), std::string::npos);
}

// Widths by Adobe's metrics: SS-eSOAP 667 667 333 556 667 778 667 667, bold with e 556, A 722; γ 411.
TEST(Pdf, EndsTextWhereItShould) {
  const auto left = [](const std::string& words, const std::string& style, const char* anchor) {
    const std::string shown = shown_in_pdf(words, style, anchor);
    return std::strtod(shown.substr(shown.find("rg ") + 3).c_str(), nullptr);
  };
  EXPECT_NEAR(left("SS-eSOAP", "", "end"), 100 - 12 * 5.002, 0.01);
  EXPECT_NEAR(left("SS-eSOAP", "font-weight=\"600\"", "end"), 100 - 12 * 5.057, 0.01);
  EXPECT_NEAR(left("γ", "", "middle"), 100 - 12 * 0.411 / 2, 0.01);
  EXPECT_NEAR(left("10⁻⁵", "font-size=\"10\"", "end"), 100 - 10 * (2 + 0.65 * 2) * 0.556, 0.01);
}

class Figure : public ::testing::Test {
 protected:
  std::vector<RunData> runs(const std::vector<std::string>& optimizers) {
    std::vector<RunData> list;
    for (const auto& name : optimizers) {
      testing::train_small_run(folder_ / name, name, 0);
      list.push_back(read_run_data(folder_ / name));
    }
    return list;
  }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(Figure, OfAComparisonHasACurvePerRunAndTwoMaps) {
  const std::string svg = svg_figure(runs({"adam", "ss-esoap"}));
  EXPECT_TRUE(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "fill=\"none\" stroke=\"" + categorical_colour(0)), 1u);
  EXPECT_EQ(count(svg, "fill=\"none\" stroke=\"" + categorical_colour(1)), 1u);
  for (const char* words : {">adam<", ">ss-esoap<", ">Relative L² error<", ">u(x, t)<", ">Its error<"})
    EXPECT_EQ(count(svg, words), 1u) << words;
  EXPECT_GT(count(svg, "fill-rule=\"evenodd\""), 20u);
  for (const char* foreign : {"<script", "<image", "href", "nan", "inf,", "<style"})
    EXPECT_EQ(count(svg, foreign), 0u) << foreign;
  EXPECT_LT(svg.size(), 150'000u);
}

TEST_F(Figure, EscapesNamesAndDoesWithoutFieldsAndErrors) {
  auto list = runs({"adam"});
  list[0].optimizer = "<b>&";
  list[0].fields = nullptr;
  auto history = list[0].history;
  history.erase("l2.u");
  list[0].history = history;
  const std::string svg = svg_figure(list);
  EXPECT_EQ(count(svg, "&lt;b&gt;&amp;"), 1u);
  EXPECT_EQ(count(svg, ">Root mean square residual at held-out points<"), 1u);
  EXPECT_EQ(count(svg, "evenodd"), 0u);
}

// The time allowed says nothing: a run may end earlier.
TEST_F(Figure, StatesTheTimeTheRunsTook) {
  auto list = runs({"adam", "ss-esoap"});
  for (auto& run : list) run.config["stop"]["seconds"] = 600;
  list[0].summary["seconds"] = 12.2;
  list[1].summary["seconds"] = 12.4;
  EXPECT_EQ(count(svg_figure(list), "2 runs, 12 s each"), 1u);
  list[1].summary["seconds"] = 3.14;
  EXPECT_EQ(count(svg_figure(list), "2 runs, 3.1 to 12 s each"), 1u);
  list[1].summary = nullptr;
  EXPECT_EQ(count(svg_figure(list), " s each"), 0u);
}

TEST_F(Figure, HasItsPanelsOneByOne) {
  auto list = runs({"adam", "ss-esoap"});
  const auto panel = [&](FigurePanel which, FigureClock clock = FigureClock::automatic) {
    return svg_figure(list, {which, clock});
  };
  const std::string curves = panel(FigurePanel::curves, FigureClock::steps);
  EXPECT_EQ(count(curves, ">Relative L² error<"), 1u);
  EXPECT_EQ(count(curves, ">steps<"), 1u);
  EXPECT_EQ(count(curves, "evenodd"), 0u);
  EXPECT_EQ(count(panel(FigurePanel::curves), ">seconds of training<"), 1u);
  const std::string prediction = panel(FigurePanel::prediction), error = panel(FigurePanel::error);
  EXPECT_EQ(count(prediction, ">u(x, t)<"), 1u);
  EXPECT_EQ(count(prediction, "Error of u"), 0u);
  EXPECT_EQ(count(error, ">Error of u<"), 1u);
  EXPECT_GT(count(error, "evenodd"), 10u);
  EXPECT_TRUE(pdf_of(error).starts_with("%PDF-1.4"));
  const std::string reference = panel(FigurePanel::reference), maps = panel(FigurePanel::maps);
  EXPECT_EQ(count(reference, ">reference<"), 1u);
  EXPECT_EQ(count(reference, "predicted"), 0u);
  EXPECT_EQ(count(maps, ">u(x, t)<"), 2u);
  for (const char* words : {">reference<", "predicted by", ">Its error<"})
    EXPECT_EQ(count(maps, words), 1u) << words;
  EXPECT_TRUE(pdf_of(maps).starts_with("%PDF-1.4"));
  for (auto& run : list) run.fields["arrays"].erase("u.reference");
  EXPECT_THROW(panel(FigurePanel::maps), Error);
  EXPECT_THROW(panel(FigurePanel::reference), Error);
  EXPECT_NO_THROW(panel(FigurePanel::prediction));
  for (auto& run : list) run.fields = nullptr;
  EXPECT_THROW(panel(FigurePanel::prediction), Error);
  EXPECT_THROW(panel(FigurePanel::error), Error);
}

TEST_F(Figure, DrawsTheQuantityThatIsAskedFor) {
  auto list = runs({"adam"});
  list[0].history["residual"].back() = 0.1;
  list[0].history["validation_loss"].back() = 0.3;
  list[0].history["loss"].back() = 0.4;
  list[0].history["l2.u"].back() = 0.6;
  list[0].history["h1.u"].back() = 0.7;
  const auto drawn = [&](Quantity quantity) {
    return svg_figure(list, {FigurePanel::curves, FigureClock::steps, quantity});
  };
  const std::vector<std::tuple<Quantity, std::string, std::string>> expected = {
      {Quantity::residual, "Root mean square residual at held-out points", "0.1"},
      {Quantity::mean_square, "Mean square residual at held-out points", "0.01"},
      {Quantity::loss, "Loss at held-out points", "0.3"},
      {Quantity::training_loss, "Loss at training points", "0.4"},
      {Quantity::l2, "Relative L² error", "0.6"},
      {Quantity::h1, "Relative H¹ error", "0.7"}};
  for (const auto& [quantity, heading, end] : expected) {
    const std::string svg = drawn(quantity);
    EXPECT_EQ(count(svg, "font-size=\"13.5\">" + heading + "<"), 1u) << svg;
    EXPECT_EQ(count(svg, "font-size=\"11.5\">" + end + "<"), 1u) << svg;
  }
  EXPECT_EQ(svg_figure(list, {FigurePanel::curves, FigureClock::steps}), drawn(Quantity::l2));
  auto history = list[0].history;
  history.erase("h1.u");
  list[0].history = history;
  EXPECT_THROW(drawn(Quantity::h1), Error);
}

// Ends at 10⁻² and 10⁻⁴: at 10⁻³ in the geometric mean.
TEST_F(Figure, JoinsSeedsToOneCurveWithABandUnlessTheyAreWantedApart) {
  auto list = runs({"adam", "ss-esoap"});
  list.push_back(list[0]);
  list[2].name = "adam-7", list[2].config["seed"] = 7;
  list[0].history["l2.u"].back() = 1e-2;
  list[2].history["l2.u"].back() = 1e-4;
  const std::string line = "fill=\"none\" stroke=\"", band = "\" fill-opacity=\"0.18\"";
  const auto drawn = [&](FigureSeeds seeds) {
    return svg_figure(list, {FigurePanel::curves, FigureClock::steps, {}, seeds});
  };
  const std::string together = drawn(FigureSeeds::together), apart = drawn(FigureSeeds::apart);
  EXPECT_EQ(count(together, line + categorical_colour(0)), 1u) << together;
  EXPECT_EQ(count(together, "fill=\"" + categorical_colour(0) + band), 1u);
  EXPECT_EQ(count(together, band), 1u) << "SS-eSOAP has one seed";
  EXPECT_EQ(count(together, "font-size=\"11.5\">" + short_figure(1e-3) + "<"), 1u);
  EXPECT_EQ(count(apart, line + categorical_colour(0)), 2u) << apart;
  EXPECT_EQ(count(apart, band), 0u);
  for (const auto& svg : {together, apart}) {
    EXPECT_EQ(count(svg, ">adam, 2 seeds<"), 1u) << svg;
    EXPECT_EQ(count(svg, ">ss-esoap<"), 1u);
  }
  EXPECT_EQ(count(pdf_of(together), "/G2 gs"), 1u) << "the band is translucent";
  EXPECT_EQ(count(pdf_of(apart), "/G2 gs"), 0u);
}

TEST_F(Figure, KeepsASeedThatDivergedOutOfTheMeanAndTheScale) {
  auto list = runs({"adam"});
  for (int seed : {1, 2}) {
    list.push_back(list[0]);
    list.back().config["seed"] = seed;
  }
  const std::string calm = svg_figure({list[0], list[1]}, {FigurePanel::curves, FigureClock::steps});
  list[2].history["l2.u"].back() = 1e200;
  list[2].summary["reason"] = "non_finite";
  const std::string svg = svg_figure(list, {FigurePanel::curves, FigureClock::steps});
  EXPECT_EQ(count(svg, ">adam, 3 seeds (1 seed diverged)<"), 1u) << svg;
  EXPECT_EQ(count(svg, "stroke-dasharray"), 1u);
  const auto mean_of = [](const std::string& text) {
    const auto end = text.find("\" fill=\"none\" stroke=\"" + categorical_colour(0));
    return text.substr(text.rfind('M', end), end - text.rfind('M', end));
  };
  EXPECT_EQ(mean_of(svg), mean_of(calm));
}

TEST_F(Figure, HasAPanelForEveryProblemAndOneLegend) {
  auto list = runs({"adam", "ss-esoap"});
  for (std::size_t i : {0, 1}) {
    list.push_back(list[i]);
    list.back().summary["problem"] = list.back().config["problem"]["name"] = "burgers";
  }
  list.push_back(list[0]);
  list.back().config["seed"] = 7;
  for (const auto panel : {FigurePanel::curves, FigurePanel::all}) {
    const std::string svg = svg_figure(list, {panel});
    for (int colour : {0, 1})  // a curve in each panel
      EXPECT_EQ(count(svg, "fill=\"none\" stroke=\"" + categorical_colour(colour)), 2u) << svg;
    for (const char* words :
         {">small<", ">burgers<", ">adam, 1 to 2 seeds<", ">ss-esoap<", ">relative L² error<"})
      EXPECT_EQ(count(svg, words), 1u) << words << "\n" << svg;
    EXPECT_EQ(count(svg, "evenodd"), 0u);
  }
  EXPECT_EQ(count(svg_figure(list, {FigurePanel::prediction}), " on small<") +
                count(svg_figure(list, {FigurePanel::prediction}), " on burgers<"),
            1u);
}

TEST_F(Figure, KeepsSettingsApart) {
  auto list = runs({"adam", "ss-esoap"});
  list.push_back(list[0]);
  list[2].name = "adam-slow", list[2].config["optimizer"]["learning_rate"] = 1e-9;
  const std::string settings = svg_figure(list, {FigurePanel::curves});
  for (const char* words : {">adam<", ">adam-slow<", ">ss-esoap<"})
    EXPECT_EQ(count(settings, words), 1u) << words;
}

TEST_F(Figure, HasRoomForItsLabels) {
  auto list = runs({"adam"});
  list[0].optimizer = std::string(40, 'm');
  const auto size_of = [](const std::string& svg, const char* attribute) {
    return std::strtod(svg.substr(svg.find(attribute) + std::string(attribute).size()).c_str(), nullptr);
  };
  const std::string wide = svg_figure(list, {FigurePanel::curves});
  EXPECT_GT(size_of(wide, " width=\""), 328 + 40 * 12 * 0.889);  // the widths of m in Helvetica
  for (int i = 1; i < 12; ++i) {
    list.push_back(list[0]);
    list.back().optimizer = list.back().config["optimizer"]["name"] = "method-" + std::to_string(i);
  }
  const std::string tall = svg_figure(list, {FigurePanel::curves});
  std::vector<double> heights;
  for (auto at = tall.find("<text x=\"328\""); at != tall.npos; at = tall.find("<text x=\"328\"", at + 1))
    heights.push_back(size_of(tall.substr(at), " y=\""));
  ASSERT_EQ(heights.size(), 24u);  // names and values
  EXPECT_GT(*std::min_element(heights.begin(), heights.end()), 62);
  EXPECT_LT(*std::max_element(heights.begin(), heights.end()), size_of(tall, " height=\""));
  std::sort(heights.begin(), heights.end());
  for (std::size_t i = 1; i < heights.size(); ++i) EXPECT_GT(heights[i] - heights[i - 1], 12);
}

TEST_F(Figure, DrawsAnErrorOfZeroAtItsLowerEdge) {
  auto list = runs({"adam", "ss-esoap"});
  auto& errors = list[0].history["l2.u"];
  errors.back() = 0.0;
  const std::string svg = svg_figure(list, {FigurePanel::curves, FigureClock::steps});
  constexpr const char* kBottom = "L316 276\" fill=\"none\"";  // the lower right corner of the panel
  EXPECT_EQ(count(svg, kBottom + (" stroke=\"" + categorical_colour(0))), 1u) << svg;
  EXPECT_EQ(count(svg, "text-anchor=\"end\" fill=\"#6a6f78\" font-size=\"11\">0<"), 1u);
  EXPECT_EQ(count(svg, "font-size=\"11.5\">0<"), 1u);  // where it ends, in the legend
  for (auto& run : list)
    for (auto& error : run.history["l2.u"]) error = 0.0;
  const std::string zeros = svg_figure(list, {FigurePanel::curves, FigureClock::steps});
  EXPECT_EQ(count(zeros, kBottom), 2u);
  for (const char* foreign : {"nan", "inf"}) EXPECT_EQ(count(svg + zeros, foreign), 0u) << foreign;
}

TEST(Panels, OfNothingButSeedsThatDivergedShowWhereTheyStart) {
  PanelFigure drawing;
  drawing.methods = {{"Adam", 0}};
  PanelCurve curve{0, {0, 1, 2}, {1, 10, 1e300}, {}, {}};
  curve.cut = curve.diverged = true;
  drawing.panels = {{"", {curve}}};
  const std::string svg = svg_panels(drawing);
  for (const char* number : {">10²<", ">10³<"}) EXPECT_NE(svg.find(number), svg.npos) << svg;
  EXPECT_NE(svg.find("Adam (1 seed diverged)"), svg.npos);
}

TEST(Panels, WithoutZerosAreNotNumberedFromZero) {
  PanelFigure drawing;
  drawing.methods = {{"Adam", 0}};
  drawing.panels = {{"", {{0, {1, 2}, {1, 0.1}, {}, {}}}}};
  EXPECT_EQ(svg_panels(drawing).find("text-anchor=\"end\" fill=\"#6a6f78\" font-size=\"11\">0<"),
            std::string::npos);
}

TEST_F(Figure, OfRunsWithoutAnyHistoryIsAnError) {
  auto list = runs({"adam"});
  list[0].history = {{"step", nlohmann::ordered_json::array()}, {"seconds", nlohmann::ordered_json::array()}};
  EXPECT_THROW(svg_figure(list), Error);
}

}  // namespace
}  // namespace lather::report
