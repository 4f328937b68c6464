#include "lather/local/solver.hpp"

#include <gtest/gtest.h>

#include "lather/core/error.hpp"
#include "local/local_problems.hpp"

namespace lather::local {
namespace {

Result solved(const pde::Problem& problem, Options options = {}) { return solve(problem, options); }

double error_of_solution(const std::string& text, Options options = {}) {
  const auto problem = problem_of(text);
  return error_of(problem, *solved(problem, options).solution);
}

constexpr double kRounding = 1e-11;

TEST(LocalSolver, ReproducesAPolynomialOnALine) {
  EXPECT_LT(error_of_solution(text_of(1, "x^5 - 2*x", "u_xx + x*u_x - 20*x^3 - x*(5*x^4 - 2)")), kRounding);
}

TEST(LocalSolver, ReproducesAPolynomialInASquare) {
  EXPECT_LT(error_of_solution(text_of(2, "x^3*y + y^2", "u_xx + u_yy - 6*x*y - 2")), kRounding);
}

TEST(LocalSolver, ReproducesAPolynomialInACube) {
  EXPECT_LT(error_of_solution(text_of(3, "x^2*y*z + z^3", "u_xx + u_yy + u_zz - 2*y*z - 6*z")), kRounding);
}

TEST(LocalSolver, ReproducesAPolynomialAroundAHole) {
  const std::string shapes =
      "[shape]\nsquare = \"rectangle([0, 0], [1, 1])\"\nhole = \"disk([0.4, 0.5], 0.2)\"\n"
      "domain = \"square - hole\"\n";
  EXPECT_LT(error_of_solution(text_of(2, "x^3*y + y^2", "u_xx + u_yy - 6*x*y - 2", shapes)), 1e-10);
}

TEST(LocalSolver, ReproducesAPolynomialAroundABallWithItsNormalDerivativeGiven) {
  const std::string shapes =
      "[shape]\ncube = \"box([0, 0, 0], [1, 1, 1])\"\nvoid = \"ball([0.5, 0.5, 0.5], 0.3)\"\n"
      "domain = \"cube - void\"\n";
  auto text = text_of(3, "x^2 + y*z", "u_xx + u_yy + u_zz - 2", shapes, "boundary of cube");
  text +=
      "[[condition]]\nname = \"flux\"\nwhere = \"boundary of void\"\n"
      "residual = \"normal_x*(u_x - 2*x) + normal_y*(u_y - z) + normal_z*(u_z - y)\"\n";
  EXPECT_LT(error_of_solution(text), 1e-9);
}

TEST(LocalSolver, AFluxDoesNotJumpWhereItsCoefficientDoes) {
  const auto text = text_of(2, "if(x < 1/3, 3000*x, 3*x + 999) + 3*y", "D(k*u_x, x) + D(k*u_y, y)");
  const auto at = text.find("[let]\n") + 6;
  EXPECT_LT(error_of_solution(std::string(text).insert(at, "k = \"if(x < 1/3, 1, 1000)\"\n")), kRounding);
}

TEST(LocalSolver, ACoefficientBeforeTheDerivativesMayJumpAlone) {
  const auto text =
      text_of(1, "if(x < 0.5, x^2, 3*x^2 - 2*x + 0.5)", "if(x < 0.5, 1, 2)*(u_xx - if(x < 0.5, 2, 6))");
  EXPECT_LT(error_of_solution(text), kRounding);
}

TEST(LocalSolver, APeriodicCoordinateHasNoEnds) {
  const auto problem = problem_of(
      "name = \"test\"\ncoordinates = [\"x\", \"t\"]\nfields = [\"u\"]\nperiodic = [\"x\"]\n[domain]\n"
      "x = [-1, 1]\nt = [0, 0.5]\n[[equation]]\nname = \"transport\"\nresidual = \"u_t + u_x\"\n"
      "[[condition]]\nname = \"start\"\nwhere = \"t = 0\"\nresidual = \"u - cos(pi*x)\"\n"
      "[reference]\nu = \"cos(pi*(x - t))\"\n");
  EXPECT_LT(error_of(problem, *solved(problem).solution), 1e-8);
}

TEST(LocalSolver, AWaveInSpaceAndTimeIsEstimatedRightly) {
  const auto problem = problem_of(
      "name = \"test\"\ncoordinates = [\"x\", \"t\"]\nfields = [\"u\"]\n[domain]\nx = [0, 1]\nt = [0, 0.5]\n"
      "[[equation]]\nname = \"wave\"\nresidual = \"u_tt - 4*u_xx\"\n[[condition]]\nname = \"start\"\n"
      "where = \"t = 0\"\nresidual = [\"u - sin(pi*x) - 0.5*sin(3*pi*x)\", \"u_t\"]\n[[condition]]\n"
      "name = \"ends\"\nwhere = [\"x = 0\", \"x = 1\"]\nresidual = \"u\"\n"
      "[reference]\nu = \"sin(pi*x)*cos(2*pi*t) + 0.5*sin(3*pi*x)*cos(6*pi*t)\"\n");
  Options options;
  options.degree = 12;
  const auto result = solved(problem, options);
  EXPECT_EQ(result.verdict, Verdict::solved) << result.message;
  const double error = error_of(problem, *result.solution);
  EXPECT_LT(error, 1e-4);
  EXPECT_LT(error, 10 * result.worst_estimate());
}

TEST(LocalSolver, FindsAThinLayer) {
  const auto problem = problem_of(
      text_of(1, "x - (exp((x - 1)/1e-3) - exp(-1/1e-3))/(1 - exp(-1/1e-3))", "-1e-3*u_xx + u_x - 1"));
  const auto result = solved(problem);
  EXPECT_EQ(result.verdict, Verdict::solved) << result.message;
  EXPECT_LT(error_of(problem, *result.solution), 1e-8);
}

TEST(LocalSolver, SolvesWhatIsNotLinearByNewtonsMethod) {
  const auto problem = problem_of(text_of(2, "sin(2*x)*y", "u_xx + u_yy + 3*u^2 - (3*truth^2 - 4*truth)"));
  const auto result = solved(problem);
  EXPECT_EQ(result.verdict, Verdict::solved) << result.message;
  EXPECT_LT(error_of(problem, *result.solution), 1e-9);
}

// The rod of a textbook, and the same rod in units of its own.
TEST(LocalSolver, UnitsCostNothing) {
  const auto rod = [](const std::string& length, const std::string& duration, const std::string& diffusion,
                      const std::string& hot) {
    return problem_of("name = \"test\"\ncoordinates = [\"x\", \"t\"]\nfields = [\"T\"]\n[domain]\nx = [0, " +
                      length + "]\nt = [0, " + duration +
                      "]\n[[equation]]\nname = \"heat\"\nresidual = \"T_t - " + diffusion +
                      "*T_xx\"\n[[condition]]\nname = \"start\"\nwhere = \"t = 0\"\n"
                      "residual = \"T - " +
                      hot + "*sin(pi*x/" + length +
                      ")\"\n[[condition]]\nname = \"ends\"\n"
                      "where = [\"x = 0\", \"x = " +
                      length + "\"]\nresidual = \"T\"\n[reference]\nT = \"" + hot + "*sin(pi*x/" + length +
                      ")*exp(-" + diffusion + "*t*(pi/" + length + ")^2)\"\n");
  };
  const auto plain = rod("1", "1", "0.25", "1"), si = rod("0.0625", "1024", "9.5367431640625e-7", "512");
  const auto a = solved(plain), b = solved(si);
  EXPECT_LT(error_of(plain, *a.solution), 1e-9);
  EXPECT_LT(error_of(si, *b.solution), 1e-9);
  ASSERT_EQ(a.rounds.size(), b.rounds.size());
  for (std::size_t i = 0; i < a.rounds.size(); ++i) EXPECT_EQ(a.rounds[i].patches, b.rounds[i].patches);
}

constexpr const char* kPlate = R"toml(
name = "plate"
coordinates = ["x", "y"]
fields = ["u", "v"]
[parameters]
nu = 0.3
[shape]
plate = "rectangle([0, 0], [4, 4])"
hole = "disk([0, 0], 1)"
domain = "plate - hole"
[let]
sxx = "(u_x + nu*v_y)/(1 - nu^2)"
syy = "(v_y + nu*u_x)/(1 - nu^2)"
sxy = "(u_y + v_x)/(2*(1 + nu))"
th = "atan2(y, x)"
r = "sqrt(x^2 + y^2)"
kap = "(3 - nu)/(1 + nu)"
uu = "(1 + nu)/4*(r*(kap + 1)*cos(th) + 2/r*((1 + kap)*cos(th) + cos(3*th)) - 2/r^3*cos(3*th))"
vv = "(1 + nu)/4*(r*(kap - 3)*sin(th) + 2/r*((1 - kap)*sin(th) + sin(3*th)) - 2/r^3*sin(3*th))"
[[equation]]
name = "balance"
residual = ["D(sxx, x) + D(sxy, y)", "D(sxy, x) + D(syy, y)"]
[[condition]]
name = "hole"
where = "boundary of hole"
residual = ["sxx*normal_x + sxy*normal_y", "sxy*normal_x + syy*normal_y"]
[[condition]]
name = "left"
where = "x = 0"
residual = ["u", "sxy"]
[[condition]]
name = "bottom"
where = "y = 0"
residual = ["v", "sxy"]
[[condition]]
name = "far"
where = ["x = 4", "y = 4"]
residual = ["u - uu", "v - vv"]
[reference]
u = "uu"
v = "vv"
)toml";

// Heat conduction with its flux as a second field, in units in which the two differ by nine orders.
TEST(LocalSolver, UnitsOfSeveralFieldsCostNothing) {
  const auto wall = [](const std::string& conductivity, const std::string& length) {
    return problem_of("name = \"test\"\ncoordinates = [\"x\"]\nfields = [\"T\", \"q\"]\n[domain]\nx = [0, " +
                      length + "]\n[let]\ns = \"pi*x/" + length +
                      "\"\n[[equation]]\nname = \"flux\"\nresidual = \"q + " + conductivity +
                      "*T_x\"\n[[equation]]\nname = \"balance\"\nresidual = \"q_x - " + conductivity +
                      "*(pi/" + length +
                      ")^2*sin(s)\"\n[[condition]]\nname = \"ends\"\nwhere = [\"x = 0\", \"x = " + length +
                      "\"]\nresidual = \"T\"\n[reference]\nT = \"sin(s)\"\nq = \"-" + conductivity + "*pi/" +
                      length + "*cos(s)\"\n");
  };
  const auto plain = wall("1", "1"), other = wall("4.096e6", "0.00390625");
  Options options;
  options.degree = 8;
  const auto a = solved(plain, options), b = solved(other, options);
  ASSERT_EQ(a.rounds.size(), b.rounds.size());
  for (std::size_t i = 0; i < a.rounds.size(); ++i)
    EXPECT_NEAR(a.rounds[i].left_over / b.rounds[i].left_over, 1, 1e-3) << i;
  for (std::size_t field : {0, 1}) EXPECT_LT(error_of(other, *b.solution, field), 1e-6);
}

TEST(LocalSolver, SolvesAPlateWithAHole) {
  const auto problem = problem_of(kPlate);
  const auto result = solved(problem);
  EXPECT_EQ(result.verdict, Verdict::solved) << result.message;
  EXPECT_LT(error_of(problem, *result.solution, 0), 1e-5);
  EXPECT_LT(error_of(problem, *result.solution, 1), 1e-5);
}

TEST(LocalSolver, GivesTheSameBitsOnAnyNumberOfThreads) {
  const auto problem = problem_of(text_of(2, "sin(3*x)*y", "u_xx + u_yy + 9*truth"));
  Options two;
  two.threads = 2;
  const auto a = solved(problem), b = solved(problem, two);
  const pde::Points points{{{0.3, 0.7}, {0.2, 0.9}}, {}};
  EXPECT_EQ(a.solution->evaluate({}, points), b.solution->evaluate({}, points));
}

TEST(LocalSolver, SaysWhenItsTimeDoesNotSuffice) {
  const auto problem = problem_of(text_of(2, "sin(40*x + 30*y)", "u_xx + u_yy + 2500*u"));
  Options options;
  options.rounds = 1;
  const auto result = solved(problem, options);
  EXPECT_EQ(result.verdict, Verdict::not_solved) << result.message;
}

TEST(LocalSolver, IsInterrupted) {
  const auto problem = problem_of(text_of(2, "sin(40*x + 30*y)", "u_xx + u_yy + 2500*u"));
  Watcher watcher;
  watcher.interrupted = [] { return true; };
  const auto result = solve(problem, {}, watcher);
  EXPECT_EQ(result.rounds.size(), 1u);
  EXPECT_EQ(result.stopped, "interrupted");
}

TEST(LocalSolver, RefusesByNameWhatItDoesNotRepresent) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      solved(problem_of(text));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(text_of(1, "x", "u_xx + c", "[unknown]\nc = 1\n")).find("unknown numbers such as 'c'"),
            std::string::npos);
  EXPECT_NE(
      message("name = \"test\"\ncoordinates = [\"a\", \"b\", \"c\", \"d\"]\nfields = [\"u\"]\n[domain]\n"
              "a = [0, 1]\nb = [0, 1]\nc = [0, 1]\nd = [0, 1]\n[[equation]]\nname = \"e\"\n"
              "residual = \"u_aa + u_bb + u_cc + u_dd\"\n")
          .find("up to 3 coordinates, and this one has 4"),
      std::string::npos);
}

}  // namespace
}  // namespace lather::local
