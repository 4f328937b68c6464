// lather train PROBLEM --optimizer local, and what reads its result.
#include <gtest/gtest.h>

#include "process.hpp"

namespace lather::testing {
namespace {

TEST(LocalCommand, SolvesSaysSoAndIsReadBack) {
  const TemporaryFolder folder;
  const std::string run = (folder / "run").string(), points = (folder / "points.csv").string();
  const std::string problem = (folder / "line.toml").string();
  std::ofstream(problem)
      << "name = \"line\"\ncoordinates = [\"x\"]\nfields = [\"u\"]\n[domain]\nx = [0, 1]\n"
         "[[equation]]\nname = \"e\"\nresidual = \"u_xx - 2\"\n[[condition]]\nname = \"c\"\n"
         "where = [\"x = 0\", \"x = 1\"]\nresidual = \"u\"\n[reference]\nu = \"x^2 - x\"\n";
  std::ofstream(points) << "x\n0.25\n";
  const Finished solved = lather({"train", problem, "--optimizer", "local", "--out", run});
  EXPECT_EQ(solved.status, 0) << solved.err;
  EXPECT_TRUE(contains(solved.out, "round 0")) << solved.out;
  EXPECT_TRUE(contains(solved.out, "solved: the estimated relative error")) << solved.out;
  const Finished predicted = lather({"predict", run, points, "--derivatives", "u_x"});
  EXPECT_EQ(predicted.status, 0) << predicted.err;
  EXPECT_TRUE(contains(predicted.out, "-0.1875")) << predicted.out;
  const Finished evaluated = lather({"eval", run});
  EXPECT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_TRUE(contains(evaluated.out, "relative error against the reference")) << evaluated.out;

  const Finished refused = lather({"export", run, "--format", "npz"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_TRUE(contains(refused.err, "lather predict")) << refused.err;
  const Finished failed = lather({"train", problem, "--optimizer", "local", "--set", "optimizer.degree=1",
                                  "--set", "optimizer.rounds=2", "--out", run + "2"});
  EXPECT_EQ(failed.status, 3) << failed.out;
}

}  // namespace
}  // namespace lather::testing
