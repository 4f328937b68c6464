#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "../train/staged_runs.hpp"
#include "lather/core/error.hpp"
#include "lather/core/formats/npz_file.hpp"
#include "lather/report/export/csv.hpp"
#include "lather/report/export/export.hpp"
#include "lather/report/export/npz.hpp"
#include "lather/report/export/vtk.hpp"
#include "lather/report/table.hpp"
#include "lather/train/accuracy/accuracy.hpp"
#include "lather/train/trainer.hpp"

namespace lather::report {
namespace {

TEST(Crc32, OfTheUsualTestString) { EXPECT_EQ(crc32("123456789"), 0xCBF43926u); }

TEST(Base64, OfTheUsualTestStrings) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Npy, HeaderFillsWholeBlocksAndDataFollow) {
  const std::string bytes = encode_npy({"u", {2, 3}, {1, 2, 3, 4, 5, 6}});
  const std::size_t header =
      static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
  EXPECT_EQ((10 + header) % 64, 0u);
  EXPECT_EQ(bytes.size(), 10 + header + 6 * sizeof(double));
  EXPECT_NE(bytes.find("'shape': (2,3,)"), std::string::npos) << bytes;
}

TEST(Npz, IsReadBackAndDamageIsFound) {
  const std::vector<NamedArray> arrays{{"u", {2, 3}, {1, 2, 3, 4, 5, 6}}, {"x", {2}, {-0.5, 1e300}}};
  std::string bytes = encode_npz(arrays);
  const auto back = parse_npz(bytes, "file.npz");
  ASSERT_EQ(back.size(), 2u);
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(back[k].name, arrays[k].name);
    EXPECT_EQ(back[k].shape, arrays[k].shape);
    EXPECT_EQ(back[k].values, arrays[k].values);
  }
  for (std::size_t n = 0; n < bytes.size(); n += 3)
    EXPECT_THROW(parse_npz(std::string_view(bytes).substr(0, n), "file.npz"), Error) << n;
  for (std::size_t n = 0; n < bytes.size(); ++n) {  // whatever a byte is: the same numbers, or an Error
    std::string damaged = bytes;
    damaged[n] = static_cast<char>(damaged[n] ^ 0x5f);
    try {
      for (const auto& array : parse_npz(damaged, "file.npz"))
        EXPECT_EQ(array.values, array.shape.size() == 2 ? arrays[0].values : arrays[1].values) << n;
    } catch (const Error&) {
    }
  }
  bytes.replace(bytes.find("'<f8'"), 5, "'<U8'");
  EXPECT_THROW(parse_npz(bytes, "file.npz"), Error);
}

// A small file whose arrays are all the same bytes would become a large one in memory.
TEST(Npz, ArraysThatOverlapAreRefused) {
  std::string bytes = encode_npz(std::vector<NamedArray>{{"u", {64}, std::vector<double>(64)}});
  constexpr std::size_t kEndBytes = 22;
  const std::string end = bytes.substr(bytes.size() - kEndBytes);
  std::uint32_t directory = 0;
  std::memcpy(&directory, end.data() + 16, sizeof directory);
  const std::string entry = bytes.substr(directory, bytes.size() - kEndBytes - directory);
  bytes = bytes.substr(0, directory) + entry + entry + entry + end;
  bytes[bytes.size() - kEndBytes + 10] = 3;  // files
  EXPECT_THROW(parse_npz(bytes, "file.npz"), Error);
}

// Even if the reference is a solver rather than a formula.
TEST(ErrorArrays, HoldReferenceAndErrorOfEveryFieldThatIsKnown) {
  train::ConfigRequest request;
  request.problem = "burgers";
  request.optimizer = "adam";
  request.threads = 1;
  request.settings = {{"network.width", "4"}, {"training.points.interior", "32"}};
  train::Trainer trainer(train::resolve(request));
  const auto solution = trainer.solution();
  const std::vector<std::size_t> counts{5, 4};
  const auto grid = train::grid_of(solution.problem(), counts);
  const auto truth = trainer.reference_values(grid.points());
  ASSERT_EQ(truth.size(), 1u);
  const auto arrays = error_arrays(solution, grid, truth);
  ASSERT_EQ(arrays.size(), 3u);
  EXPECT_EQ(arrays[0].name, "u.reference");
  EXPECT_EQ(arrays[1].name, "u.error");
  EXPECT_EQ(arrays[2].name, "residual.momentum");
  const auto u = solution.evaluate(train::field_values(solution.problem()), grid.points())[0];
  for (std::size_t i = 0; i < u.size(); ++i) EXPECT_EQ(arrays[1].values[i], u[i] - arrays[0].values[i]) << i;
  EXPECT_EQ(error_arrays(solution, grid, {}).size(), 1u);
}

