#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "lather/optim/line_search/armijo.hpp"
#include "lather/optim/line_search/more_thuente.hpp"
#include "lather/optim/line_search/strong_wolfe.hpp"
#include "lather/optim/line_search/wolfe12.hpp"
#include "lather/optim/line_search/zoom.hpp"

namespace lather::optim {
namespace {

// A function of one variable as an Objective.
class OnLine final : public Objective {
 public:
  OnLine(std::function<double(double)> f, std::function<double(double)> slope)
      : f_(std::move(f)), slope_(std::move(slope)) {
    layout_.add_scalar("t");
  }
  const ParameterLayout& layout() const override { return layout_; }
  double value(std::span<const double> x) override { return f_(x[0]); }
  double value_and_gradient(std::span<const double> x, std::span<double> g) override {
    g[0] = slope_(x[0]);
    return f_(x[0]);
  }

 private:
  ParameterLayout layout_;
  std::function<double(double)> f_, slope_;
};

std::vector<OnLine> descending_functions() {
  return {
      {[](double t) { return (t - 3) * (t - 3); }, [](double t) { return 2 * (t - 3); }},
      {[](double t) { return std::exp(t) - 4 * t; }, [](double t) { return std::exp(t) - 4; }},
      // Moré & Thuente, eq. 5.1 and 5.2 (beta = 2, 0.004).
      {[](double t) { return -t / (t * t + 2); },
       [](double t) { return (t * t - 2) / ((t * t + 2) * (t * t + 2)); }},
      {[](double t) { return std::pow(t + 0.004, 5) - 2 * std::pow(t + 0.004, 4); },
       [](double t) { return 5 * std::pow(t + 0.004, 4) - 8 * std::pow(t + 0.004, 3); }},
      {[](double t) { return std::cos(3 * t) - t; }, [](double t) { return -3 * std::sin(3 * t) - 1; }},
  };
}

const std::vector<double> kOrigin{0}, kForward{1};
using Search = std::function<LineSearchResult(Ray&, const LinePoint&, double first, const WolfeConditions&)>;

std::vector<std::pair<std::string, Search>> wolfe_searches() {
  return {
      {"strong Wolfe", [](Ray& r, const LinePoint& s, double t,
                          const WolfeConditions& w) { return strong_wolfe(r, s, t, {.wolfe = w}); }},
      {"Moré–Thuente", [](Ray& r, const LinePoint& s, double t,
                          const WolfeConditions& w) { return more_thuente(r, s, t, {.wolfe = w}); }},
      {"zoom",
       [](Ray& r, const LinePoint& s, double t, const WolfeConditions& w) {
         return bracket_and_zoom(r, s, t, {.wolfe = w, .max_doublings = 30, .max_zooms = 30});
       }},
      {"wolfe12", [](Ray& r, const LinePoint& s, double,
                     const WolfeConditions& w) { return wolfe12(r, s, s.f + 1, {.wolfe = w}); }},
  };
}

TEST(LineSearch, FindsAPointThatMeetsTheStrongWolfeConditionsFromShortAndLongFirstSteps) {
  for (const double c2 : {0.9, 0.1})
    for (auto& function : descending_functions())
      for (const double first : {1e-3, 1e-1, 1.0, 10.0})
        for (const auto& [name, search] : wolfe_searches()) {
          Ray ray(function, kOrigin, kForward);
          const LinePoint start = ray.at(0);
          const WolfeConditions wolfe{.c1 = 1e-4, .c2 = c2};
          const auto result = search(ray, start, first, wolfe);
          ASSERT_TRUE(result.success) << name << " first " << first << ": " << result.message;
          EXPECT_TRUE(wolfe.decrease(start, result.point)) << name;
          EXPECT_TRUE(wolfe.curvature(start, result.point))
              << name << " first " << first << " t " << result.point.t;
          EXPECT_EQ(result.point.f, function.value(std::vector<double>{result.point.t}));
        }
}

TEST(LineSearch, StepsBackFromNaNAndInfinity) {
  // Defined only below t = 2; the minimum is at 1.
  for (const double beyond : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    OnLine wall([=](double t) { return t < 2 ? (t - 1) * (t - 1) : beyond; },
                [=](double t) { return t < 2 ? 2 * (t - 1) : beyond; });
    for (const auto& [name, search] : wolfe_searches()) {
      Ray ray(wall, kOrigin, kForward);
      const auto result = search(ray, ray.at(0), 100, {});
      ASSERT_TRUE(result.success) << name << ": " << result.message;
      EXPECT_LT(result.point.f, 1) << name;
    }
    Ray ray(wall, kOrigin, kForward);
    EXPECT_TRUE(armijo(ray, ray.at(0), {.first = 100}).success);
  }
}

TEST(LineSearch, FailsInWordsWhereNothingIsFinite) {
  OnLine cliff([](double t) { return t == 0 ? 1.0 : std::nan(""); },
               [](double t) { return t == 0 ? -1.0 : std::nan(""); });
  for (const auto& [name, search] : wolfe_searches()) {
    Ray ray(cliff, kOrigin, kForward);
    const auto result = search(ray, ray.at(0), 1, {});
    EXPECT_FALSE(result.success) << name;
    EXPECT_FALSE(result.message.empty()) << name;
  }
}

TEST(LineSearch, FailsInWordsOnAWrongSlopeAndReportsNoHigherPoint) {
  OnLine uphill([](double t) { return t; }, [](double) { return -1.0; });
  for (const auto& [name, search] : wolfe_searches()) {
    Ray ray(uphill, kOrigin, kForward);
    const auto result = search(ray, ray.at(0), 1, {});
    EXPECT_FALSE(result.success) << name;
    EXPECT_FALSE(result.message.empty()) << name;
  }
}

TEST(LineSearch, TheApproximateConditionsGoOnWhereDifferencesOfValuesHaveDrowned) {
  // 1 + 1e-18 (t - 1)^2 is 1 in double; only the slope shows the way.
  OnLine flat([](double t) { return 1 + 1e-18 * (t - 1) * (t - 1); },
              [](double t) { return 2e-18 * (t - 1); });
  for (const auto& [name, search] : wolfe_searches()) {
    Ray exact_ray(flat, kOrigin, kForward);
    EXPECT_FALSE(search(exact_ray, exact_ray.at(0), 0.5, {.c2 = 0.4}).success && exact_ray.at(0).f > 1)
        << name;
    Ray ray(flat, kOrigin, kForward);
    const LinePoint start = ray.at(0);
    const auto result = search(ray, start, 0.9, {.approximate = 1e-10});
    EXPECT_TRUE(result.success) << name << ": " << result.message;
    EXPECT_LE(std::abs(result.point.slope), 0.9 * std::abs(start.slope)) << name;
  }
}

TEST(LineSearch, TheCubicMinimizerIsExactOnCubics) {
  // f = t^3 - 3 t has its minimum at 1.
  const auto point = [](double t) { return LinePoint{t, t * t * t - 3 * t, 3 * t * t - 3, {}}; };
  EXPECT_NEAR(cubic_minimizer(point(0), point(3), 0, 3), 1, 1e-14);
  EXPECT_NEAR(cubic_minimizer(point(3), point(0), 0, 3), 1, 1e-14);
  EXPECT_EQ(cubic_minimizer(point(0), point(3), 2, 3), 2);  // clamped
  const LinePoint a{0, 0, 1, {}}, b{1, 0.5, 1, {}};         // this cubic rises everywhere: no minimum
  EXPECT_EQ(cubic_minimizer(a, b, 0.2, 0.4), 0.30000000000000004);
}

}  // namespace
}  // namespace lather::optim
