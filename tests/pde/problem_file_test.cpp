#include "lather/pde/file/problem_file.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "lather/core/error.hpp"
#include "lather/pde/file/find_problem.hpp"
#include "lather/pde/file/problem_text.hpp"
#include "lather/pde/problem_builder.hpp"
#include "lather/symbolic/differentiate.hpp"
#include "lather/symbolic/evaluate.hpp"

namespace lather::pde {
namespace {

using symbolic::Expr;
using symbolic::ExprMap;
using symbolic::MultiIndex;

const std::string kTwo = R"(name = "test"
coordinates = ["x", "t"]
fields = ["u", "v"]
[domain]
x = [-1, 3]
t = [0, "1/4"]
)";
const std::string kOne = R"(name = "test"
coordinates = ["z"]
fields = ["U"]
[domain]
z = [0, 2]
)";

std::string equation(const std::string& residual) {
  return "[[equation]]\nname = \"r\"\nresidual = \"" + residual + "\"\n";
}

MultiIndex orders(std::initializer_list<int> list) {
  MultiIndex index;
  int i = 0;
  for (const int k : list) index.order[i++] = static_cast<std::uint8_t>(k);
  return index;
}

// Random numbers for every symbol of every residual: a residual is tested as a function of coordinates and
// jets.
ExprMap<double> random_values(const Problem& problem, unsigned seed, double low = 0.2, double high = 0.9) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  ExprMap<double> values;
  std::vector<Expr> all;
  for (const auto& term : problem.terms) all.push_back(term.residual);
  for (const auto& field : problem.fields) all.push_back(field.value);
  for (Expr s : symbolic::symbols_of(all)) values[s] = uniform(generator);
  for (int i = 0; i < problem.dimensions(); ++i)
    if (!values.contains(problem.symbols->coordinate(i)))
      values[problem.symbols->coordinate(i)] = uniform(generator);
  return values;
}

TEST(ProblemFile, OfTheHeatEquationHasTheStructureTheEngineNeeds) {
  const Problem p = read_problem_file(find_problem("heat-1d"));
  EXPECT_EQ(p.name, "heat-1d");
  EXPECT_EQ(p.symbols->coordinate_names(), (std::vector<std::string>{"x", "t"}));
  EXPECT_EQ(p.domain[0].low, 0);
  EXPECT_EQ(p.domain[1].high, 1);
  ASSERT_EQ(p.fields.size(), 1u);
  EXPECT_EQ(p.fields[0].value, p.symbols->output(0));
  ASSERT_EQ(p.terms.size(), 3u);
  ASSERT_EQ(p.point_sets.size(), 3u);
  EXPECT_EQ(p.point_sets[0].kind, PointSet::Kind::interior);
  EXPECT_EQ(p.point_sets[1].name, "initial");
  ASSERT_EQ(p.point_sets[1].pieces.size(), 1u);
  EXPECT_TRUE(std::isnan(p.point_sets[1].pieces[0][0]));
  EXPECT_EQ(p.point_sets[1].pieces[0][1], 0);
  ASSERT_EQ(p.point_sets[2].pieces.size(), 2u);
  EXPECT_EQ(p.point_sets[2].pieces[1][0], 1);
  const Expr u = p.symbols->output(0), ut = p.symbols->output(0, orders({0, 1})),
             uxx = p.symbols->output(0, orders({2}));
  EXPECT_EQ(p.terms[0].residual, ut - 0.1 * uxx);
  const Expr x = p.symbols->coordinate(0);
  EXPECT_EQ(p.terms[1].residual, u - sin(std::numbers::pi * x));
  EXPECT_EQ(p.network_inputs, (std::vector<Expr>{2.0 * x - 1.0, 2.0 * p.symbols->coordinate(1) - 1.0}));
  EXPECT_EQ(p.network.width, 20);
}

