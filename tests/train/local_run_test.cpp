#include "lather/train/local_run.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "temporary_folder.hpp"

namespace lather::train {
namespace {

constexpr const char* kProblem = R"toml(
name = "bump"
coordinates = ["x", "y"]
fields = ["u"]
[domain]
x = [0, 1]
y = [0, 1]
[[equation]]
name = "poisson"
residual = "u_xx + u_yy + 2*pi^2*sin(pi*x)*sin(pi*y)"
[[condition]]
name = "walls"
where = "boundary"
residual = "u"
[reference]
u = "sin(pi*x)*sin(pi*y)"
)toml";

ConfigRequest request() { return {.problem = "bump.toml", .text = kProblem, .threads = 1}; }

TEST(LocalRun, IsReadBackAsItWasSolved) {
  const test::TemporaryFolder folder;
  LocalRun run(resolve_local(request()));
  const Summary summary = run.solve(folder / "run", {});
  EXPECT_LT(summary.best.l2.at("u"), 1e-10);
  EXPECT_LT(summary.best.h1.at("u"), 1e-9);
  EXPECT_LT(summary.best.residuals.at("poisson"), 1e-6);
  ASSERT_TRUE(LocalRun::is_in(folder / "run"));

  std::vector<std::string> messages;
  const auto fields = read_fields(folder / "run", true, messages);
  const pde::Points points{{{0.1, 0.5, 1}, {0.7, 0.5, 0}}, {}};
  const std::vector<FieldDerivative> quantities{parse_derivative(run.problem(), "u"),
                                                parse_derivative(run.problem(), "u_xy")};
  const auto values = run.evaluate(quantities, points);
  EXPECT_EQ(fields->evaluate(quantities, points), values);
  EXPECT_NEAR(values[0][1], 1, 1e-10);
  EXPECT_EQ(LocalRun::read(folder / "run").summarize().message, summary.message);
}

TEST(LocalRun, TakesItsOwnOptionsAndThoseOfTheProblem) {
  auto asked = request();
  asked.settings = {{"optimizer.degree", "6"}, {"domain.x", "[0, 2]"}};
  asked.seconds = 7;
  const auto config = resolve_local(asked);
  EXPECT_EQ(config.options.degree, 6);
  EXPECT_EQ(config.options.seconds, 7);
  EXPECT_EQ(LocalRun(config).problem().domain[0].high, 2);
}

TEST(LocalRun, RefusesWhatBelongsToNetworks) {
  const auto message = [](const std::function<void(ConfigRequest&)>& change) -> std::string {
    auto asked = request();
    change(asked);
    try {
      resolve_local(asked);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message([](auto& r) { r.steps = 5; }).find("--steps"), std::string::npos);
  EXPECT_NE(message([](auto& r) { r.seed = 5; }).find("--seed"), std::string::npos);
  EXPECT_NE(message([](auto& r) {
              r.settings = {{"network.width", "5"}};
            }).find("network.width"),
            std::string::npos);
  EXPECT_NE(message([](auto& r) {
              r.settings = {{"optimizer.degre", "5"}};
            }).find("'degree'"),
            std::string::npos);
}

TEST(LocalRun, ADamagedSolutionIsAnError) {
  const test::TemporaryFolder folder;
  LocalRun(resolve_local(request())).solve(folder / "run", {});
  const auto file = folder / "run" / "solution.local";
  std::string bytes = read_file(file);
  bytes[bytes.size() / 2] ^= 16;
  std::ofstream(file, std::ios::binary) << bytes;
  EXPECT_THROW(LocalRun::read(folder / "run"), Error);
}

}  // namespace
}  // namespace lather::train
