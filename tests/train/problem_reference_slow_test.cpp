// Problem files whose references are computed: the reference solves the file's equations and conditions.
#include "problem_reference.hpp"

namespace lather::train {
namespace {

using test::ReferenceCase;

class ComputedReference : public ::testing::TestWithParam<ReferenceCase> {};

TEST_P(ComputedReference, SolvesTheFilesEquationsAndConditions) { test::expect_reference_solves(GetParam()); }

const ReferenceCase kCases[] = {
    {"kdv", 1e-8, 1e-10, "third derivatives of the spectral series", {{"reference.modes", "512"}}},
    {"allen-cahn",
     1e-7,
     1e-7,
     "away from the kink of the initial field, which no number of modes resolves",
     {{"reference.modes", "4096"}},
     {{"x", {-0.95, 0.95}}, {"t", {0.01, 1}}}},
    {"gray-scott",
     1e-6,
     1e-5,
     "128 modes: first derivatives 3e-6; the initial field jumps by 1e-4 where the period closes",
     {{"reference.modes", "128"}, {"reference.end_time", "0.1"}, {"domain.t", "[0, 0.1]"}},
     {{"x", {-0.9, 0.9}}, {"y", {-0.9, 0.9}}, {"t", {0.01, 0.1}}}},
    {"ginzburg-landau",
     1e-6,
     1e-8,
     "128 modes up to t = 0.2",
     {{"reference.modes", "128"}, {"reference.end_time", "0.2"}, {"domain.t", "[0, 0.2]"}}},
    {"lid-driven-cavity",
     1e-4,
     1e-4,
     "48 points at Re = 100, away from the upper corners, where psi_xy jumps",
     {{"parameters.Re", "100"}, {"reference.points", "48"}},
     {{"x", {0.05, 0.95}}, {"y", {0.02, 0.95}}}},
    {"boussinesq",
     1e-3,
     1e-3,
     "32 x 28 points: first derivatives 1e-4",
     {{"reference.q_points", "32"}, {"reference.eta_points", "28"}},
     {{"q", {0.01, 0.999}}}},
    {"boussinesq-f1",
     1e-3,
     1e-3,
     "32 x 28 points",
     {{"reference.q_points", "32"}, {"reference.eta_points", "28"}},
     {{"z1", {0.01, 5}}, {"z2", {0.01, 5}}}},
};

INSTANTIATE_TEST_SUITE_P(Slow, ComputedReference, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return test::test_name(info.param.problem); });

}  // namespace
}  // namespace lather::train
