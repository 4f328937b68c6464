// Problem files whose references are computed: the reference solves the file's equations and conditions.
#include "problem_reference.hpp"

namespace lather::train {
namespace {

using test::ReferenceCase;

class ComputedReference : public ::testing::TestWithParam<ReferenceCase> {};

TEST_P(ComputedReference, SolvesTheFilesEquationsAndConditions) { test::expect_reference_solves(GetParam()); }

// Measured: the figures in words, with LATHER_SHOW=1 (residuals,
// where they are largest, and the sizes of the summands).
const ReferenceCase kCases[] = {
    {"kdv",
     1e-8,
     1e-12,
     "third derivatives of 512 modes multiply rounding by (256 pi)^3: 6e-10",
     {{"reference.modes", "512"}}},
    {"kuramoto-sivashinsky", 1e-8, 1e-12, "fourth derivatives of 512 modes multiply rounding by 256^4"},
    {"allen-cahn",
     1e-10,
     1e-6,
     "away from the kink of the initial field at x = 1, whose truncated series is off by 1.3e-7 at x = 0.946",
     {},
     {{"x", {-0.95, 0.95}}, {"t", {0.01, 1}}}},
    {"gray-scott",
     1e-7,  // Measured: 1e-5, 5e-7, 2.3e-8 with 128, 160, 192 modes, whatever the time step.
     2e-6,
     "192 modes; the continued initial field jumps by 1e-4 where the period closes",
     {{"reference.modes", "192"}, {"reference.end_time", "0.1"}, {"domain.t", "[0, 0.1]"}},
     {{"x", {-0.9, 0.9}}, {"y", {-0.9, 0.9}}, {"t", {0.01, 0.1}}}},
    {"ginzburg-landau",
     1e-8,  // Measured: 6e-5, 1.5e-7, 9.4e-10 with 128, 192, 256 modes.
     1e-9,
     "256 modes up to t = 0.2",
     {{"reference.end_time", "0.2"}, {"domain.t", "[0, 0.2]"}, {"parameters.relative", "0"}}},
    {"lid-driven-cavity",
     2e-3,
     2e-3,
     "64 points: psi_xy jumps in the upper corners, which leaves 6e-4 on the side walls at y = 0.92",
     {{"parameters.Re", "100"}, {"reference.points", "64"}},
     {{"x", {0.05, 0.95}}, {"y", {0.02, 0.95}}}},
    {"boussinesq",
     2e-8,
     2e-8,
     "48 x 44 points leave 4e-9",
     {{"reference.q_points", "48"}, {"reference.eta_points", "44"}, {"parameters.relative", "0"}},
     {{"z", {0.001, 0.9999}}}},
    {"boussinesq-f1",
     1e-4,
     1e-3,
     "48 x 44 points; the conditions far away hold up to the decay of the velocity gradient, exp(-Z/(1 + "
     "lambda))",
     {{"reference.q_points", "48"}, {"reference.eta_points", "44"}},
     {{"z1", {0.01, 5}}, {"z2", {0.01, 5}}}},
};

INSTANTIATE_TEST_SUITE_P(Slow, ComputedReference, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return test::test_name(info.param.problem); });

}  // namespace
}  // namespace lather::train