TEST(ProblemFile, OfBurgersHasItsConditionsInTheAnsatz) {
  const Problem p = read_problem_file(find_problem("burgers"));
  ASSERT_EQ(p.terms.size(), 1u);
  const Expr x = p.symbols->coordinate(0), t = p.symbols->coordinate(1);
  for (const double N : {-1.5, 0.7})
    for (const double at : {-1.0, -0.4, 0.3, 1.0}) {
      const auto u = [&](double x_at, double t_at) {
        ExprMap<double> values{{x, x_at}, {t, t_at}, {p.symbols->output(0), N}};
        return symbolic::evaluate(p.fields[0].value, values);
      };
      EXPECT_NEAR(u(at, 0), -std::sin(std::numbers::pi * at), 1e-15);
      EXPECT_NEAR(u(1, 0.5 + at / 2), 0, 1e-15);
      EXPECT_NEAR(u(-1, 0.5 + at / 2), 0, 1e-15);
    }
}

TEST(ProblemFile, AndTheBuilderGiveTheSameProblem) {
  ProblemBuilder b("heat-1d");
  const Expr x = b.coordinate("x", 0, 1);
  b.coordinate("t", 0, 1);
  const Expr kappa = b.parameter("kappa", 0.1);
  const Expr u = b.field("u");
  b.equation("momentum", b.D(u, "t") - kappa * b.D(b.D(u, "x"), "x"));
  b.condition("initial", {b.face({{"t", 0}})}, u - sin(std::numbers::pi * x));
  b.condition("walls", {b.face({{"x", 0}}), b.face({{"x", 1}})}, b.parse("u"));
  const Problem built = b.build(), read = read_problem_file(find_problem("heat-1d"));
  ASSERT_EQ(built.terms.size(), read.terms.size());
  const auto value = [](const Problem& p,
                        std::size_t term) {  // every symbol has a value that depends only on its name
    ExprMap<double> at;
    for (Expr s : symbolic::symbols_of(std::span(&p.terms[term].residual, 1)))
      at[s] = static_cast<double>(std::hash<std::string>()(s.node().name) % 1000) / 1000;
    return symbolic::evaluate(p.terms[term].residual, at);
  };
  for (std::size_t i = 0; i < built.terms.size(); ++i) EXPECT_NEAR(value(built, i), value(read, i), 1e-15);
  EXPECT_THROW(b.face({{"x", 2}}), Error);
  EXPECT_THROW(b.field("x"), Error);
  EXPECT_THROW(b.parse("u_y"), Error);
}

TEST(ProblemFile, ShortNamesAndDMeanTheSameDerivative) {
  const Problem p =
      read_problem_text(kTwo + equation("u_xxt + v_t - 3*D(u, x, t, x) + 2*D(v, x)"), "test.toml");
  EXPECT_EQ(p.terms[0].residual, p.symbols->output(1, orders({0, 1})) +
                                     2.0 * p.symbols->output(1, orders({1, 0})) -
                                     2.0 * p.symbols->output(0, orders({2, 1})));
}

TEST(ProblemFile, DOfAProductObeysTheProductRule) {
  const Problem p = read_problem_text(kTwo + equation("D(u*v*sin(x), x) + u + v"), "test.toml");
  auto at = random_values(p, 3);
  const double x = at.at(p.symbols->coordinate(0)), u = at.at(p.symbols->output(0)),
               v = at.at(p.symbols->output(1)), ux = at.at(p.symbols->output(0, orders({1}))),
               vx = at.at(p.symbols->output(1, orders({1})));
  EXPECT_NEAR(symbolic::evaluate(p.terms[0].residual, at),
              (ux * v + u * vx) * std::sin(x) + u * v * std::cos(x) + u + v, 1e-14);
}