// The network in the file's own terms: tests/command/first_hour_test.cpp.
TEST(Exports, OfARunWithCorrectionsHoldAllNetworks) {
  const testing::TemporaryFolder folder;
  const train::Config config =
      train::test::staged(folder.path(), {{"training.corrections", "2"}, {"training.steps", "30"}});
  auto run_folder = train::RunFolder::create(folder / "run", config);
  train::Trainer trainer(config);
  train::run(trainer, run_folder, {});
  ASSERT_EQ(trainer.stage(), 2);
  std::vector<std::string> messages;
  const auto read = train::read_run(folder / "run", messages);
  for (const bool best : {true, false}) {
    const train::Solution in_memory = trainer.solution(best), from_file = read->solution(best);
    const auto grid = train::grid_of(in_memory.problem(), std::vector<std::size_t>{7, 5});
    auto quantities = train::field_values(in_memory.problem());
    for (auto& slope : train::first_derivatives(in_memory.problem())) quantities.push_back(std::move(slope));
    const auto expected = in_memory.evaluate(quantities, grid.points());
    const auto arrays = parse_npz(export_npz(from_file, grid, quantities), "fields.npz");
    ASSERT_EQ(arrays.size(), 2 + quantities.size());
    for (std::size_t q = 0; q < quantities.size(); ++q) EXPECT_EQ(arrays[2 + q].values, expected[q]);
    EXPECT_EQ(export_vti(from_file, grid, quantities), export_vti(in_memory, grid, quantities));
    EXPECT_EQ(export_vtu(from_file, grid, quantities), export_vtu(in_memory, grid, quantities));
    EXPECT_EQ(export_safetensors(from_file), export_safetensors(in_memory));

    // All of the networks count: without the last one the fields differ.
    const auto& last = in_memory.pieces()[0];
    const train::Solution without(in_memory.problem(),
                                  {{last.objective, std::vector<double>(last.parameters.size()), 0}});
    EXPECT_NE(without.evaluate(quantities, grid.points())[0], expected[0]);
  }
  EXPECT_EQ(read->measure(true, true).l2, trainer.measure(true, true).l2);  // as `lather eval` does
}

TEST(PointwiseError, LeavesOutAConstantThatIsNotDetermined) {
  pde::Problem problem;
  problem.fields.resize(2);
  problem.fields[0].name = "u";
  problem.fields[1].name = "p";
  problem.reference.up_to_constant = {"p"};
  const double nan = std::nan("");
  const std::vector<double> values{5, 7, nan, 9}, truth{1, 2, nan, 3};
  const auto u = train::pointwise_error(problem, 0, values, truth);
  const auto p = train::pointwise_error(problem, 1, values, truth);
  for (const std::size_t i : {0, 1, 3}) {
    EXPECT_EQ(u[i], values[i] - truth[i]);
    EXPECT_DOUBLE_EQ(p[i], u[i] - 5);  // the mean of 4, 5, 6
  }
  EXPECT_TRUE(std::isnan(p[2]));
}

TEST(Vti, HasTheFirstCoordinateFastest) {
  // u[i][j] = 10 i + j on 2 x 3 points; VTK wants u00 u10 u01 u11 u02 u12.
  const std::string text = encode_vti({{2, 3, 1}, {0, 0, 0}, {1, 1, 1}},
                                      std::vector<NamedArray>{{"u", {2, 3}, {0, 1, 2, 10, 11, 12}}});
  std::string expected(8 + 6 * 8, '\0');
  const std::uint64_t size = 48;
  std::memcpy(expected.data(), &size, 8);
  const double order[] = {0, 10, 1, 11, 2, 12};
  std::memcpy(expected.data() + 8, order, sizeof order);
  EXPECT_NE(text.find(base64(expected)), std::string::npos);
}

