#include "lather/train/accuracy/not_finite.hpp"

#include <gtest/gtest.h>

#include "lather/pde/problem_builder.hpp"

namespace lather::train {
namespace {

class NotFinite : public ::testing::Test {
 protected:
  // Two terms at x = 0.25, 0.75; `residual` is that of the second.
  static std::string described(const std::string& residual) {
    pde::ProblemBuilder b("rough");
    b.coordinate("x", 0, 1);
    b.field("u");
    b.equation("smooth", b.parse("u_x - 1"));
    b.equation("rough", b.parse(residual));
    b.problem().network.width = 4;
    b.problem().network.depth = 1;
    pde::PinnObjective objective(b.build(), {.threads = 1});
    objective.set_points(0, {{{0.25, 0.75}}, {}});
    return describe_not_finite(objective, objective.initialize(1));
  }
};

TEST_F(NotFinite, NamesTheTermAndThePoint) {
  EXPECT_EQ(described("u + log(x - 0.5)"), "the residual of 'rough' is nan at x = 0.25 (1 of 2 points)");
  EXPECT_EQ(described("u + 1/(x - 0.75)"), "the residual of 'rough' is inf at x = 0.75 (1 of 2 points)");
}

TEST_F(NotFinite, NamesTheTermWhoseLossOverflows) {
  EXPECT_EQ(described("u + 1e200"), "the loss of 'rough' is inf");
}

TEST_F(NotFinite, NamesTheTermWhoseGradientIsNotFinite) {
  EXPECT_EQ(described("sqrt(u*step(-x))"),
            "the gradient of 'smooth' or 'rough' is not finite, though the residuals are");
}

TEST_F(NotFinite, HasNothingToSayWhereAllIsWell) { EXPECT_EQ(described("u - 1"), ""); }

}  // namespace
}  // namespace lather::train
