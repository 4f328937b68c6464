// Every way to get a problem file wrong: the error names the place and what to do, and nothing crashes.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "lather/core/error.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "paths.hpp"
#include "temporary_folder.hpp"

namespace lather::pde {
namespace {

struct Broken {
  const char* file;  // tests/pde/broken/FILE.toml
  const char*
      place;  // "line:column", in the file or in its data file; "" if the error concerns the whole data file
  const char* fragment;  // of the message
};

const Broken kBroken[] = {
    {"D-without-coordinate", "9:22", "D needs an expression"},
    {"a-date", "11:9", "dates and times"},
    {"ambiguous-derivative", "10:19", "write D(u, x, x) or D(u, xx)"},
    {"ansatz-without-field", "10:1", "expression for the field 'u'"},
    {"ansatz-without-outputs", "10:1", "needs the key 'outputs'"},
    {"bad-name", "1:8", "name of a problem"},
    {"binary-garbage", "1:10", "invalid utf-8"},
    {"cyclic-ansatz", "14:1", "v -> u -> v"},
    {"cyclic-lets", "11:1", "first -> second -> first"},
    {"cyclic-parameters", "11:1", "a -> b -> c -> a"},
    {"data-bad-number", "3:5", "finite number, found 'nan'"},
    {"data-column-clash", "12:8", "the name 'u' is used twice"},
    {"data-empty", "", "the file is empty"},
    {"data-missing-coordinate", "12:8", "no column for the coordinate 't'"},
    {"data-missing-file", "12:8", "cannot open the data file"},
    {"data-outside-domain", "12:8", "row 2 of outside.csv"},
    {"data-ragged", "2:1", "expected 3 numbers"},
    {"deep-parentheses", "9:119", "nested more than 200"},
    {"derivative-too-high", "9:19", "above order 6"},
    {"division-by-zero", "9:13", "not finite"},
    {"domain-is-a-number", "6:5", "must be its two ends"},
    {"domain-of-three-numbers", "6:5", "must be its two ends"},
    {"domain-reversed", "6:5", "is empty: [1, 0]"},
    {"duplicate-coordinate", "2:22", "'x' is listed twice"},
    {"duplicate-names", "3:12", "the name 'u' is used twice"},
    {"duplicate-term-names", "11:9", "the name 'heat' is used twice"},
    {"empty-expression", "9:13", "found nothing"},
    {"empty", "1:1", "needs the key 'name'"},
    {"equation-with-single-brackets", "7:1", "double brackets"},
    {"escaped-expression", "9:20", "unknown name 'v'"},
    {"face-fixed-twice", "12:10", "'t' is fixed twice"},
    {"face-of-unknown-coordinate", "12:10", "unknown coordinate 'y'"},
    {"face-with-a-coordinate", "12:24", "'x' is a coordinate"},
    {"face-without-equality", "12:10", "expected an equality such as t = 0"},
    {"fields-is-a-text", "3:10", "must be a list of names"},
    {"function-without-argument", "9:19", "'sin' is a function"},
    {"huge-key-nesting", "10:202", "nested more than 100"},
    {"huge-nesting", "11:264", "nested value depth"},
    {"infinite-domain", "6:9", "inf is not finite"},
    {"infinite-parameter", "11:6", "not finite"},
    {"input-uses-field", "11:17", "not on the network output 'u'"},
    {"harmonics-of-inputs", "12:13", "harmonics has no effect: the inputs contain every periodic coordinate"},
    {"input-not-periodic", "12:12",
     "'x' is periodic, but the slope of this input is -2 at one end of x and 2 at the other"},
    {"invalid-utf8", "9:18", "invalid utf-8"},
    {"long-expression", "9:13", "24003 characters"},
    {"map-not-square", "11:1", "defines 1 (y) and uses 2 (x, t)"},
    {"map-singular", "11:1", "Jacobian is zero"},
    {"map-uses-field", "11:6", "not on the network output 'u'"},
    {"missing-coordinates", "1:1", "needs the key 'coordinates'"},
    {"missing-domain-of-coordinate", "4:1", "needs the ends of the coordinate 't'"},
    {"missing-domain", "1:1", "needs the key 'domain'"},
    {"missing-equation", "1:1", "no equation, condition or data"},
    {"missing-fields", "1:1", "needs the key 'fields'"},
    {"missing-name", "1:1", "needs the key 'name'"},
    {"missing-residual", "7:1", "needs the key 'residual'"},
    {"missing-where", "10:1", "needs the key 'where'"},
    {"multiline-expression", "11:5", "unknown name 'kappa'"},
    {"name-of-a-function", "11:1", "function or constant of the language"},
    {"name-reads-as-derivative", "11:1", "reads as a derivative of the field 'u'"},
    {"name-that-is-no-name", "11:1", "'a b' cannot name"},
    {"nan-domain", "6:9", "nan is not finite"},
    {"negative-weight", "10:10", "must not be negative"},
    {"network-unknown-option", "11:1", "did you mean 'width'?"},
    {"network-unknown-type", "11:8", "did you mean 'mlp'?"},
    {"network-width-out-of-range", "11:9", "[1, 1e+06]"},
    {"number-runs-into-name", "9:20", "unexpected 'u' after the number '2'"},
    {"overflowing-parameter", "11:6", "not finite"},
    {"parameter-uses-coordinate", "11:8", "numbers and parameters only"},
    {"periodic-unknown", "4:14", "unknown coordinate 'y'"},
    {"reference-unknown-field", "11:1", "unknown key of [reference] 'v'"},
    {"reference-uses-field", "11:6", "may depend on coordinates only"},
    {"residual-is-a-number", "9:12", "must be a text in quotes"},
    {"residual-without-field", "9:12", "contains no field"},
    {"syntax-bare-word", "1:8", "not valid TOML"},
    {"syntax-duplicate-key", "7:5", "cannot redefine"},
    {"syntax-header-without-key", "10:2", "expected bare key"},
    {"syntax-missing-bracket", "3:1", "expected comma or closing ']'"},
    {"syntax-missing-quote", "9:23", "not valid TOML"},
    {"top-key-below-a-section", "7:1", "belongs at the top of the file"},
    {"training-is-a-number", "4:12", "[training] must be a table"},
    {"unclosed-parenthesis", "9:28", "to close the '(' at column 19"},
    {"unknown-coordinate-in-D", "9:24", "unknown coordinate 'y'"},
    {"unknown-derivative", "9:19", "derivatives of 'u' are taken in x, t"},
    {"unknown-function", "9:19", "did you mean 'sin'?"},
    {"unknown-key-in-domain", "7:1", "unknown key of [domain] 'y'"},
    {"unknown-key-in-equation", "9:1", "did you mean 'residual'?"},
    {"unknown-section", "10:2", "did you mean 'parameters'?"},
    {"unknown-symbol", "9:19", "did you mean 'kapa'?"},
    {"unknown-with-wrong-key", "11:11", "unknown key of lambda in [unknown] 'start'"},
    {"unused-output", "11:18", "nothing determines 'M'"},
    {"unused-unknown", "11:1", "nothing determines the unknown 'lambda'"},
    {"wrong-argument-count", "9:19", "max takes 2 arguments, got 1"},
    {"wrong-face", "12:10", "t = 2 lies outside the domain [0, 1]"},
};

std::filesystem::path folder() { return lather::test::source_path("tests/pde/broken"); }

class BrokenProblemFile : public testing::TestWithParam<Broken> {};

TEST_P(BrokenProblemFile, IsRefusedWithThePlaceAndTheReason) {
  const Broken& broken = GetParam();
  try {
    read_problem_file(folder() / (std::string(broken.file) + ".toml"));
    FAIL() << "was read without an error";
  } catch (const Error& error) {
    const auto& where = error.where();
    const std::string place =
        where.line > 0 ? std::to_string(where.line) + ":" + std::to_string(where.column) : "";
    EXPECT_EQ(place, broken.place) << error.what();
    EXPECT_FALSE(where.file.empty()) << error.what();
    EXPECT_NE(error.message().find(broken.fragment), std::string::npos) << error.what();
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << "the message must be one line";
  }
}

TEST_P(BrokenProblemFile, MakesTheCommandExitWithStatusTwoAndOneLine) {
  const auto file = folder() / (std::string(GetParam().file) + ".toml");
  const lather::test::TemporaryFolder out;
  const auto errors = out / "errors";
  const std::string command = lather::test::command_path() + " check '" + file.string() +
                              "' > /dev/null 2> '" + errors.string() + "'";
  const int status = std::system(command.c_str());
  std::stringstream text;
  text << std::ifstream(errors).rdbuf();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2) << text.str();
  const std::string output = text.str();
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
  EXPECT_NE(output.find(GetParam().fragment), std::string::npos) << output;
}

std::string test_name(const testing::TestParamInfo<Broken>& info) {
  std::string name = info.param.file;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, BrokenProblemFile, testing::ValuesIn(kBroken), test_name);

TEST(BrokenProblemFiles, AreAllListedHere) {
  std::set<std::string> listed;
  for (const auto& broken : kBroken) listed.insert(broken.file);
  for (const auto& entry : std::filesystem::directory_iterator(folder()))
    if (entry.path().extension() == ".toml") {
      EXPECT_TRUE(listed.contains(entry.path().stem().string())) << entry.path();
    }
}

TEST(BrokenProblemFiles, ThatAreMissingOrTooLargeAreRefused) {
  EXPECT_THROW(read_problem_file(folder() / "there-is-no-such-file.toml"), Error);
  EXPECT_THROW(read_problem_file(folder()), Error);
  const std::string comment(2 << 20, '#');
  EXPECT_THROW(read_problem_text(comment, "large.toml"), Error);
}

TEST(BrokenProblemFiles, CutOffAnywhereAreRefusedWithoutACrash) {
  std::stringstream whole;
  whole << std::ifstream(lather::test::source_path("problems/boussinesq.toml")).rdbuf();
  const std::string text = whole.str();
  int refused = 0;
  for (std::size_t length = 0; length < text.size(); length += 7) {
    try {
      read_problem_text(text.substr(0, length), "cut.toml");
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.where().file, "cut.toml") << error.what();
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(BrokenProblemFiles, WithOneByteChangedAreReadOrRefusedButNeverCrash) {
  std::stringstream whole;
  whole << std::ifstream(lather::test::source_path("problems/burgers-selfsimilar.toml")).rdbuf();
  const std::string text = whole.str();
  unsigned state = 1;
  int refused = 0;
  constexpr int kTrials = 1500;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::string changed = text;
    for (int k = 0; k < 2; ++k) {
      state = state * 1664525u + 1013904223u;
      const std::size_t position = (state >> 8) % changed.size();
      state = state * 1664525u + 1013904223u;
      changed[position] = static_cast<char>(state >> 24);
    }
    try {
      read_problem_text(changed, "changed.toml");
    } catch (const Error& error) {
      ++refused;
      EXPECT_FALSE(error.where().file.empty()) << error.what();
    }
  }
  EXPECT_GT(refused, kTrials / 3);
}

}  // namespace
}  // namespace lather::pde
