#include "lather/pde/file/find_problem.hpp"

#include <gtest/gtest.h>

#include <string>

#include "lather/core/error.hpp"

namespace lather::pde {
namespace {

TEST(FindProblem, TakesNamesAndPathsAndSuggestsTheNearest) {
  const auto path = find_problem("kdv");
  EXPECT_EQ(find_problem(path.string()), path);
  try {
    find_problem("allen-chan");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'allen-cahn'?"), std::string::npos);
  }
  EXPECT_THROW(find_problem("no/such.toml"), Error);
}

}  // namespace
}  // namespace lather::pde
