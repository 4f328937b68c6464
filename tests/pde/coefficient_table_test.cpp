// Tabulated coefficients: the interpolation, how the engine uses them, and how they are read.
#include "lather/pde/coefficient_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/file/problem_text.hpp"
#include "lather/pde/objective.hpp"
#include "paths.hpp"
#include "pde/engine_inputs.hpp"
#include "temporary_folder.hpp"

namespace lather::pde {
namespace {

namespace fs = std::filesystem;
using test::index_of;

const std::vector<double> kUneven{-1, -0.7, -0.1, 0.2, 0.9, 1};

CoefficientTable tabulated(const std::vector<double>& x, const std::vector<double>& y,
                           const std::function<double(double, double)>& f) {
  std::vector<double> values;
  for (const double a : x)
    for (const double b : y) values.push_back(f(a, b));
  return {"kappa", {{0, "x", x}, {1, "y", y}}, values};
}

double at(const CoefficientTable& table, double x, double y, int order_x = 0, int order_y = 0) {
  return table.evaluate({{{x}, {y}}, {}}, index_of({order_x, order_y, 0}))[0];
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CoefficientTable, IsExactForCubicsWithAllItsDerivatives) {
  const auto table = tabulated(kUneven, {0, 0.5, 2}, [](double x, double y) {
    return (x * x * x - 2 * x) * (y * y + 3);  // three values give a parabola
  });
  for (const double x : {-1.0, -0.83, 0.2, 0.55, 1.0})
    for (const double y : {0.0, 0.31, 0.5, 1.7, 2.0}) {
      const double f[] = {x * x * x - 2 * x, 3 * x * x - 2, 6 * x}, g[] = {y * y + 3, 2 * y, 2};
      for (int i = 0; i < 3; ++i)
        // Every derivative divides rounding by a spacing; the smallest is 0.1.
        for (int j = 0; j < 3; ++j)
          EXPECT_NEAR(at(table, x, y, i, j), f[i] * g[j], 1e-13 * std::pow(10, i + j)) << i << j;
    }
}

TEST(CoefficientTable, GoesThroughItsValuesWithContinuousSecondDerivatives) {
  const Random random(3, 4);
  std::uint64_t n = 0;
  const auto table = tabulated(kUneven, {0, 1, 2, 3}, [&](double, double) { return random.normal(n++); });
  n = 0;
  for (const double x : kUneven)
    for (const double y : {0.0, 1.0, 2.0, 3.0}) EXPECT_NEAR(at(table, x, y), random.normal(n++), 1e-13);
  constexpr double kBeside = 1e-9;
  for (const double knot : {-0.7, -0.1, 0.2, 0.9})
    for (int order = 0; order <= 2; ++order) {
      const double left = at(table, knot - kBeside, 0.4, order, 1),
                   right = at(table, knot + kBeside, 0.4, order, 1);
      EXPECT_NEAR(left, right, 1e-5 * (1 + std::abs(left))) << knot << " order " << order;
    }
}

TEST(CoefficientTable, ConvergesWithTheFourthPowerOfTheSpacing) {
  const auto error = [](int n) {
    std::vector<double> x;
    for (int i = 0; i <= n; ++i) x.push_back(-1 + 2.0 * i / n);
    const auto table = tabulated(x, x, [](double a, double b) { return std::sin(3 * a + b); });
    double worst = 0;
    for (double a = -0.99; a < 1; a += 0.00731)
      worst = std::max(worst, std::abs(at(table, a, 0.37) - std::sin(3 * a + 0.37)));
    return worst;
  };
  EXPECT_GT(error(40) / error(80), 12);  // tends to 16 with the spacing; third order would give 8
}

TEST(CoefficientTable, IsNotContinuedBeyondItsGridAndRefusesWhatIsNoGrid) {
  const auto table = tabulated(kUneven, {0, 1}, [](double x, double) { return x; });
  EXPECT_NE(message_of([&] { at(table, 0, 1.01); }).find("knows y in [0, 1] and was asked at y = 1.01"),
            std::string::npos);
  const auto make = [](std::vector<double> x, std::vector<double> values) {
    return message_of([&] { CoefficientTable("k", {{0, "x", std::move(x)}}, values); });
  };
  EXPECT_NE(make({0}, {1}).find("at least two values of 'x'"), std::string::npos);
  EXPECT_NE(make({0, 0}, {1, 2}).find("must be finite and increase: number 2"), std::string::npos);
  EXPECT_NE(make({0, 1}, {1, NAN}).find("value 2 of the table 'k' is nan"), std::string::npos);
  EXPECT_NE(make({0, 1}, {1}).find("has 1 values, its grid 2 nodes"), std::string::npos);
}

// A problem that uses a coefficient in the ansatz, under derivatives, in a condition, a weight and an
// integral; once from a table, once from its formula.
class TableProblem : public testing::Test {
 protected:
  TableProblem() {
    std::string csv = "kappa,y,extra,x\n";
    for (const double y : {2.0, 0.0, 1.0})  // in any order
      for (const double x : kUneven) csv += fmt::format("{},{},7,{}\n", kappa(x, y), y, x);
    write_file_atomically(folder_ / "kappa.csv", csv);
  }
  static double kappa(double x, double y) { return 2 + 0.3 * x * x * x - 0.2 * x * y * y; }