TEST(ProblemFile, CoordinatesWithLongNamesHaveShortDerivativeNames) {
  const Problem p = read_problem_text(
      "name = \"test\"\ncoordinates = [\"z1\", \"z2\"]\nfields = [\"a_b\"]\n[domain]\nz1 = [0, 1]\nz2 = [0, "
      "1]\n" +
          equation("a_b_z1z2 + a_b_z2z2"),
      "test.toml");
  EXPECT_EQ(p.terms[0].residual, p.symbols->output(0, orders({1, 1})) + p.symbols->output(0, orders({0, 2})));
}

TEST(ProblemFile, ParametersMayUseLaterOnesAndNumbersMayUseParameters) {
  const Problem p = read_problem_text(
      kOne + "[parameters]\na = \"2*b + pi\"\nb = \"c^2\"\nc = 3\n" + equation("a*U_z - U") +
          "weight = \"1/c\"\n[[condition]]\nname = \"end\"\nwhere = \"z = c - 1\"\nresidual = \"U - b\"\n",
      "test.toml");
  EXPECT_EQ(p.terms[0].residual,
            (18 + std::numbers::pi) * p.symbols->output(0, orders({1})) - p.symbols->output(0));
  EXPECT_DOUBLE_EQ(p.terms[0].weight, 1.0 / 3);
  EXPECT_EQ(p.point_sets[1].pieces[0][0], 2);
  EXPECT_EQ(p.terms[1].residual, p.symbols->output(0) - 9.0);
}

TEST(ProblemFile, DefinitionsMayStandInAnyOrderAndBeDifferentiated) {
  const Problem p = read_problem_text(
      kTwo + "[let]\nflux = \"-k*energy_x\"\nenergy = \"u^2 + v^2\"\nk = 3\n" + equation("energy_t + flux_x"),
      "test.toml");
  auto at = random_values(p, 4);
  const auto d = [&](int k, std::initializer_list<int> o) { return at.at(p.symbols->output(k, orders(o))); };
  double expected = 0;
  for (int k = 0; k < 2; ++k)
    expected += 2 * d(k, {}) * d(k, {0, 1}) - 3 * (2 * d(k, {1}) * d(k, {1}) + 2 * d(k, {}) * d(k, {2}));
  EXPECT_NEAR(symbolic::evaluate(p.terms[0].residual, at), expected, 1e-13);
}

TEST(ProblemFile, AnsatzIsDifferentiatedByTheChainRule) {
  const Problem p = read_problem_text(
      kOne + "[ansatz]\noutputs = [\"N\"]\nU = \"-z + z^3 + z^4*N\"\n" + equation("U_zz*U - U_z"),
      "test.toml");
  auto at = random_values(p, 5);
  const double z = at.at(p.symbols->coordinate(0)), n = at.at(p.symbols->output(0)),
               n1 = at.at(p.symbols->output(0, orders({1}))), n2 = at.at(p.symbols->output(0, orders({2})));
  const double U = -z + z * z * z + std::pow(z, 4) * n,
               U1 = -1 + 3 * z * z + 4 * std::pow(z, 3) * n + std::pow(z, 4) * n1,
               U2 = 6 * z + 12 * z * z * n + 8 * std::pow(z, 3) * n1 + std::pow(z, 4) * n2;
  EXPECT_NEAR(symbolic::evaluate(p.terms[0].residual, at), U2 * U - U1, 1e-13);
  EXPECT_EQ(p.symbols->output_names(), (std::vector<std::string>{"N"}));
}

TEST(ProblemFile, FieldsMayBeDerivativesOfAStreamFunction) {
  const Problem p = read_problem_text(
      kTwo + "[ansatz]\noutputs = [\"psi\"]\nu = \"psi_t\"\nv = \"-psi_x\"\n" + equation("u_x + v_t + u*v"),
      "test.toml");
  EXPECT_EQ(p.terms[0].residual,
            -(p.symbols->output(0, orders({0, 1})) * p.symbols->output(0, orders({1, 0}))));
}

