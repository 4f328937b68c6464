// Everything an objective computes has the same bits on any number of ranks and threads, and rank 0 computes
// it alone where another rank is lost.
#include <gtest/gtest.h>

#include "lather/pde/objective.hpp"
#include "lather/train/weighting/ntk.hpp"
#include "parallel/thread_ranks.hpp"
#include "pde/sample_problems.hpp"

namespace lather::pde {
namespace {

using namespace test;

Problem two_sets(bool factorized) {
  Problem p =
      make_problem(derivative_sets()[2], {.width = 7, .depth = 2, .weight_factorization = factorized});
  p.point_sets.push_back({"data", PointSet::Kind::data, {}, {}, {}});
  p.terms.push_back({"third", 1, p.symbols->output(0) - sin(p.symbols->coordinate(1)), 2.0});
  return p;
}

struct Workers {
  int threads, shards;
  parallel::Communicator* ranks;
};

// All of it, one after the other.
std::vector<double> everything(const Problem& problem, const Workers& workers, Precision precision) {
  PinnObjective objective(
      problem,
      {.threads = workers.threads, .shards = workers.shards, .ranks = workers.ranks, .precision = precision});
  auto x = objective.initialize(4);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.3 * Random(5, 5).normal(i);
  objective.set_points(0, random_points(2, 301, 17));
  objective.set_points(1, random_points(2, 40, 18));
  std::vector<double> weights(301);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 1 + 0.01 * static_cast<double>(i);
  objective.set_point_weights(1, weights);

  const std::size_t n = objective.size(), m = objective.residual_count();
  std::vector<double> all;
  const auto keep = [&](std::span<const double> values) {
    all.insert(all.end(), values.begin(), values.end());
  };
  std::vector<double> g(n), r(m);
  const double loss = objective.value_and_gradient(x, g);
  keep({&loss, 1});
  keep(g);
  keep(objective.term_losses());
  std::vector<std::vector<double>> gradients;
  std::vector<double> losses(3);
  objective.term_gradients(x, losses, gradients);
  for (const auto& gradient : gradients) keep(gradient);
  keep(losses);
  objective.residuals(x, r);
  keep(r);
  const std::vector<symbolic::Expr> fields{problem.symbols->output(0), problem.symbols->output(1)};
  for (const auto& values : objective.evaluate(x, fields, random_points(2, 100, 3))) keep(values);
  if (precision == Precision::float32) return all;

  std::vector<double> JtJ(n * n), Jtr(n), JJt(m * m), Jv(m), Jtw(n), rows(20 * n);
  const double value = objective.normal_equations(x, JtJ.data(), Jtr);
  keep({&value, 1});
  keep(JtJ);
  keep(Jtr);
  objective.residual_gram(x, JJt.data(), r);
  for (std::size_t i = 0; i < m; ++i) keep({&JJt[i * m], i + 1});
  objective.jacobian_times(x, g, Jv);
  keep(Jv);
  objective.transposed_jacobian_times(x, r, Jtw);
  keep(Jtw);
  objective.jacobian_rows(x, 295, 20, rows.data());  // of two terms
  keep(rows);
  keep(train::ntk_diagonal(objective, x, 2));
  for (const auto& layer : objective.kronecker_factors(x, optim::KroneckerFactors::Sharing::expand).layers)
    for (const auto& group : layer.groups) {
      keep(group.A);
      keep(group.B);
    }
  return all;
}

// std::vector's operator== takes 0 for -0.
bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

class OnRanks : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, OnRanks, ::testing::Values(1, 2, 3, 4, 8));

TEST_P(OnRanks, AnObjectiveHasTheBitsOfOneProcess) {
  for (const bool factorized : {false, true}) {
    const auto expected =
        everything(two_sets(factorized), {1, 6 + 10 * factorized, nullptr}, Precision::float64);
    testing::on_ranks(GetParam(), [&](parallel::Communicator& ranks) {
      const Problem own = two_sets(factorized);  // expressions belong to one thread
      EXPECT_TRUE(
          same_bits(everything(own, {1 + ranks.rank() % 2, 6 + 10 * factorized, &ranks}, Precision::float64),
                    expected));
    });
  }
}

TEST(OnThreeRanks, SinglePrecisionHasTheBitsOfOneProcess) {
  const auto expected = everything(two_sets(false), {2, 5, nullptr}, Precision::float32);
  testing::on_ranks(3, [&](parallel::Communicator& ranks) {
    const Problem own = two_sets(false);
    EXPECT_TRUE(same_bits(everything(own, {1, 5, &ranks}, Precision::float32), expected));
  });
}

TEST(OnThreeRanks, ShardsInOneProcessAreThoseOfAsManyThreads) {
  EXPECT_TRUE(same_bits(everything(two_sets(false), {3, 0, nullptr}, Precision::float64),
                        everything(two_sets(false), {1, 3, nullptr}, Precision::float64)));
}

// Whatever was under way when a rank was lost is computed again by rank 0, with the same result.
TEST(OnThreeRanks, TheFirstGoesOnAloneWhenAnotherIsLost) {
  const auto expected = everything(two_sets(false), {1, 6, nullptr}, Precision::float64);
  long exchanges = 0;
  testing::on_ranks(3, [&](parallel::Communicator& ranks) {
    const Problem own = two_sets(false);
    everything(own, {1, 6, &ranks}, Precision::float64);
    if (ranks.rank() == 0) exchanges = ranks.exchanges();
  });
  ASSERT_GT(exchanges, 20);
  for (long after = 1; after < exchanges; after += 3)
    testing::on_ranks(
        3,
        [&](parallel::Communicator& ranks) {
          const Problem own = two_sets(false);
          const auto found = everything(own, {1, 6, &ranks}, Precision::float64);
          EXPECT_EQ(ranks.rank(), 0);
          EXPECT_EQ(ranks.lost_rank(), 2);
          EXPECT_TRUE(same_bits(found, expected)) << "lost after " << after << " exchanges";
        },
        2, after);
}

}  // namespace
}  // namespace lather::pde
