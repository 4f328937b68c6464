#include "lather/linalg/vector_math.hpp"

#include <gtest/gtest.h>
#include <quadmath.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "lather/core/rng.hpp"

namespace lather::linalg {
namespace {

using Quad = __float128;

// |value - exact| in units of the last place of T at `exact`; infinite if the kind (NaN, infinity, signed
// zero) is wrong.
template <class T>
double error_in_ulp(T value, Quad exact) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (isnanq(exact) || std::isnan(value)) return isnanq(exact) && std::isnan(value) ? 0 : wrong;
  const T rounded = static_cast<T>(exact);
  if (std::isinf(rounded) || std::isinf(value)) {
    if (rounded == value) return 0;
    const T largest = std::numeric_limits<T>::max();  // one step from infinity
    return std::min(std::fabs(rounded), std::fabs(value)) == largest ? 1 : wrong;
  }
  if (exact == 0) return value == 0 && std::signbit(value) == (signbitq(exact) != 0) ? 0 : wrong;
  const int exponent = std::max(ilogbq(exact), std::numeric_limits<T>::min_exponent - 1);
  return static_cast<double>(
      fabsq((static_cast<Quad>(value) - exact) / scalbnq(1, exponent - std::numeric_limits<T>::digits + 1)));
}

template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> x = {
      0, 1, 2, L::denorm_min(), L::min(), L::epsilon(), L::max(), L::infinity(), L::quiet_NaN()};
  for (std::size_t i = 0, size = x.size(); i < size; ++i) x.push_back(-x[i]);
  return x;
}

// Uniform on (low, high), log-uniform around 1 in both signs, every bit pattern, and the special values.
template <class T>
std::vector<T> samples(double low, double high) {
  constexpr std::size_t count = 20000;
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  const Random random(7, sizeof(T));
  std::vector<T> x = special_values<T>();
  for (std::size_t i = 0; i < count; ++i) {
    x.push_back(static_cast<T>(random.uniform(3 * i, low, high)));
    const double magnitude = std::exp2(random.uniform(3 * i + 1, -40, 12));
    x.push_back(static_cast<T>(i % 2 ? magnitude : -magnitude));
    x.push_back(std::bit_cast<T>(static_cast<Bits>(random.bits(3 * i + 2))));
  }
  return x;
}

constexpr double kAllowedUlp = 4;

template <class T, class Function>
void expect_accurate(const char* name, Function function, Quad (*exact)(Quad), double low, double high) {
  const std::vector<T> x = samples<T>(low, high);
  std::vector<T> y(x.size());
  function(x.data(), y.data(), x.size());
  double worst = 0;
  T worst_at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = error_in_ulp(y[i], exact(static_cast<Quad>(x[i])));
    if (error > worst) worst = error, worst_at = x[i];
  }
  EXPECT_LE(worst, kAllowedUlp) << name << " at " << worst_at;
  ::testing::Test::RecordProperty(std::string(name) + "_" + std::to_string(sizeof(T)), std::to_string(worst));
}

Quad sigmoid_exact(Quad x) { return x < 0 ? expq(x) / (1 + expq(x)) : 1 / (1 + expq(-x)); }
Quad softplus_exact(Quad x) { return (x > 0 ? x : 0) + log1pq(expq(x > 0 ? -x : x)); }

struct Case {
  const char* name;
  void (*on_double)(const double*, double*, std::size_t);
  void (*on_float)(const float*, float*, std::size_t);
  Quad (*exact)(Quad);
  double low, high;
};

const Case kCases[] = {
    {"exp", vmath::exp, vmath::exp, expq, -750, 720},
    {"log", vmath::log, vmath::log, logq, 0, 4},
    {"log1p", vmath::log1p, vmath::log1p, log1pq, -1, 4},
    {"sin", vmath::sin, vmath::sin, sinq, -100, 100},
    {"cos", vmath::cos, vmath::cos, cosq, -100, 100},
    {"tan", vmath::tan, vmath::tan, tanq, -100, 100},
    {"sinh", vmath::sinh, vmath::sinh, sinhq, -20, 20},
    {"cosh", vmath::cosh, vmath::cosh, coshq, -20, 20},
    {"tanh", vmath::tanh, vmath::tanh, tanhq, -20, 20},
    {"asinh", vmath::asinh, vmath::asinh, asinhq, -20, 20},
    {"atan", vmath::atan, vmath::atan, atanq, -20, 20},
    {"erf", vmath::erf, vmath::erf, erfq, -6, 6},
    {"sqrt", vmath::sqrt, vmath::sqrt, sqrtq, 0, 20},
    {"sigmoid", vmath::sigmoid, vmath::sigmoid, sigmoid_exact, -40, 40},
    {"softplus", vmath::softplus, vmath::softplus, softplus_exact, -40, 40},
};