TEST(ProblemFile, MapInOneDimensionGoesThroughTheInverseDerivative) {
  const Problem p =
      read_problem_text(kOne + "[map]\ny = \"sinh(z)\"\n" + equation("U_yy + y*U_y"), "test.toml");
  auto at = random_values(p, 6);
  const double z = at.at(p.symbols->coordinate(0)), u1 = at.at(p.symbols->output(0, orders({1}))),
               u2 = at.at(p.symbols->output(0, orders({2})));
  const double c = std::cosh(z);  // U_y = U_z/c, U_yy = U_zz/c^2 - U_z sinh/c^3
  EXPECT_NEAR(symbolic::evaluate(p.terms[0].residual, at),
              u2 / (c * c) - u1 * std::sinh(z) / (c * c * c) + std::sinh(z) * u1 / c, 1e-14);
}

TEST(ProblemFile, DiagonalMapHasNoMixedTerms) {
  const Problem p = read_problem_text(
      kTwo + "[map]\na = \"sinh(x)\"\nb = \"t^3 + t\"\n" + equation("u_a + v_b"), "test.toml");
  const Expr x = p.symbols->coordinate(0), t = p.symbols->coordinate(1);
  EXPECT_EQ(p.terms[0].residual, p.symbols->output(0, orders({1, 0})) / cosh(x) +
                                     p.symbols->output(1, orders({0, 1})) / (3.0 * pow(t, 2.0) + 1.0));
}

// Polar coordinates: the Laplacian in the plane is u_rr + u_r/r + u_pp/r^2.
TEST(ProblemFile, GeneralMapInTwoDimensionsGivesThePolarLaplacian) {
  const Problem p = read_problem_text(R"toml(name = "polar"
coordinates = ["r", "p"]
fields = ["u"]
[domain]
r = [1, 2]
p = [0, 1]
[map]
x = "r*cos(p)"
y = "r*sin(p)"
)toml" + equation("u_xx + u_yy - (u_rr + u_r/r + u_pp/r^2)"),
                                      "polar.toml");
  for (unsigned seed = 0; seed < 5; ++seed)
    EXPECT_NEAR(symbolic::evaluate(p.terms[0].residual, random_values(p, seed)), 0, 1e-12);
}

// The same in spherical coordinates.
TEST(ProblemFile, GeneralMapInThreeDimensionsGivesTheSphericalLaplacian) {
  const Problem p = read_problem_text(R"toml(name = "spherical"
coordinates = ["r", "a", "b"]
fields = ["u"]
[domain]
r = [1, 2]
a = [0.1, 3]
b = [0, 1]
[map]
x = "r*sin(a)*cos(b)"
y = "r*sin(a)*sin(b)"
z = "r*cos(a)"
)toml" + equation("u_xx + u_yy + u_zz - (u_rr + 2*u_r/r + (u_aa + cos(a)/sin(a)*u_a + u_bb/sin(a)^2)/r^2)"),
                                      "spherical.toml");
  for (unsigned seed = 0; seed < 3; ++seed)
    EXPECT_NEAR(symbolic::evaluate(p.terms[0].residual, random_values(p, seed)), 0, 1e-9);
}

TEST(ProblemFile, PeriodicCoordinatesAreFedAsCosinesAndSines) {
  const Problem p = read_problem_text(
      "periodic = [\"x\"]\n" + kTwo + equation("u_t - v") + "[network]\nharmonics = 2\n", "test.toml");
  ASSERT_EQ(p.network_inputs.size(), 5u);
  const auto at = [&](double x, double t) {
    return symbolic::evaluate<double>(p.network_inputs,
                                      {{p.symbols->coordinate(0), x}, {p.symbols->coordinate(1), t}});
  };
  const auto low = at(-1, 0.25), high = at(3, 0.25), quarter = at(0, 0);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(low[i], high[i], 1e-12);
  EXPECT_NEAR(quarter[1], 1, 1e-15);   // sin(2 pi/4)
  EXPECT_NEAR(quarter[2], -1, 1e-15);  // cos(2 * 2 pi/4)
  EXPECT_EQ(low[4], 1);
  EXPECT_EQ(quarter[4], -1);
}