  static std::string text(const std::string& definition, const std::string& more = "") {
    return R"T(name = "tables"
coordinates = ["x", "y"]
fields = ["u"]
[domain]
x = [-1, 1]
y = [0, 2]
)T" + definition +
           R"T(
[ansatz]
outputs = ["N"]
u = "kappa*N + x"
[[equation]]
name = "diffusion"
residual = "D(kappa*u_x, x) + D(kappa*u_y, y)"
weight = "kappa"
[[condition]]
name = "flux"
where = "x = 1"
residual = "kappa*u_x - kappa_xy*y"
[[integral]]
name = "mass"
where = "inside domain"
integrand = "kappa*u"
equals = 1
nodes = 3
)T" + more;
  }
  Problem read(const std::string& definition, const std::string& more = "") const {
    return read_problem_text(text(definition, more), (folder_ / "problem.toml").string());
  }
  std::string error_of(const std::string& definition, const std::string& more = "") const {
    return message_of([&] { read(definition, more); });
  }
  void expect_error(const std::string& definition, const std::string& message,
                    const std::string& more = "") const {
    const std::string got = error_of(definition, more);
    EXPECT_NE(got.find(message), std::string::npos) << got;
  }

  ::lather::test::TemporaryFolder folder_;
};

TEST_F(TableProblem, HasTheLossAndTheDerivativesOfItsFormula) {
  const Problem problems[] = {read("[let]\nkappa = \"2 + 0.3*x^3 - 0.2*x*y^2\""),
                              read("[table]\nkappa = \"kappa.csv\"")};
  std::vector<std::vector<double>> gradients, residuals, fields, rows;
  for (const Problem& problem : problems) {
    PinnObjective objective(problem, {.threads = 1});
    const auto x = objective.initialize(4);
    for (std::size_t s = 0; s < problem.point_sets.size(); ++s) {
      Points points = test::random_points(2, 40, 7 + s);
      for (double& y : points.coordinates[1]) y += 1;
      if (problem.point_sets[s].kind == PointSet::Kind::data) {
        points = {{{}, {}}, {{}}};
        for (const auto& row : problem.point_sets[s].rows) {
          for (int k = 0; k < 2; ++k) points.coordinates[k].push_back(row[k]);
          points.columns[0].push_back(row[2]);
        }
      }
      objective.set_points(static_cast<int>(s), points);
      objective.set_points(static_cast<int>(s), objective.points(static_cast<int>(s)));  // as returned
    }
    gradients.emplace_back(x.size());
    gradients.back().push_back(objective.value_and_gradient(x, gradients.back()));
    residuals.emplace_back(objective.residual_count());
    objective.residuals(x, residuals.back());
    rows.emplace_back(objective.residual_count() * x.size());
    objective.jacobian_rows(x, 0, objective.residual_count(), rows.back().data());
    const symbolic::Expr u = problem.fields[0].value;
    const std::vector<symbolic::Expr> list{u, problem.symbols->total_derivative(u, 1)};
    const auto values = objective.evaluate(x, list, {{{0.3, -0.4}, {1.9, 0}}, {}});
    fields.push_back({values[0][0], values[0][1], values[1][0], values[1][1]});
  }
  for (const auto* both : {&gradients, &residuals, &fields, &rows}) {
    ASSERT_EQ((*both)[0].size(), (*both)[1].size());
    double scale = 0;
    for (const double v : (*both)[0]) scale = std::max(scale, std::abs(v));
    for (std::size_t i = 0; i < (*both)[0].size(); ++i)
      ASSERT_NEAR((*both)[0][i], (*both)[1][i], 1e-11 * scale) << i;
  }
  EXPECT_NE(describe(problems[1]).find("kappa over x in [-1, 1] (6), y in [0, 2] (3), from kappa.csv"),
            std::string::npos);
}

