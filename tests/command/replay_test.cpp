// The command `lather replay` as a user runs it.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>

#include <sys/wait.h>

#include "paths.hpp"
#include "temporary_folder.hpp"

namespace {

struct Outcome {
  int status;
  std::string output;
};

Outcome run(const std::string& arguments) {
  const std::string command = lather::test::command_path() + " " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), part.size(), pipe)) output += part.data();
  const int status = pclose(pipe);
  return {WEXITSTATUS(status), output};
}

const std::string kGolden = lather::test::source_path("tests/golden/");

TEST(ReplayCommand, PassesOnTheRecordsAndNamesCaseDeviationAndTolerance) {
  const auto [status, output] =
      run("replay " + kGolden + "lbfgs_quadratic.json " + kGolden + "ss_broyden2.json");
  EXPECT_EQ(status, 0);
  EXPECT_NE(output.find("ss_broyden2"), std::string::npos);
  EXPECT_NE(output.find("pass"), std::string::npos);
  EXPECT_NE(output.find("1.0e-09"), std::string::npos);
}

TEST(ReplayCommand, ExitsWithOneOnADeviationAndWithTwoOnADamagedFile) {
  const lather::test::TemporaryFolder folder;
  std::ifstream file(kGolden + "lbfgs_quadratic.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto write = [&](const char* name, const std::string& content) {
    std::ofstream(folder / name) << content;
    return (folder / name).string();
  };
  std::string wrong = text;
  wrong.replace(wrong.find("0.9993725254750216"), 18, "0.9990000000000000");
  EXPECT_EQ(run("replay " + write("wrong.json", wrong)).status, 1);
  const auto cut = run("replay " + write("cut.json", text.substr(0, 700)));
  EXPECT_EQ(cut.status, 2);
  EXPECT_NE(cut.output.find("not valid JSON"), std::string::npos);
  const auto foreign = run("replay " + write("foreign.json", R"({"kind": "objectiv", "case": "x"})"));
  EXPECT_EQ(foreign.status, 2);
  EXPECT_NE(foreign.output.find("did you mean 'objective'"), std::string::npos);
  EXPECT_EQ(run("replay " + (folder / "absent.json").string()).status, 2);
}

}  // namespace
