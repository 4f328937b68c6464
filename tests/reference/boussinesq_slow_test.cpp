// The profile at its default resolution.
#include "boussinesq_checks.hpp"

namespace lather::reference {
namespace {

std::unique_ptr<ReferenceSolution> profile_in(const char* chart) {
  return solved("boussinesq", {{"chart", chart}}, shared_cache());
}

TEST(BoussinesqDefault, HasLambdaToEightDigitsInBothWays) {
  const auto profile = profile_in("physical");
  const double lambda = profile->unknowns().at("lambda");
  EXPECT_NEAR(lambda, 1.92055997111, 2e-10);
  EXPECT_NEAR(lambda, 1.9205599746927, 1e-8);  // arXiv:2509.14185
  expect_boussinesq_symmetries(*profile, 1e-8);
}

TEST(BoussinesqDefault, HasTheTabulatedFields) {
  const auto profile = profile_in("physical");
  const double table[][7] = {
      {0.1, 0, -0.0992923872, -0.2457975782, 0, -0.1445750495, 0.0026754820},
      {0.5, 0, -0.4277379958, -1.2042808598, 0, -0.5866025750, 0.0496100060},
      {1, 0, -0.6249949369, -2.2987092938, 0, -0.7595541942, 0.1057056230},
      {2, 0, -0.6941907376, -4.1592458683, 0, -0.6838338532, 0.1298386227},
      {5, 0, -0.6049968243, -8.4202215349, 0, -0.4248834259, 0.0978025748},
      {20, 0, -0.4031824112, -22.3255526979, 0, -0.1691308857, 0.0429283706},
      {0.5, 0.5, -0.3987568363, -1.0417998724, 1.0882939913, -0.5238072503, 0.0345428379},
      {1, 1, -0.5856853931, -1.8623478328, 1.9379307141, -0.6852521369, 0.0680856914},
      {1, 3, -0.5210720325, -1.4786172320, 5.1891882197, -0.5650758809, 0.0366967976},
      {5, 5, -0.6252126269, -6.3107165346, 6.1629277904, -0.4497939481, 0.0718272551},
      {1, 20, -0.2868364973, -0.8519802903, 23.1706098600, -0.2279200992, 0.0044401427},
      {10, 10, -0.5286886700, -10.2883613044, 9.8091222274, -0.2972862768, 0.0512624961},
      {100, 100, -0.255227606, -48.92697660, 44.99363410, -0.0633603094, 0.0119392972}};
  for (const auto& row : table)
    for (int field = 0; field < 5; ++field)
      EXPECT_NEAR(profile->value(field, {row[0], row[1]}), row[field + 2],
                  1e-7 * std::max(1.0, std::abs(row[field + 2])))
          << "field " << field << " at " << row[0] << ", " << row[1];
}

TEST(BoussinesqDefault, EquationsInPhysicalCoordinatesVanish) {
  EXPECT_LT(largest_boussinesq_residual(*profile_in("physical"), 0.1, 20, 41), 1e-8);
}

TEST(BoussinesqDefault, DerivativesMatchDifferences) {
  expect_derivatives_match_differences(*profile_in("physical"), {1.3, 2.1}, 2e-3, 1e-8);
  expect_derivatives_match_differences(*profile_in("compact"), {0.4, 1.3}, 5e-4, 1e-6);
}

}  // namespace
}  // namespace lather::reference
