#include "kill_and_resume.hpp"

namespace lather::testing {
namespace {

TEST(ResumeManyTimes, SsEsoap) { EXPECT_GT(kill_and_resume("ss-esoap", 20, "1", 11), 0); }
TEST(ResumeManyTimes, Soap) { EXPECT_GT(kill_and_resume("soap", 20, "3", 12), 0); }
TEST(ResumeManyTimes, Lbfgs) { EXPECT_GT(kill_and_resume("lbfgs", 20, "1", 13), 0); }

}  // namespace
}  // namespace lather::testing
