// Kernels that differ only in numbers are compiled once.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "emulator.hpp"
#include "lather/core/rng.hpp"
#include "lather/pde/objective.hpp"

namespace lather::pde {
namespace {

// u_t = k u_xx with the time scaled as in a window.
Problem heat(double k, double begin) {
  Problem p;
  p.symbols = std::make_shared<OutputSymbols>(*p.graph, std::vector<std::string>{"x", "t"},
                                              std::vector<std::string>{"u"});
  p.domain = {{0, 1}, {0, 1}};
  p.network_inputs = {p.symbols->coordinate(0), (p.symbols->coordinate(1) - begin) * 1.7};
  p.network = {.width = 6, .depth = 2};
  p.point_sets.push_back({"interior", PointSet::Kind::interior, {}, {}, {}});
  const auto t = symbolic::MultiIndex{}.plus(1), xx = symbolic::MultiIndex{}.plus(0).plus(0);
  p.terms.push_back({"heat", 0, p.symbols->output(0, t) - k * p.symbols->output(0, xx), 1});
  return p;
}

Points square() {
  Points points;
  for (int i = 0; i < 2; ++i) {
    auto& values = points.coordinates.emplace_back(50);
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = Random(1, i).uniform(k);
  }
  return points;
}

TEST(Kernels, OfOtherNumbersAreCompiledOnce) {
  const auto cache = std::filesystem::temp_directory_path() / "lather-kernels-test";
  std::filesystem::remove_all(cache);
  setenv("LATHER_CACHE", cache.c_str(), 1);
  const Problem problems[] = {heat(0.3, 0.1), heat(0.7, 0.45)};
  PinnObjective first(problems[0], {.device = Device::cuda});
  const auto x = first.initialize(1);
  first.set_points(0, square());
  first.value(x);
  const int compiled = emulator::programs_compiled;
  PinnObjective second(problems[1], {.device = Device::cuda});
  second.initialize(1);
  second.set_points(0, square());
  second.value(x);
  EXPECT_EQ(emulator::programs_compiled, compiled);
  // Both are still there, each with its own numbers.
  PinnObjective* objectives[] = {&first, &second};
  std::vector<double> gradient(x.size()), expected(x.size());
  for (const int i : {0, 1}) {
    PinnObjective cpu(problems[i], {.threads = 1});
    cpu.initialize(1);
    cpu.set_points(0, square());
    const double value = cpu.value_and_gradient(x, expected);
    EXPECT_NEAR(objectives[i]->value_and_gradient(x, gradient) / value, 1, 1e-12);
    for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(gradient[k], expected[k], 1e-12 * (1 + value));
  }
  unsetenv("LATHER_CACHE");
}

}  // namespace
}  // namespace lather::pde
