// Every TOML example of docs/problem-files.md is a whole problem and is read.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "lather/core/error.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "paths.hpp"

namespace lather::pde {
namespace {

TEST(ManualOfProblemFiles, HasOnlyExamplesThatAreRead) {
  std::stringstream page;
  page << std::ifstream(lather::test::source_path("docs/problem-files.md")).rdbuf();
  const std::string text = page.str(), opening = "```toml\n";
  int examples = 0;
  for (std::size_t at = text.find(opening); at != std::string::npos; at = text.find(opening, at)) {
    at += opening.size();
    const std::size_t end = text.find("```", at);
    ASSERT_NE(end, std::string::npos);
    try {
      // Data files of the examples are those of the built-in problems.
      const Problem problem =
          read_problem_text(text.substr(at, end - at), lather::test::source_path("problems/example.toml"));
      for (const auto& [recipe, value] : problem.training.items())
        if (value.is_object()) recipe_overrides(problem, recipe);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << text.substr(at, end - at);
    }
    ++examples;
  }
  EXPECT_GE(examples, 10);
}

}  // namespace
}  // namespace lather::pde