TEST(ProblemFile, NetworkInputsReplaceTheCoordinatesThatAreNotPeriodic) {
  const Problem p = read_problem_text(
      "periodic = [\"x\"]\n" + kTwo + equation("u_t - v") + "[network]\ninputs = [\"t^2\", \"tanh(t)\"]\n",
      "test.toml");
  ASSERT_EQ(p.network_inputs.size(), 4u);
  EXPECT_EQ(p.network_inputs[2], pow(p.symbols->coordinate(1), 2.0));
  const Problem plain =
      read_problem_text(kTwo + equation("u_t - v") + "[network]\nnormalize = false\n", "test.toml");
  EXPECT_EQ(plain.network_inputs,
            (std::vector<Expr>{plain.symbols->coordinate(0), plain.symbols->coordinate(1)}));
}

TEST(ProblemFile, NetworkInputsMayReplaceAPeriodicCoordinateTheyContain) {
  const Problem p =
      read_problem_text("periodic = [\"x\"]\n" + kTwo + equation("u_t - v") +
                            "[network]\ninputs = [\"cos(pi/2*(x + 1))\", \"t*sin(pi/2*(x + 1))^2\", \"t\"]\n",
                        "test.toml");
  EXPECT_EQ(p.network_inputs.size(), 3u);
}

TEST(ProblemFile, ConditionsMayHoldOnEdgesPointsAndSeveralFaces) {
  const Problem p = read_problem_text(
      kTwo + equation("u + v") +
          "[[condition]]\nname = \"mixed\"\nwhere = [\"x = -1, t = 1/4\", \"t = min(0, 1)\", \"x = 0.5\"]\n"
          "residual = [\"u\", \"v_x\"]\nweight = 7\n",
      "test.toml");
  ASSERT_EQ(p.terms.size(), 3u);
  EXPECT_EQ(p.terms[1].name, "mixed.1");
  EXPECT_EQ(p.terms[2].name, "mixed.2");
  EXPECT_EQ(p.terms[2].weight, 7);
  EXPECT_EQ(p.terms[1].point_set, p.terms[2].point_set);
  const auto& pieces = p.point_sets[1].pieces;
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0], (Piece{-1, 0.25}));
  EXPECT_TRUE(std::isnan(pieces[1][0]) && pieces[1][1] == 0);
  EXPECT_TRUE(pieces[2][0] == 0.5 && std::isnan(pieces[2][1]));
}

// The allowance for rounding is relative to the end itself, not to the width of the domain.
TEST(ProblemFile, AFaceNearOneEndOfAWideDomainStaysWhereItIs) {
  ProblemBuilder b("wide");
  b.coordinate("x", -1, 1e13);
  EXPECT_EQ(b.face({{"x", 1}})[0], 1);
  EXPECT_EQ(b.face({{"x", -1}})[0], -1);
  EXPECT_EQ(b.face({{"x", 1e13 * (1 + 1e-15)}})[0], 1e13);
  EXPECT_THROW(b.face({{"x", -1.1}}), Error);
}

TEST(ProblemFile, UnknownsAndDataAreRead) {
  const Problem p = read_problem_file(find_problem("burgers-inverse"));
  ASSERT_EQ(p.unknowns.size(), 1u);
  EXPECT_EQ(p.unknowns[0].initial, 0.02);
  EXPECT_DOUBLE_EQ(*p.unknowns[0].known_value, 0.01 / std::numbers::pi);
  const auto& set = p.point_sets[p.terms[1].point_set];
  EXPECT_EQ(set.kind, PointSet::Kind::data);
  EXPECT_EQ(set.columns, (std::vector<std::string>{"u_obs"}));
  ASSERT_EQ(set.rows.size(), 400u);
  EXPECT_EQ(set.rows[0], (std::vector<double>{-0.764007, 0.420238, 0.31483}));
  EXPECT_EQ(p.terms[1].residual, p.symbols->output(0) - p.graph->symbol("data:u_obs"));
}

