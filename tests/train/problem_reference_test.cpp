// Every problem file with a cheap reference: the reference solves the file's equations and conditions.
#include "problem_reference.hpp"

namespace lather::train {
namespace {

using test::ReferenceCase;

class ProblemReference : public ::testing::TestWithParam<ReferenceCase> {};

TEST_P(ProblemReference, SolvesTheFilesEquationsAndConditions) { test::expect_reference_solves(GetParam()); }

const ReferenceCase kCases[] = {
    {"wave", 1e-13, 1e-13, "closed form: rounding of a few operations"},
    {"heat-1d", 1e-13, 1e-13, "closed form"},
    {"helmholtz", 1e-13, 1e-13, "closed form"},
    {"poisson-2d", 1e-13, 1e-13, "closed form"},
    {"poisson-5d", 1e-13, 1e-13, "closed form"},
    {"kawahara", 1e-13, 1e-13, "closed form"},
    {"burgers-selfsimilar",
     1e-12,
     1e-12,
     "closed form; sinh and asinh of arguments up to e^30 lose two digits",
     {},
     {},
     {},
     true},
    // The reference takes u_t from its own equation: this compares the file's with that one.
    {"burgers", 1e-10, 1e-12, "Cole-Hopf: relative 1e-11 in second derivatives"},
    {"burgers-soft", 1e-10, 1e-12, "Cole-Hopf"},
    {"burgers-inverse", 1e-10, 1e-12, "Cole-Hopf, with the known viscosity"},
};

INSTANTIATE_TEST_SUITE_P(Cheap, ProblemReference, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return test::test_name(info.param.problem); });

// The slow tests compute these; this checks only that the solver knows every key.
TEST(ProblemReferences, AreSetByOptionsTheirSolversHave) {
  for (const auto& name : pde::list_problems()) {
    const pde::Problem problem = pde::read_problem_file(pde::find_problem(name));
    if (problem.reference.solver.empty()) continue;
    const auto options = reference::reference_options(problem.reference.solver);
    for (const auto& entry : problem.reference.options.entries)
      EXPECT_TRUE(std::any_of(options.begin(), options.end(),
                              [&](const FieldDescription& o) { return o.name == entry.key; }))
          << name << ": " << entry.key;
  }
}

TEST(ProblemReferences, FollowTheParametersTheyAreExpressionsOf) {
  const auto cavity =
      pde::read_problem_file(pde::find_problem("lid-driven-cavity"), {{"parameters.Re", "100"}});
  EXPECT_EQ(cavity.reference.options.find("reynolds")->real, 100);
  const auto kdv = pde::read_problem_file(pde::find_problem("kdv"), {{"parameters.delta", "0.5"}});
  EXPECT_EQ(kdv.reference.options.find("dispersion")->real, 0.25);
  const auto profile = pde::read_problem_file(pde::find_problem("boussinesq-f1"));
  EXPECT_EQ(profile.reference.options.find("chart")->text.text, "sinh");
}

}  // namespace
}  // namespace lather::train
