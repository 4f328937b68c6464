#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "lather/pde/file/find_problem.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/sampling/sampling.hpp"
#include "lather/symbolic/differentiate.hpp"
#include "lather/symbolic/evaluate.hpp"

namespace lather::pde {
namespace {

using symbolic::Expr;
using symbolic::ExprMap;

// The network outputs that give the closed form, for fields a + b N: N = (exact - a)/b.
std::vector<Expr> exact_outputs(const Problem& problem) {
  std::vector<Expr> outputs;
  for (int k = 0; k < problem.outputs(); ++k) {
    const Expr n = problem.symbols->output(k), value = problem.fields[k].value;
    const Expr slope = symbolic::differentiate(value, n);
    const Expr offset = symbolic::substitute(value, {{n, problem.graph->constant(0)}});
    outputs.push_back((problem.exact[k].value - offset) / slope);
  }
  return outputs;
}

// A residual as a function of the coordinates alone, with these network outputs.
Expr residual_of(const Problem& problem, const Term& term, const std::vector<Expr>& outputs) {
  ExprMap<Expr> jets;
  for (Expr s : symbolic::symbols_of(std::span(&term.residual, 1)))
    if (const auto d = problem.symbols->find(s)) {
      Expr derivative = outputs[d->output];
      for (int i = 0; i < problem.dimensions(); ++i)
        for (int k = 0; k < d->orders.order[i]; ++k)
          derivative = symbolic::differentiate(derivative, problem.symbols->coordinate(i));
      jets[s] = derivative;
    }
  return symbolic::substitute(term.residual, jets);
}

// The largest residual of each term when the network is the closed form, at random points of the term's point
// set that stay `margin` away from the ends of the domain (where slopes of hard constraints vanish).
void expect_residuals_vanish(const std::string& name, double tolerance, double margin = 0) {
  const Problem problem = read_problem_file(find_problem(name));
  ASSERT_EQ(problem.exact.size(), problem.fields.size());
  const auto outputs = exact_outputs(problem);
  std::mt19937_64 generator(7);
  for (const auto& term : problem.terms) {
    const Expr residual = residual_of(problem, term, outputs);
    const auto& set = problem.point_sets[term.point_set];
    for (int trial = 0; trial < 50; ++trial) {
      ExprMap<double> at;
      for (int i = 0; i < problem.dimensions(); ++i) {
        const auto [low, high] = problem.domain[i];
        double x = std::uniform_real_distribution<double>(low + margin, high - margin)(generator);
        if (set.kind == PointSet::Kind::boundary)
          if (const double fixed = set.pieces[trial % set.pieces.size()][i]; !std::isnan(fixed)) x = fixed;
        at[problem.symbols->coordinate(i)] = x;
      }
      EXPECT_NEAR(symbolic::evaluate(residual, at), 0, tolerance) << name << ": " << term.name;
    }
  }
}

// The same on shapes: at points of the term's region, with the normals they have there.
void expect_residuals_vanish_on_shape(const std::string& name, double tolerance) {
  const Problem problem = read_problem_file(find_problem(name));
  ASSERT_EQ(problem.exact.size(), problem.fields.size());
  const auto outputs = exact_outputs(problem);
  for (const auto& term : problem.terms) {
    const auto& set = problem.point_sets[term.point_set];
    if (set.kind == PointSet::Kind::data) continue;
    const Expr residual = residual_of(problem, term, outputs);
    for (const auto& piece : set.pieces) {
      const Points points =
          points_in(problem.domain, piece, SamplingMethod::uniform, 50, 1, 2, 0, set.columns);
      for (std::size_t n = 0; n < points.count(); ++n) {
        ExprMap<double> at;
        for (int i = 0; i < problem.dimensions(); ++i)
          at[problem.symbols->coordinate(i)] = points.coordinates[i][n];
        for (std::size_t k = 0; k < set.columns.size(); ++k)
          at[problem.graph->symbol("data:" + set.columns[k])] = points.columns[k][n];
        EXPECT_NEAR(symbolic::evaluate(residual, at), 0, tolerance) << name << ": " << term.name;
      }
    }
  }
}

TEST(BuiltInProblems, ClosedFormsOnShapesSolveThem) {
  expect_residuals_vanish_on_shape("disk-with-hole", 1e-11);
  expect_residuals_vanish_on_shape("helmholtz-absorbing", 1e-11);
  expect_residuals_vanish_on_shape("heat-in-body", 1e-12);
  expect_residuals_vanish_on_shape("lshape", 1e-6);  // rounding to the power 1/4 at the corner
}

// Second derivatives of the wave are as large as 355, so rounding leaves about 1e-12.
TEST(BuiltInProblems, ClosedFormOfTheWaveSolvesIt) { expect_residuals_vanish("wave", 1e-11); }
TEST(BuiltInProblems, ClosedFormOfTheHeatEquationSolvesIt) { expect_residuals_vanish("heat-1d", 1e-13); }
TEST(BuiltInProblems, ClosedFormOfHelmholtzSolvesIt) { expect_residuals_vanish("helmholtz", 1e-11); }
TEST(BuiltInProblems, SolitaryWaveOfKawaharaSolvesIt) { expect_residuals_vanish("kawahara", 1e-14); }
// N = u/(x(1-x)y(1-y)) loses digits near the walls.
TEST(BuiltInProblems, ClosedFormOfPoissonSolvesIt) { expect_residuals_vanish("poisson-2d", 1e-10, 0.05); }
// N = (U + z - z^3)/z^5 loses digits near 0, and the residual
// is divided by z^4 there: nine powers of ten at z = 0.1.
TEST(BuiltInProblems, ClosedFormOfTheSelfSimilarProfileSolvesIt) {
  expect_residuals_vanish("burgers-selfsimilar", 1e-9, 0.2);
}

TEST(BuiltInProblems, SelfSimilarClosedFormHasTheTabulatedValues) {
  const Problem p = read_problem_file(find_problem("burgers-selfsimilar"));
  const auto U = [&](double z) {
    return symbolic::evaluate<double>(p.exact[0].value, {{p.symbols->coordinate(0), z}});
  };
  EXPECT_NEAR(U(0.5), -0.428989529, 1e-9);
  EXPECT_NEAR(U(2), -1.26502954, 1e-8);
  EXPECT_NEAR(U(30), -16606.7975, 1e-4);
}

// The conformal form must equal the plain equations in y, times the factors it was divided by. Both are read
// from text and compared as functions of coordinates, lambda and random jets; none of them is a solution.
TEST(BuiltInProblems, ConformalBoussinesqIsThePlainOneInOtherCoordinates) {
  const Problem conformal = read_problem_file(find_problem("boussinesq"), {{"parameters.relative", "0"}});
  const Problem plain = read_problem_text(R"toml(
name = "plain"
coordinates = ["z", "eta"]
fields = ["w", "h", "c"]
[domain]
z = [0, 0.9999]
eta = [0, "pi/2"]
[unknown]
lambda = 1.9
[map]
y1 = "sinh(xi)*cos(eta)"
y2 = "cosh(xi)*sin(eta)"
[let]
alpha = "1/(1 + lambda)"
xi = "(1 + lambda)*log((1 + z)/(1 - z))"
Q = "cosh(xi)^(-alpha)"
S = "tanh(xi)"
Omega = "Q*w"
psi = "cosh(xi)^2*Q*c"
Theta = "cosh(xi)*Q^2*h"
V1 = "(1 + lambda)*y1 - psi_y2"
V2 = "(1 + lambda)*y2 + psi_y1"
J = "sinh(xi)^2 + cos(eta)^2"
[ansatz]
outputs = ["a1", "a2", "b1", "b2", "p1", "p2"]
w = "-S*cos(eta)*exp(z^2*a1 + sin(eta)*a2)"
h = "-(1 + lambda)/4*(S*cos(eta))^2*exp(z^2*b1 + sin(eta)*b2)"
c = "(3 + lambda)/2*S*sin(eta)*cos(eta)*exp(z^2*p1 + sin(eta)*p2)"
[[equation]]
name = "vorticity"
residual = "J*(Omega + V1*Omega_y1 + V2*Omega_y2 - Theta_y1)/(cosh(xi)^2*Q^2)"
[[equation]]
name = "temperature"
residual = "J*((1 - lambda)*Theta + V1*Theta_y1 + V2*Theta_y2)/(cosh(xi)^3*Q^3)"
[[equation]]
name = "stream function"
residual = "J*(psi_y1y1 + psi_y2y2 - Omega)/(cosh(xi)^2*Q)"
)toml",
                                          "plain.toml");
  std::mt19937_64 generator(11);
  std::uniform_real_distribution<double> uniform(0.3, 0.9);
  for (int trial = 0; trial < 10; ++trial) {
    std::map<std::string, double> by_name;
    const auto value_of = [&](const Problem& p, int term) {
      const Expr residual = p.terms[term].residual;
      ExprMap<double> at;
      for (Expr s : symbolic::symbols_of(std::span(&residual, 1))) {
        const auto [it, fresh] = by_name.try_emplace(s.node().name, 0);
        if (fresh) it->second = s.node().name == "lambda" ? 1 + uniform(generator) : uniform(generator);
        at[s] = it->second;
      }
      return symbolic::evaluate(residual, at);
    };
    for (int term = 0; term < 3; ++term) {
      const double expected = value_of(plain, term);
      EXPECT_NEAR(value_of(conformal, term), expected, 1e-10 * (1 + std::abs(expected)))
          << plain.terms[term].name;
    }
  }
}

TEST(BuiltInProblems, AreAllReadableAndNamedAfterTheirFile) {
  const auto names = list_problems();
  EXPECT_GE(names.size(), 15u);
  for (const auto& name : names) {
    const auto path = find_problem(name);
    const Problem plain = read_problem_file(path);
    EXPECT_EQ(plain.name, name);
    EXPECT_FALSE(plain.title.empty()) << name;
  }
}

// Evaluated at random points with random jets, no residual may be NaN: a sign slip in a power or logarithm
// would be.
TEST(BuiltInProblems, HaveFiniteResidualsEverywhereInTheirDomain) {
  std::mt19937_64 generator(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const auto& name : list_problems()) {
    const Problem p = read_problem_file(find_problem(name));
    for (const auto& term : p.terms)
      for (int trial = 0; trial < 20; ++trial) {
        ExprMap<double> at;
        for (Expr s : symbolic::symbols_of(std::span(&term.residual, 1))) at[s] = 2 * uniform(generator) - 1;
        for (const auto& unknown : p.unknowns) at[p.graph->symbol(unknown.name)] = unknown.initial;
        for (int i = 0; i < p.dimensions(); ++i) {
          const auto [low, high] = p.domain[i];
          const double corner = trial == 0 ? 0 : trial == 1 ? 1 : uniform(generator);
          at[p.symbols->coordinate(i)] = low + corner * (high - low);
        }
        EXPECT_TRUE(std::isfinite(symbolic::evaluate(term.residual, at))) << name << ": " << term.name;
      }
  }
}

}  // namespace
}  // namespace lather::pde
