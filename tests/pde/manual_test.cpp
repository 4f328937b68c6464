// Every TOML example of docs/problem-files.md and docs/geometry.md is a complete problem and can be read.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "lather/core/error.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/train/recipe.hpp"
#include "paths.hpp"

namespace lather::pde {
namespace {

void expect_examples_are_read(const std::string& file_of_page, int least) {
  std::stringstream page;
  page << std::ifstream(lather::test::source_path(file_of_page)).rdbuf();
  const std::string text = page.str(), opening = "```toml\n";
  int examples = 0;
  for (std::size_t at = text.find(opening); at != std::string::npos; at = text.find(opening, at)) {
    at += opening.size();
    const std::size_t end = text.find("```", at);
    ASSERT_NE(end, std::string::npos);
    try {
      // Data files of the examples are those of the built-in problems.
      const auto file = lather::test::source_path("problems/example.toml");
      const TomlValue root = parse_toml(text.substr(at, end - at), file);
      read_problem(root, std::filesystem::path(file).parent_path());
      train::check_all_recipes(root, std::filesystem::path(file).parent_path());
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << text.substr(at, end - at);
    }
    ++examples;
  }
  EXPECT_GE(examples, least);
}

TEST(ManualOfProblemFiles, HasOnlyExamplesThatAreRead) {
  expect_examples_are_read("docs/problem-files.md", 10);
}
TEST(ManualOfGeometry, HasOnlyExamplesThatAreRead) { expect_examples_are_read("docs/geometry.md", 6); }

}  // namespace
}  // namespace lather::pde