class ArrayFunction : public ::testing::TestWithParam<Case> {};

TEST_P(ArrayFunction, IsWithinFourUlpOfTheExactValueEverywhere) {
  const Case& c = GetParam();
  expect_accurate<double>(c.name, c.on_double, c.exact, c.low, c.high);
  expect_accurate<float>(c.name, c.on_float, c.exact, std::max(c.low, -110.0), std::min(c.high, 100.0));
}

template <class T>
void expect_same_bits_anywhere(const char* name, void (*function)(const T*, T*, std::size_t), double low,
                               double high) {
  // Specials are mixed with ordinary values, so that slow and fast paths meet in one vector.
  std::vector<T> x = special_values<T>();
  const Random random(3, 1);
  for (std::size_t i = 0; i < 400; ++i)
    x.insert(x.begin() + static_cast<std::ptrdiff_t>(random.bits(2 * i) % x.size()),
             static_cast<T>(random.uniform(2 * i + 1, low, high)));
  std::vector<T> together(x.size());
  function(x.data(), together.data(), x.size());
  for (std::size_t length : {1, 3, 7, 17}) {
    for (std::size_t i = 0; i + length <= x.size(); i += length) {
      std::vector<T> part(x.begin() + static_cast<std::ptrdiff_t>(i),
                          x.begin() + static_cast<std::ptrdiff_t>(i + length));
      function(part.data(), part.data(), length);  // in place
      for (std::size_t j = 0; j < length; ++j)
        EXPECT_TRUE(std::memcmp(&part[j], &together[i + j], sizeof(T)) == 0 ||
                    (std::isnan(part[j]) && std::isnan(together[i + j])))
            << name << " at " << x[i + j] << ": " << part[j] << " alone, " << together[i + j]
            << " in the array";
    }
  }
}

TEST_P(ArrayFunction, GivesTheSameBitsWhereverAnElementStands) {
  const Case& c = GetParam();
  expect_same_bits_anywhere<double>(c.name, c.on_double, c.low, c.high);
  expect_same_bits_anywhere<float>(c.name, c.on_float, c.low, c.high);
}

TEST_P(ArrayFunction, WritesNothingOutsideTheArray) {
  const Case& c = GetParam();
  for (std::size_t n = 0; n < 40; ++n) {
    const std::vector<double> in(n, 0.5);
    std::vector<double> out(n + 2, -7.0);
    c.on_double(in.data(), out.data() + 1, n);
    EXPECT_EQ(out.front(), -7.0);
    EXPECT_EQ(out.back(), -7.0);
    for (std::size_t i = 1; i + 1 < out.size(); ++i) EXPECT_EQ(out[i], out[1]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ArrayFunction, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

template <class T>
void expect_pow_accurate() {
  std::vector<T> base, exponent;
  for (const T a : special_values<T>())
    for (const T b : special_values<T>()) base.push_back(a), exponent.push_back(b);
  const Random random(5, sizeof(T));
  for (std::size_t i = 0; i < 40000; ++i) {
    base.push_back(static_cast<T>(std::exp2(random.uniform(2 * i, -30, 30))));
    exponent.push_back(static_cast<T>(random.uniform(2 * i + 1, -30, 30)));
    base.push_back(static_cast<T>(random.uniform(2 * i, -4, 4)));
    exponent.push_back(static_cast<T>(std::round(random.uniform(2 * i + 1, -9, 9))));
  }
  std::vector<T> y(base.size());
  vmath::pow(base.data(), exponent.data(), y.data(), y.size());
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double error = error_in_ulp(y[i], powq(base[i], exponent[i]));
    if (error > worst) worst = error, at = i;
  }
  EXPECT_LE(worst, kAllowedUlp) << "pow(" << base[at] << ", " << exponent[at] << ") = " << y[at];
  ::testing::Test::RecordProperty("pow_" + std::to_string(sizeof(T)), std::to_string(worst));
}

TEST(Pow, IsWithinFourUlpOfTheExactValueInDouble) { expect_pow_accurate<double>(); }
TEST(Pow, IsWithinFourUlpOfTheExactValueInFloat) { expect_pow_accurate<float>(); }

TEST(Tanh, KeepsSmallArgumentsAndSaturatesToOne) {
  const double in[] = {1e-300, -1e-20, 19.1, -25, 5e-324};
  double out[5];
  vmath::tanh(in, out, 5);
  EXPECT_EQ(out[0], 1e-300);
  EXPECT_EQ(out[1], -1e-20);
  EXPECT_EQ(out[2], 1);
  EXPECT_EQ(out[3], -1);
  EXPECT_EQ(out[4], 5e-324);
}

}  // namespace
}  // namespace lather::linalg
