// The sparse solver against its specification, dense least squares of all rows; and the parts that rows are
// made of.
#include "lather/local/system.hpp"

#include <gtest/gtest.h>

#include "local/local_problems.hpp"

namespace lather::local {
namespace {

struct Assembled {
  Equations equations;
  Tree tree;
  Basis basis;
  std::vector<Patch> patches;
  System system;
  Assembled(const pde::Problem& problem, int degree, unsigned along)
      : equations(problem),
        tree(equations.domain(), breaks_of(problem)),
        basis(problem.dimensions(), degree) {
    tree.split(tree.leaves()[0], along, equations.domain());
    tree.split(tree.leaves()[0], along, equations.domain());
    for (const int leaf : tree.leaves()) patches.push_back(make_patch(equations, tree, leaf, degree));
    RowSettings settings;
    settings.sizes.assign(static_cast<std::size_t>(problem.outputs()), 1.0);
    const RowBuilder builder(equations, settings);
    std::vector<const Patch*> list;
    for (const auto& patch : patches) {
      list.push_back(&patch);
      system.own.push_back(builder.of_patch(patch, basis));
    }
    for (const auto& face : find_faces(equations.domain(), list, false))
      system.couplings.push_back(
          {face.first, face.second, builder.of_face(face, patches[face.first], patches[face.second], basis)});
  }
};

void expect_close(const Coefficients& a, const Coefficients& b) {
  ASSERT_EQ(a.size(), b.size());
  double largest = 0;
  for (const auto& own : a)
    for (const double c : own) largest = std::max(largest, std::abs(c));
  for (std::size_t p = 0; p < a.size(); ++p)
    for (std::size_t j = 0; j < a[p].size(); ++j)
      EXPECT_NEAR(a[p][j], b[p][j], 1e-8 * largest) << p << ' ' << j;
}

void expect_sparse_is_dense(const pde::Problem& problem, int degree, unsigned along) {
  Assembled assembled(problem, degree, along);
  const auto dense = solve_dense(assembled.system);
  ThreadTeam team(2);
  SolveReport report;
  expect_close(solve_sparse(assembled.system, team, {}, report), dense);
  linalg::TallQr qr;
  for (auto& own : assembled.system.own) own = compressed(own, qr);
  expect_close(solve_sparse(assembled.system, team, {}, report), dense);
  EXPECT_LT(report.iterations, 20);
}

TEST(LocalSystem, SparseIsDenseInASquare) {
  expect_sparse_is_dense(problem_of(text_of(2, "sin(3*x)*exp(y)", "u_xx + u_yy + 8*truth")), 7, 3);
}

TEST(LocalSystem, SparseIsDenseAroundAHole) {
  const std::string shapes =
      "[shape]\nsquare = \"rectangle([0, 0], [1, 1])\"\nhole = \"disk([0.4, 0.5], 0.2)\"\n"
      "domain = \"square - hole\"\n";
  expect_sparse_is_dense(problem_of(text_of(2, "sin(3*x)*exp(y)", "u_xx + u_yy + 8*truth", shapes)), 5, 3);
}

TEST(LocalSystem, SparseIsDenseWhereAPatchIsItsOwnNeighbour) {
  const auto problem = problem_of(
      "name = \"test\"\ncoordinates = [\"x\", \"y\"]\nfields = [\"u\"]\nperiodic = [\"x\"]\n[domain]\n"
      "x = [0, 1]\ny = [0, 1]\n[[equation]]\nname = \"e\"\nresidual = \"u_xx + u_yy - sin(2*pi*x)\"\n"
      "[[condition]]\nname = \"c\"\nwhere = [\"y = 0\", \"y = 1\"]\nresidual = \"u - y\"\n");
  expect_sparse_is_dense(problem, 8, 2);
}

TEST(LocalSystem, TheFactorIsRefusedBeyondTheMemoryAllowed) {
  Assembled assembled(problem_of(text_of(2, "x", "u_xx + u_yy")), 6, 3);
  ThreadTeam team(1);
  SolveReport report;
  EXPECT_THROW(solve_sparse(assembled.system, team, {1000, {}}, report), Error);
}

TEST(LocalBasis, DerivativesAreThoseOfThePolynomials) {
  const Basis basis(2, 4);
  const Box box{{-1, 2, 0}, {3, 3, 0}};
  const pde::Points points{{{0.5}, {2.3}}, {}};
  std::vector<double> c(basis.size());
  for (std::size_t j = 0; j < c.size(); ++j)
    if (basis.degrees(j) == std::array{3, 1, 0}) c[j] = 1;  // T_3((x - 1)/2) T_1(2 y - 5)
  BasisAtPoints at(basis, box, points);
  const double s = -0.25, t = -0.4;
  EXPECT_NEAR(at.combine({}, c)[0], (4 * s * s * s - 3 * s) * t, 1e-14);
  EXPECT_NEAR(at.combine(MultiIndex{}.plus(0).plus(0), c)[0], 24 * s / 4 * t, 1e-14);
  EXPECT_NEAR(at.combine(MultiIndex{}.plus(0).plus(1), c)[0], (12 * s * s - 3) / 2 * 2, 1e-14);
  EXPECT_EQ(at.combine(MultiIndex{}.plus(1).plus(1), c)[0], 0);
}

TEST(LocalTree, FindsBreaksOfCoefficientsAlongCoordinates) {
  const auto problem = problem_of(
      text_of(2, "x", "if(x < 0.25, 1, 2)*u_xx + u_yy + abs(sin(2*pi*x)*(y - 0.3)) + max(y, 0.8)"));
  const auto breaks = breaks_of(problem);
  ASSERT_EQ(breaks[0].size(), 2u);
  EXPECT_NEAR(breaks[0][0], 0.25, 1e-12);
  EXPECT_NEAR(breaks[0][1], 0.5, 1e-12);
  ASSERT_EQ(breaks[1].size(), 2u);
  EXPECT_NEAR(breaks[1][0], 0.3, 1e-12);
  EXPECT_NEAR(breaks[1][1], 0.8, 1e-12);
}

}  // namespace
}  // namespace lather::local
