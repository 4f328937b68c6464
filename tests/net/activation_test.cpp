// Activations near zero, where features of small scale live. Their values and derivatives elsewhere: tests/pde/engine_test.cpp.
#include "lather/net/activation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "lather/symbolic/differentiate.hpp"
#include "lather/symbolic/evaluate.hpp"

namespace lather::net {
namespace {

// 1 - cos(z), evaluated as written, has no correct digit at 1e-9.
TEST(Versine, KeepsAllDigitsOfSmallArguments) {
  symbolic::Graph graph;
  const symbolic::Expr z = graph.symbol("z"), value = activation_value(ActivationName::versine, z);
  const std::vector<symbolic::Expr> list{value, differentiate(value, z)};
  for (const double at : {1e-9, 1e-4, -0.01, 1.0}) {
    const auto found = symbolic::evaluate<double>(list, {{z, at}});
    const long double half = std::sin(at / 2.0L);
    EXPECT_NEAR(found[0] / static_cast<double>(2 * half * half), 1, 1e-15) << at;
    EXPECT_NEAR(found[1] / std::sin(at), 1, 1e-15) << at;
  }
}

}  // namespace
}  // namespace lather::net