TEST(Csv, ReadsWhatItWrites) {
  const NumberTable table{{"x", "u"}, {{0.1, -2e-300}, {1.0 / 3, 4}}};
  const NumberTable back = parse_csv(encode_csv(table), "file");
  EXPECT_EQ(back.names, table.names);
  EXPECT_EQ(back.columns, table.columns);
}

TEST(Csv, SaysWhichLineIsWrong) {
  for (const char* text : {"x,t\n1,2\n1,two\n", "x,t\n1,2\n1\n", "x,t\n1,2\n1,2,3\n"}) {
    try {
      parse_csv(text, "points.csv");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("points.csv:3"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(parse_csv("", "empty.csv"), Error);
}

TEST(Table, SpreadIsMeanAndSampleDeviation) {
  const double values[] = {1, 2, 3, std::nan("")};
  const Spread s = spread_of(values);
  EXPECT_EQ(s.count, 3);
  EXPECT_DOUBLE_EQ(s.mean, 2);
  EXPECT_DOUBLE_EQ(s.deviation, 1);
}

TEST(Table, InThreeFormats) {
  const Table table{{"optimizer", "L2 error"},
                    {{{"ss-esoap_1", {}}, {"", Spread{1.25e-4, 5e-6, 3}}}, {{"adam", {}}, {"", Spread{}}}}};
  EXPECT_EQ(to_markdown(table),
            "| optimizer  | L2 error           |\n|------------|--------------------|\n| ss-esoap_1 | "
            "1.25e-04 ± 5.0e-06 |\n| adam       | -                  |\n");
  EXPECT_EQ(to_csv(table), "optimizer,L2 error,L2 error.deviation\nss-esoap_1,0.000125,5e-06\nadam,,\n");
  EXPECT_NE(to_latex(table).find("ss-esoap\\_1 & $1.25 \\cdot 10^{-4} \\pm 5.0 \\cdot 10^{-6}$ \\\\"),
            std::string::npos)
      << to_latex(table);
}

TEST(Table, InMarkdownKeepsItsCellsWhateverTheyHold) {
  const Table table{{"a|b"}, {{{"|u| < 1", {}}}, {{"first line\nsecond", {}}}}};
  EXPECT_EQ(
      to_markdown(table),
      "| a\\|b              |\n|-------------------|\n| \\|u\\| < 1         |\n| first line second |\n");
}

TEST(Table, InLatexHasNumbersAsFormulasAndNoCharacterThatPrintsAsAnother) {
  const auto latex = [](const char* text) {
    const std::string table = to_latex({{"a"}, {{{text, {}}}}});
    const auto begin = table.find("\\midrule\n") + 9;
    return table.substr(begin, table.find(" \\\\\n\\bottomrule") - begin);
  };
  EXPECT_EQ(latex("1.80e-03 ± 2.1e-05; 1 of 3 diverged"),
            "$1.80 \\cdot 10^{-3} \\pm 2.1 \\cdot 10^{-5}$; 1 of 3 diverged");
  EXPECT_EQ(latex("median 1.20e+00 (3.0e-05 … 2e+12)"),
            "median $1.20$ ($3.0 \\cdot 10^{-5}$ … $2 \\cdot 10^{12}$)");
  EXPECT_EQ(latex("DNC (> 50400), a < 1"), "DNC (\\textgreater{} 50400), a \\textless{} 1");
  EXPECT_EQ(latex("SS-eSOAP, m = 20"), "SS-eSOAP, m = 20");
  EXPECT_EQ(latex("100 % & #1_{a} of $5^2 ~ \\"),
            "100 \\% \\& \\#1\\_\\{a\\} of \\$5\\char94{}2 \\char126{} \\char92{}");
  EXPECT_EQ(latex("|u|, γ ≤ 1\nΓé"), "\\textbar{}u\\textbar{}, $\\gamma$ $\\le$ 1 $\\Gamma$é");
}

}  // namespace
}  // namespace lather::report
