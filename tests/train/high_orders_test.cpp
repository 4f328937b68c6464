// From a problem file with derivatives of order 6 to its solution and their values.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "lather/core/error.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/train/trainer.hpp"
#include "temporary_folder.hpp"

namespace lather::train {
namespace {

// u = sin 2x + exp(-x): three conditions on either end.
constexpr const char* kSixthOrder = R"toml(
name = "sixth-order"
coordinates = ["x"]
fields = ["u"]
[domain]
x = [0, 1]
[let]
exact = "sin(2*x) + exp(-x)"
[[equation]]
name = "beam"
residual = "u_xxxxxx + 64*sin(2*x) - exp(-x)"
[[condition]]
name = "ends"
where = ["x = 0", "x = 1"]
residual = ["u - exact", "u_x - exact_x", "u_xx - exact_xx"]
weight = 1e6
[network]
width = 40
depth = 1
activation = "sin"
[training]
points = {interior = 200, ends = 2}
)toml";

TEST(HighOrders, AnEquationOfOrderSixIsSolved) {
  const lather::test::TemporaryFolder folder;
  std::ofstream(folder / "sixth.toml") << kSixthOrder;
  ConfigRequest request;
  request.problem = (folder / "sixth.toml").string();
  request.optimizer = "linear";
  request.threads = 1;
  Trainer trainer(resolve(request));
  trainer.advance();

  const Solution solution = trainer.solution();
  const std::vector<FieldDerivative> quantities{parse_derivative(solution.problem(), "u"),
                                                parse_derivative(solution.problem(), "u_xxxxx"),
                                                parse_derivative(solution.problem(), "u_xxxxxx")};
  pde::Points points;
  points.coordinates.emplace_back();
  for (int k = 0; k <= 20; ++k) points.coordinates[0].push_back(k / 20.0);
  const auto values = solution.evaluate(quantities, points);
  for (int k = 0; k <= 20; ++k) {
    const double x = k / 20.0;
    EXPECT_NEAR(values[0][k], std::sin(2 * x) + std::exp(-x), 1e-8) << x;
    EXPECT_NEAR(values[1][k], 32 * std::cos(2 * x) - std::exp(-x), 1e-5) << x;
    EXPECT_NEAR(values[2][k], -64 * std::sin(2 * x) + std::exp(-x), 1e-5) << x;
  }
}

TEST(HighOrders, BeyondSixAreRefusedByName) {
  const lather::test::TemporaryFolder folder;
  std::ofstream(folder / "sixth.toml") << kSixthOrder;
  const auto problem = pde::read_problem_file(folder / "sixth.toml");
  try {
    parse_derivative(problem, "u_xxxxxxx");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'u_xxxxxxx' has order 7; derivatives up to order 6"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace lather::train
