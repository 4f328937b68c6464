// Sizes are part of the contract: whatever does not fit is refused before anything is read or written.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "lather/core/error.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/optim/foreign_parameters.hpp"
#include "lather/optim/wrappers/composed.hpp"
#include "residual_problems.hpp"

namespace lather::optim {
namespace {

using Json = nlohmann::json;
using residual_problems::ResidualFunction;

// r = x, repeated if there are more residuals than parameters.
ResidualFunction identity(ParameterLayout layout, std::size_t residuals) {
  const std::size_t n = layout.size();
  return {std::move(layout), residuals, [n](std::span<const double> x, std::span<double> r, double* J) {
            for (std::size_t k = 0; k < r.size(); ++k) {
              r[k] = x[k % n];
              J[k * n + k % n] = 1;
            }
          }};
}

// For all methods, some of which need an output layer.
ParameterLayout column_of(std::size_t n) {
  ParameterLayout layout;
  layout.add_matrix("x", n, 1, Role::output);
  return layout;
}

std::string both_sizes(std::size_t optimizer, std::size_t objective) {
  return "made for " + std::to_string(optimizer) + " parameters, the objective has " +
         std::to_string(objective);
}

// What is thrown, in words.
template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<Json> every_optimizer() {
  std::vector<Json> all;
  for (const auto& entry : catalogue()) {
    all.push_back({{"name", entry.name}});
    all.push_back({{"name", entry.name}, {"clip", {{"limit", 1}}}});
    all.push_back({{"name", entry.name}, {"schedule_free", Json::object()}});
    all.push_back({{"name", entry.name}, {"schedule", {{"decay", "cosine"}, {"total_steps", 9}}}});
    all.push_back({{"name", entry.name}, {"then", {{"name", "lbfgs"}, {"at_step", 5}}}});
  }
  return all;
}

TEST(Sizes, NoOptimizerStepsOnAnObjectiveOfAnotherSize) {
  for (const auto& settings : every_optimizer()) {
    const auto optimizer = make_composed(column_of(3), optimizer_spec(settings));
    for (const std::size_t n : {std::size_t{2}, std::size_t{40}}) {
      auto objective = identity(column_of(n), 2 * n);
      std::vector<double> x(n, 1), factors{1};
      std::int64_t done = 0;
      const auto words = both_sizes(3, n);
      EXPECT_NE(refusal([&] { optimizer->step(objective, x); }).find(words), std::string::npos) << settings;
      EXPECT_NE(refusal([&] { optimizer->steps(objective, x, factors, done); }).find(words),
                std::string::npos);
      EXPECT_NE(refusal([&] { optimizer->renew_secant(objective, x); }).find(words), std::string::npos);
      EXPECT_EQ(x, std::vector<double>(n, 1)) << settings;
    }
    auto objective = identity(column_of(3), 6);
    std::vector<double> too_few(2, 1);
    EXPECT_NE(refusal([&] { optimizer->step(objective, too_few); }), "") << settings;
  }
}

TEST(Sizes, MethodsForMatricesNeedTheMatricesTheyWereMadeFor) {
  ParameterLayout wide, tall;
  wide.add_matrix("W", 2, 3, Role::output);
  tall.add_matrix("V", 3, 2);
  auto objective = identity(tall, 6);
  for (const auto& entry : catalogue()) {
    const auto optimizer = entry.make(wide);
    std::vector<double> x(6, 1);
    const auto words = refusal([&] { optimizer->step(objective, x); });
    const bool by_blocks = entry.family == Family::kronecker || entry.name == "muon" ||
                           entry.name == "kfac" || entry.name == "kfac-star" || entry.name == "linear";
    EXPECT_EQ(words.find("block 1 is 'V' (3 x 2), not 'W' (2 x 3)") != std::string::npos, by_blocks)
        << entry.name << ": " << words;
  }
}

TEST(Sizes, GivenGradientsMustBeAsLargeAsTheirBlocks) {
  const auto layout = column_of(3);
  const auto adam = find_optimizer("adam").make(layout);
  const auto foreign = make_foreign_parameters(layout, Device::cpu);
  std::vector<double> x(3), g(3, 1);
  const auto step = [&](std::size_t size) {
    const ForeignBlock block{x.data(), g.data(), ForeignBlock::Type::float64, size};
    foreign->step(*adam, std::span(&block, 1), 0, nullptr);
  };
  EXPECT_NE(refusal([&] { step(1); }).find("has 1 elements, block 'x' of the optimizer has 3"),
            std::string::npos);
  EXPECT_NE(refusal([&] { foreign->step(*adam, {}, 0, nullptr); }), "");
  EXPECT_EQ(x, std::vector<double>(3));
  step(3);
  EXPECT_LT(x[2], 0);
}

TEST(Sizes, ArraysOfResidualsAndProductsMustFit) {
  auto f = identity(column_of(3), 6);
  std::vector<double> x(3), v(3), r(6), one(1), xs(7);
  EXPECT_NE(refusal([&] { f.jacobian_times(x, one, r); }), "");
  EXPECT_NE(refusal([&] { f.jacobian_times(x, v, one); }), "");
  EXPECT_NE(refusal([&] { f.transposed_jacobian_times(x, one, v); }), "");
  EXPECT_NE(refusal([&] { f.residuals_at(xs, r); }), "");
  f.transposed_jacobian_times(x, r, v);
}

TEST(Sizes, NoLayoutHasMoreParametersThanAnyMemoryHolds) {
  ParameterLayout layout;
  const std::size_t half = std::size_t{1} << 32;
  EXPECT_NE(refusal([&] { layout.add_matrix("W", half, half); }).find("'W' (4294967296 x 4294967296)"),
            std::string::npos);
  EXPECT_NE(refusal([&] { layout.add_vector("b", ~std::size_t{0}); }), "");
  EXPECT_EQ(layout.size(), 0u);
}

}  // namespace
}  // namespace lather::optim
