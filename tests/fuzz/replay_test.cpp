// What the fuzzers found worth keeping (tests/hostile/readers.sh merge), read again: an Error or success, nothing else
// may happen.
#include <gtest/gtest.h>

#include <set>

#include "../train/small_problem.hpp"
#include "paths.hpp"
#include "targets.hpp"

namespace lather::testing {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> corpus(const char* name) {
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::directory_iterator(fs::path(lather::test::source_path("tests/fuzz/corpus")) / name))
    files.push_back(entry.path());
  EXPECT_GE(files.size(), 10u) << "the corpus of " << name << " is gone";
  return files;
}

TEST(FuzzedProblemFiles, EndInSuccessOrInAnError) {
  TemporaryFolder folder;
  std::set<std::string> answers;
  for (const auto& file : corpus("problem")) {
    SCOPED_TRACE(file);
    EXPECT_NO_THROW(answers.insert(try_problem_text(content(file), folder / "fuzz.toml")));
  }
  EXPECT_GE(answers.size(), 5u) << "files that all fail alike show nothing";
}

TEST(FuzzedConfigurations, EndInSuccessOrInAnError) {
  std::set<std::string> answers;
  for (const auto& file : corpus("config")) {
    SCOPED_TRACE(file);
    EXPECT_NO_THROW(answers.insert(try_config_text(content(file))));
  }
  EXPECT_GE(answers.size(), 5u) << "files that all fail alike show nothing";
}

TEST(FuzzedConfigurations, BeginWithOneThatIsWhole) {
  EXPECT_EQ(try_config_text(content(lather::test::source_path("tests/fuzz/seed-config.json"))), "");
}

}  // namespace
}  // namespace lather::testing
