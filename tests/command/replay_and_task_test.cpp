// The commands as a user runs them.
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

TEST(TaskCommand, PrintsTheTableAndWritesTheCurves) {
  const lather::test::TemporaryFolder folder;
  const auto [status, output] =
      run("task logistic --size small --optimizers lbfgs,ss-broyden --seeds 2 --steps 10 --batch 0 --set "
          "lbfgs.history=5 --out " +
          folder.path().string());
  EXPECT_EQ(status, 0) << output;
  EXPECT_NE(output.find("| ss-broyden "), std::string::npos);
  EXPECT_NE(output.find("\"history\":5"), std::string::npos);
  std::ifstream csv(folder / "curves.csv");
  std::string header;
  std::getline(csv, header);
  EXPECT_EQ(header, "optimizer,seed,step,loss,accuracy,gradient_condition,gradient_nuclear_norm");
  int rows = 0;
  for (std::string line; std::getline(csv, line);) ++rows;
  EXPECT_EQ(rows, 2 * 2 * 11);  // optimizers, seeds, steps 0 … 10
}

TEST(TaskCommand, RefusesUnknownTasksOptimizersAndKeys) {
  EXPECT_NE(run("task logistc --size small --optimizers lbfgs").output.find("did you mean 'logistic'"),
            std::string::npos);
  EXPECT_EQ(run("task quadratic --size small --optimizers lbfs").status, 2);
  EXPECT_NE(run("task quadratic --size small --optimizers lbfgs --set lbfgs.histry=3")
                .output.find("did you mean 'history'"),
            std::string::npos);
}

}  // namespace
