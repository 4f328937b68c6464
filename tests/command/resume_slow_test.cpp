#include "kill_and_resume.hpp"

namespace lather::testing {
namespace {

TEST(ResumeManyTimes, SsEsoap) { kill_and_resume("ss-esoap", 20, "1", 11); }
TEST(ResumeManyTimes, Soap) { kill_and_resume("soap", 20, "3", 12); }
TEST(ResumeManyTimes, Lbfgs) { kill_and_resume("lbfgs", 20, "1", 13); }

}  // namespace
}  // namespace lather::testing