TEST_F(TableProblem, IsReadFromNumPyAndFromTheCopyOfARun) {
  const Problem problem = read_problem_text(
      "name = \"n\"\ncoordinates = [\"x\", \"y\"]\nfields = [\"u\"]\n[domain]\nx = [0, 1]\ny = [0, 3]\n"
      "[table.k]\nfile = \"numpy.npz\"\ncolumn = \"kappa\"\ncoordinates = [\"x\", \"y\"]\n"
      "[[equation]]\nname = \"e\"\nresidual = \"u - k\"\n",
      ::lather::test::source_path("tests/pde/tables/problem.toml"));
  for (const double x : {0.0, 0.3, 1.0})
    for (const double y : {0.0, 1.4, 3.0})
      EXPECT_NEAR(problem.tables[0]->evaluate({{{x}, {y}}, {}}, {})[0], 2 + x * x * x * (2 * y + 1), 1e-13);
  fs::create_directories(folder_ / "kept");
  fs::copy_file(folder_ / "kappa.csv", folder_ / "kept" / "kappa.table.csv",
                fs::copy_options::overwrite_existing);
  const TomlValue root = parse_toml(text("[table]\nkappa = \"gone/kappa.csv\""), "problem.toml");
  EXPECT_EQ(read_problem(root, "nowhere", folder_ / "kept").tables[0]->axes().size(), 2u);
}

TEST_F(TableProblem, RefusesFilesThatAreNoGridAndPlacesWhereTablesCannotStand) {
  const std::string table = "[table]\nkappa = \"kappa.csv\"";
  expect_error("[table]\nkappa = \"gone.csv\"", "cannot open");
  expect_error("[table]\nkappa = \"kappa.txt\"", "a table is a .csv or .npz file");
  expect_error("[table.kappa]\nfile = \"kappa.csv\"\ncolumn = \"kapa\"", "did you mean 'kappa'?");
  expect_error("[table.kappa]\nfile = \"kappa.csv\"\ncoordinates = [\"z\"]", "unknown coordinate 'z'");
  expect_error("[table.kappa]\nfile = \"kappa.csv\"\nfrom = 1", "unknown key of [table.kappa] 'from'");
  expect_error("[table.kappa]\nfile = \"kappa.csv\"\ncoordinates = [\"x\"]",
               "the rows of the table 'kappa' do not fill a grid: 18 rows for 6 different values of x");
  expect_error(table, "no derivative of order 3 in 'x'",
               "[[condition]]\nname = \"c\"\nwhere = \"x = 0\"\nresidual = \"u + kappa_xxx\"\n");
  expect_error(table, "not on the table 'kappa'", "[network]\ninputs = [\"kappa\"]\n");
  expect_error(table, "not on the table 'kappa'", "[reference]\nu = \"kappa\"\n");
  expect_error(table, "may depend on coordinates",
               "[[condition]]\nname = \"c\"\nwhere = \"kappa > 1\"\nresidual = \"u\"\n");
  write_file_atomically(folder_ / "short.csv", "x,y,kappa\n-1,0,1\n1,0,1\n-1,1.9,1\n1,1.9,1\n");
  expect_error("[table]\nkappa = \"short.csv\"",
               "the table 'kappa' knows y in [0, 1.9], the domain is [0, 2]: a table is not continued");
  fs::copy_file(::lather::test::source_path("tests/pde/tables/compressed.npz"), folder_ / "compressed.npz",
                fs::copy_options::overwrite_existing);
  expect_error("[table]\nkappa = \"compressed.npz\"", "write it with numpy.savez, not savez_compressed");
}

}  // namespace
}  // namespace lather::pde