TEST(ProblemFile, OverridesChangeValuesBeforeTheyAreRead) {
  const auto path = find_problem("lid-driven-cavity");
  const Problem p = read_problem_file(
      path, {{"parameters.Re", "100"}, {"network.type", "piratenet"}, {"condition.lid.weight", "3"}});
  const Problem plain = read_problem_file(path);
  EXPECT_NE(p.terms[0].residual.str(), plain.terms[0].residual.str());
  EXPECT_NE(p.terms[0].residual.str().find("0.01*"), std::string::npos);
  EXPECT_EQ(p.network.type, net::NetworkType::piratenet);
  EXPECT_EQ(p.terms[3].weight, 3);
  EXPECT_THROW(read_problem_file(path, {{"parameters.Rey", "100"}, {"network.widht", "3"}}), Error);
  EXPECT_THROW(read_problem_file(path, {{"condition.roof.weight", "3"}}), Error);
}

TEST(ProblemFile, DescriptionNamesWhatWasUnderstood) {
  const std::string text = describe(read_problem_file(find_problem("heat-1d")));
  for (const char* part : {"x in [0, 1]", "outputs u", "u, u_t, u_xx", "- 0.1*u_xx", "at x = 0 or x = 1"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(ProblemFile, TextsThatWouldGrowWithoutBoundAreErrors) {
  // Twice differentiated, a product of n factors has n^2 terms of n factors.
  std::string product = "sin(x)";
  for (int k = 2; k < 1500; ++k) product += fmt::format("*sin({}*x)", k);
  const std::string grown = kTwo + "[let]\np = \"" + product + "\"\n" + equation("D(p*u, x, x) + v");
  try {
    read_problem_text(grown, "grown.toml");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("grown.toml:11:"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("grow too large"), std::string::npos) << error.what();
  }
}

TEST(ProblemFile, CoordinatesThatBeginAlikeAreToldApartInNoTime) {
  const std::string alike = R"(name = "test"
coordinates = ["x", "xx", "xxx", "xxxx", "xxxxx", "xxxxxx"]
fields = ["u"]
[domain]
x = [0, 1]
xx = [0, 1]
xxx = [0, 1]
xxxx = [0, 1]
xxxxx = [0, 1]
xxxxxx = [0, 1]
)";
  std::string sum =
      "u";  // a name that ends in y can be split in millions of ways, none of which reaches the end
  for (int k = 0; k < 100; ++k) sum += " + u_" + std::string(30, 'x') + "y";
  EXPECT_THROW(read_problem_text(alike + equation(sum), "alike.toml"), Error);
  EXPECT_THROW(read_problem_text(alike + equation("u_xx"), "alike.toml"), Error);  // two readings
  EXPECT_THROW(read_problem_text(alike + equation(std::string(19000, 'q')), "alike.toml"), Error);
}

TEST(ProblemFile, ASolverWhoseNameReadsAsANumberIsStillAName) {
  const Problem p =
      read_problem_text(kOne + equation("U_z") + "[reference]\nsolver = \"e\"\nmodes = \"2*3\"\n", "e.toml");
  EXPECT_EQ(p.reference.solver, "e");
  EXPECT_EQ(p.reference.options.find("modes")->real, 6.0);
  EXPECT_NE(describe(p).find("solver e"), std::string::npos);
}

TEST(ProblemFile, DataAreReadFromFilesOnly) {
  const std::string endless = kOne + "[[data]]\nname = \"d\"\nfile = \"/dev/zero\"\nresidual = \"U\"\n";
  EXPECT_THROW(read_problem_text(endless, "endless.toml"), Error);
}

}  // namespace
}  // namespace lather::pde
