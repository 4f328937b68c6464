// Residuals that add up values of several points: integrals and pairs of places.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "lather/core/error.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/objective.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/pde/sampling/region.hpp"

namespace lather::pde {
namespace {

// A linked pair with a derivative, an integral that is not linear in the field, one over a boundary with
// normals and an unknown.
const std::string kLinked = R"(name = "linked"
coordinates = ["x", "y", "t"]
fields = ["u"]
[unknown]
flux = 0.3
[domain]
x = [-1, 1]
y = [0, 1]
t = [0, 2]
[[equation]]
name = "heat"
residual = "u_t - u_xx - u_yy + flux*u"
[[condition]]
name = "periodic"
where = "x = -1"
linked = "x = 1"
residual = ["u", "u_x"]
points = 7
weight = 3
[[integral]]
name = "energy"
where = "inside domain"
integrand = "u^2"
equals = "1 + t"
nodes = 3
times = 4
[[integral]]
name = "outflow"
where = "boundary and t = 1"
integrand = "normal_x*u_x + normal_y*u_y"
equals = "flux"
nodes = 4
weight = 2
[network]
width = 5
depth = 2
)";

struct LinkedSetup {
  explicit LinkedSetup(int threads = 2, const std::string& more = "")
      : problem(read_problem_text(kLinked + more, "linked.toml")), objective(problem, {.threads = threads}) {
    x = objective.initialize(4);
    PointOptions options;
    options.points = {{"interior", 40}};
    PointSource source(problem, sampling_settings(options, problem), 2);
    source.update(0, objective, x);
  }
  Problem problem;
  PinnObjective objective;
  std::vector<double> x;
};

TEST(LinkedPlaces, HaveOneResidualPerPairAndPerIntegral) {
  LinkedSetup s;
  EXPECT_EQ(s.objective.residuals_of(1), 7u);  // periodic
  EXPECT_EQ(s.objective.residuals_of(2), 4u);  // energy, at four times
  EXPECT_EQ(s.objective.residuals_of(3), 1u);
  EXPECT_EQ(s.objective.residual_count(), 40u + 2 * 7 + 4 + 1);
}

// By hand: the same expressions at the same points, one by one.
TEST(LinkedPlaces, AreTheSumsOfTheirMembers) {
  LinkedSetup s;
  std::vector<double> r(s.objective.residuals_of(1));
  s.objective.term_residuals(s.x, 1, r);
  const auto& points = s.objective.points(1);
  const std::vector<symbolic::Expr> u{s.problem.fields[0].value};
  const auto values = s.objective.evaluate(s.x, u, points)[0];
  for (std::size_t i = 0; i < r.size(); ++i) {
    EXPECT_EQ(points.coordinates[0][2 * i], -1);
    EXPECT_EQ(points.coordinates[0][2 * i + 1], 1);
    EXPECT_EQ(points.coordinates[2][2 * i], points.coordinates[2][2 * i + 1]);
    EXPECT_NEAR(r[i], values[2 * i] - values[2 * i + 1], 1e-14);
  }
  std::vector<double> energy(4);
  s.objective.term_residuals(s.x, 3, energy);
  const auto& nodes = s.objective.points(2);
  const auto at_nodes = s.objective.evaluate(s.x, u, nodes)[0];
  for (std::size_t g = 0; g < 4; ++g) {
    double sum = 0;
    for (std::size_t j = 0; j < 9; ++j) sum += nodes.columns[0][9 * g + j] * std::pow(at_nodes[9 * g + j], 2);
    EXPECT_NEAR(energy[g], sum - (1 + nodes.coordinates[2][9 * g]), 1e-13);
  }
}

TEST(LinkedPlaces, HaveTheLossOfTheirResidualsWhateverTheThreads) {
  LinkedSetup one(1), two(2);
  std::vector<double> r(one.objective.residual_count()), gradient(one.x.size());
  one.objective.residuals(one.x, r);
  const double sum = std::inner_product(r.begin(), r.end(), r.begin(), 0.0);
  EXPECT_NEAR(one.objective.value(one.x), sum, 1e-13 * sum);
  EXPECT_NEAR(two.objective.value(two.x), sum, 1e-13 * sum);
}

void expect_derivatives(const std::string& network) {
  LinkedSetup s(2, network);
  auto& o = s.objective;
  const std::size_t n = s.x.size(), m = o.residual_count();
  std::vector<double> J(m * n), r(m), gradient(n);
  o.jacobian_rows(s.x, 0, m, J.data());
  o.residuals(s.x, r);
  // Against differences of the residuals.
  for (std::size_t j = 0; j < n; j += 3) {
    const double h = 1e-5;
    auto ahead = s.x, behind = s.x;
    ahead[j] += h;
    behind[j] -= h;
    std::vector<double> a(m), b(m);
    o.residuals(ahead, a);
    o.residuals(behind, b);
    for (std::size_t i = 0; i < m; ++i)
      EXPECT_NEAR(J[i * n + j], (a[i] - b[i]) / (2 * h), 1e-7 * (1 + std::abs(J[i * n + j])));
  }
  // The gradient is 2 J^T r.
  o.value_and_gradient(s.x, gradient);
  for (std::size_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < m; ++i) sum += 2 * J[i * n + j] * r[i];
    EXPECT_NEAR(gradient[j], sum, 1e-11 * (1 + std::abs(sum)));
  }
  // Products with J are those of its rows.
  std::vector<double> v(n), w(m), Jv(m), Jtw(n), JtJ(n * n), Jtr(n), JJt(m * m), r2(m);
  for (std::size_t j = 0; j < n; ++j) v[j] = std::sin(1.0 + static_cast<double>(j));
  for (std::size_t i = 0; i < m; ++i) w[i] = std::cos(static_cast<double>(i));
  o.jacobian_times(s.x, v, Jv);
  o.transposed_jacobian_times(s.x, w, Jtw);
  o.normal_equations(s.x, JtJ.data(), Jtr);
  o.residual_gram(s.x, JJt.data(), r2);
  for (std::size_t i = 0; i < m; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += J[i * n + j] * v[j];
    EXPECT_NEAR(Jv[i], sum, 1e-11 * (1 + std::abs(sum)));
    for (std::size_t k = 0; k <= i; ++k) {
      double gram = 0;
      for (std::size_t j = 0; j < n; ++j) gram += J[i * n + j] * J[k * n + j];
      EXPECT_NEAR(JJt[i * m + k], gram, 1e-11 * (1 + std::abs(gram)));
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    double sum = 0, with_r = 0;
    for (std::size_t i = 0; i < m; ++i) {
      sum += J[i * n + j] * w[i];
      with_r += J[i * n + j] * r[i];
    }
    EXPECT_NEAR(Jtw[j], sum, 1e-11 * (1 + std::abs(sum)));
    EXPECT_NEAR(Jtr[j], with_r, 1e-11 * (1 + std::abs(with_r)));
    for (std::size_t k = 0; k <= j; ++k) {
      double gram = 0;
      for (std::size_t i = 0; i < m; ++i) gram += J[i * n + j] * J[i * n + k];
      EXPECT_NEAR(JtJ[j * n + k], gram, 1e-11 * (1 + std::abs(gram)));
    }
  }
}

TEST(LinkedPlaces, HaveTheDerivativesOfTheirResiduals) { expect_derivatives(""); }
TEST(LinkedPlaces, HaveThemWithFactorizedWeightsToo) { expect_derivatives("weight_factorization = true\n"); }

// Integrals of smooth functions over regions, against closed forms.
TEST(Quadrature, IsAccurateOnShapesAndTheirBoundaries) {
  const double pi = std::numbers::pi;
  const auto integral = [](const std::string& shape, const std::string& where, const std::string& integrand,
                           int dimensions, int nodes) {
    const std::string coordinates = dimensions == 2 ? R"(["x", "y"])" : R"(["x", "y", "z"])";
    const Problem problem = read_problem_text(
        "name = \"q\"\ncoordinates = " + coordinates + "\nfields = [\"u\"]\n[shape]\n" + shape +
            "[[equation]]\nname = \"e\"\nresidual = \"u_xx\"\n[[integral]]\nname = \"i\"\nwhere = \"" +
            where + "\"\nintegrand = \"u*0 + " + integrand +
            " + u\"\nequals = 0\nnodes = " + std::to_string(nodes) + "\n",
        "q.toml");
    PinnObjective objective(problem, {.threads = 1});
    auto x = objective.initialize(0);
    std::fill(x.begin(), x.end(), 0.0);  // u = 0
    PointOptions options;
    options.points = {{"interior", 10}};
    PointSource source(problem, sampling_settings(options, problem), 2);
    source.update(0, objective, x);
    std::vector<double> r(1);
    objective.term_residuals(x, 1, r);
    return r[0];
  };
  const std::string annulus = "a = \"disk([0, 0], 1)\"\nb = \"disk([0.2, 0.1], 0.3)\"\ndomain = \"a - b\"\n";
  const double r2 = pi / 2 - (pi * 0.09 * 0.045 + pi * 0.09 * 0.05);  // of x^2 + y^2
  // Chords shorter than 1/256 of the box are missed: where lines touch a circle about 1e-7 is lost.
  EXPECT_NEAR(integral(annulus, "inside domain", "1", 2, 24), pi * 0.91, 2e-6);
  EXPECT_NEAR(integral(annulus, "inside domain", "x^2 + y^2", 2, 24), r2, 2e-6);
  EXPECT_NEAR(integral(annulus, "boundary of b", "x", 2, 24), 2 * pi * 0.3 * 0.2, 1e-10);
  EXPECT_NEAR(integral(annulus, "boundary", "1", 2, 24), 2 * pi * 1.3, 1e-10);
  EXPECT_NEAR(integral(annulus, "boundary of a and x > 0", "normal_x", 2, 24), 2, 1e-9);
  EXPECT_NEAR(integral("domain = \"rectangle([0, 0], [2, 1])\"\n", "inside domain", "exp(x)*y", 2, 16),
              (std::exp(2) - 1) / 2, 1e-12);
  EXPECT_NEAR(integral("domain = \"rectangle([0, 0], [2, 1])\"\n", "x = 1", "y^3", 2, 8), 0.25, 1e-13);
  EXPECT_NEAR(integral("domain = \"ball([0, 0, 0], 1)\"\n", "inside domain", "z^2", 3, 16), 4 * pi / 15,
              1e-4);
  EXPECT_NEAR(integral("domain = \"ball([0, 0, 0], 1)\"\n", "boundary", "normal_z*z", 3, 16), 4 * pi / 3,
              1e-6);
}

TEST(LinkedPlaces, AreRefusedInWordsThatLead) {
  const auto message = [](const std::string& from, const std::string& to) -> std::string {
    std::string text = kLinked;
    try {
      read_problem_text(text.replace(text.find(from), from.size(), to), "linked.toml");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {"linked = \"x = 1\"", "linked = \"y = 1\"", "hold the same coordinates fixed"},
      {"linked = \"x = 1\"", "linked = \"x > 0\"", "hold the same coordinates fixed"},
      {"equals = \"1 + t\"", "equals = \"u\"", "the value of an integral may depend on coordinates"},
      {"nodes = 3", "nodes = 3000", "nodes must lie between 2 and 200"},
      {"integrand = \"u^2\"", "residual = \"u^2\"", "integrand"},
      {"where = \"inside domain\"", "where = [\"x = 0\", \"x = 1\"]", "where"},
      {"where = \"inside domain\"", "where = \"x = 0 or x = 1\"", "over one place"},
  };
  for (const auto& [from, to, fragment] : cases) {
    const std::string text = message(from, to);
    EXPECT_NE(text.find(fragment), std::string::npos) << text << "\nexpected: " << fragment;
  }
}

}  // namespace
}  // namespace lather::pde
