// The building blocks of the spectral references: Chebyshev lines, Fourier sums, ETDRK4, the cache.
#include "helpers.hpp"
#include "lather/core/aligned.hpp"
#include "lather/reference/cache.hpp"
#include "lather/reference/numerics/chebyshev.hpp"
#include "lather/reference/numerics/etdrk4.hpp"
#include "lather/reference/numerics/line_transforms.hpp"
#include "lather/reference/periodic.hpp"
#include "temporary_folder.hpp"

namespace lather::reference {
namespace {

TEST(Chebyshev, DifferentiatesIntegratesAndInterpolatesPolynomialsExactly) {
  const auto line = chebyshev_line<long double>(12, -0.5L, 2);
  const auto f = [](long double x) { return x * x * x * x * x - 2 * x + 1; };
  const auto S = integration_matrix<long double>(line);
  for (std::size_t i = 0; i < line.nodes.size(); ++i) {
    const long double x = line.nodes[i];
    long double derivative = 0, integral = 0;
    for (std::size_t j = 0; j < line.nodes.size(); ++j) {
      derivative += line.D(i, j) * f(line.nodes[j]);
      integral += S(i, j) * f(line.nodes[j]);
    }
    EXPECT_NEAR(derivative, 5 * x * x * x * x - 2, 1e-15L);
    const auto F = [](long double y) { return std::pow(y, 6.0L) / 6 - y * y + y; };
    EXPECT_NEAR(integral, F(x) - F(-0.5L), 1e-17L);
  }
  std::vector<long double> weights(13);
  interpolation_weights<long double>(line.nodes, 0.3L, weights);
  long double value = 0;
  for (int i = 0; i <= 12; ++i) value += weights[i] * f(line.nodes[i]);
  EXPECT_NEAR(value, f(0.3L), 1e-17L);
}

TEST(Chebyshev, PolynomialsAndCoefficientsFitTogether) {
  const int N = 8;
  const auto C = chebyshev_coefficient_matrix<double>(N);
  const auto line = chebyshev_line<double>(N, -1, 1);
  std::vector<double> T(N + 1), dT(N + 1), ddT(N + 1);
  const double s = 0.37;
  chebyshev_polynomials(s, 0, T);
  chebyshev_polynomials(s, 1, dT);
  chebyshev_polynomials(s, 2, ddT);
  for (int k = 0; k <= N; ++k) EXPECT_NEAR(T[k], std::cos(k * std::acos(s)), 1e-14);
  double value = 0, first = 0, second = 0;
  for (int k = 0; k <= N; ++k) {
    double a = 0;
    for (int j = 0; j <= N; ++j) a += C(k, j) * std::pow(line.nodes[j], 7);
    value += a * T[k], first += a * dT[k], second += a * ddT[k];
  }
  EXPECT_NEAR(value, std::pow(s, 7), 1e-14);
  EXPECT_NEAR(first, 7 * std::pow(s, 6), 1e-13);
  EXPECT_NEAR(second, 42 * std::pow(s, 5), 1e-12);
}

class RandomSpectrum {
 public:
  explicit RandomSpectrum(const RealTransform& shape) : half(shape.half_size()) {
    const int K = shape.modes() / 2;
    for (std::size_t i = 0; i < half.size(); ++i) {
      const auto k = shape.wave_number(i);
      if (std::abs(k.x) < K && k.y < K)
        half[i] =
            Complex(Random(7, 0).normal(i), Random(7, 1).normal(i)) * std::exp(-0.2 * std::hypot(k.x, k.y));
    }
    half[0] = half[0].real();
    if (shape.dimensions() == 2)  // the row ky = 0 holds both k and -k
      for (int k = 1; k < K; ++k) half[shape.half_index({-k, 0})] = std::conj(half[shape.half_index({k, 0})]);
  }
  std::vector<Complex> half;
};

TEST(Fourier, LinesAtOnceEqualTheSum) {
  constexpr std::size_t lines = LineTransforms::kLines;
  for (const std::size_t n : {1, 2, 3, 4, 5, 6, 8, 30, 45, 64, 100, 150})
    for (const bool inverse : {false, true}) {
      const LineTransforms transform(n, inverse);
      AlignedVector data(transform.buffer_size()), scratch(data.size());
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = Random(3, 0).normal(i);
      const AlignedVector x = data;
      const double* X = transform.transform(data.data(), scratch.data());
      for (std::size_t line = 0; line < lines; ++line)
        for (std::size_t k = 0; k < n; ++k) {
          Complex sum = 0;
          for (std::size_t j = 0; j < n; ++j)
            sum += Complex(x[j * lines + line], x[(n + j) * lines + line]) *
                   std::polar(1.0, (inverse ? 2 : -2) * kPi * static_cast<double>(j * k % n) / n);
          EXPECT_NEAR(std::abs(sum - Complex(X[k * lines + line], X[(n + k) * lines + line])), 0, 1e-14 * n);
        }
    }
}

TEST(Fourier, TransformsAreInverseAndSampleTheSum) {
  ThreadTeam team(2);
  for (const auto& [d, N] : {std::pair(1, 24), {2, 24}, {2, 30}}) {  // 30: the last lines are not eight
    RealTransform shape(d, N, team);
    const RandomSpectrum u(shape);
    std::vector<Complex> v(u.half.size()), back_u(u.half.size()), back_v(u.half.size()),
        samples(shape.point_count());
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = 2.0 * u.half[i];
    shape.to_samples(u.half, v, samples);
    const std::size_t place = d == 1 ? 5 : 5 * N + 17;
    const double point[2] = {10.0 / N, 34.0 / N};
    const int none[2] = {0, 0};
    const double expected = direct_sum(shape, u.half, std::span(none, d), std::span(point, d));
    EXPECT_NEAR(samples[place].real(), expected, 1e-12);
    EXPECT_NEAR(samples[place].imag(), 2 * expected, 1e-12);
    shape.to_spectra(samples, back_u, back_v);
    for (std::size_t i = 0; i < v.size(); ++i) {
      EXPECT_NEAR(std::abs(back_u[i] - u.half[i]), 0, 1e-14);
      EXPECT_NEAR(std::abs(back_v[i] - v[i]), 0, 1e-14);
    }
  }
}

TEST(Fourier, GriddedSumEqualsThePlainSum) {
  ThreadTeam team(2);
  for (const int d : {1, 2})
    for (const int order : {0, 1, 2}) {
      RealTransform shape(d, 32, team);
      const RandomSpectrum u(shape);
      std::vector<int> orders(d, 0);
      orders.back() = order;
      const auto correction = gridding_correction(shape.modes());
      GriddedSum fast(shape, correction, orders, team);
      std::vector<Complex> grid(fast.grid_size());
      fast.prepare(u.half, {}, grid);
      for (int i = 0; i < 40; ++i) {
        const double point[2] = {Random(8, 0).uniform(i, -1, 1), Random(8, 1).uniform(i, -1, 1)};
        const double plain = direct_sum(shape, u.half, orders, std::span(point, d));
        EXPECT_NEAR(fast.sum(grid, fast.stencil(std::span(point, d))).real(), plain,
                    2e-12 * std::pow(16 * kPi, order));
      }
    }
}

TEST(Etdrk4, WeightsMatchTheirClosedFormsWhereThoseAreAccurate) {
  for (const Complex z : {Complex(-3), Complex(0, 2.5), Complex(-40)}) {
    const auto w = Etdrk4::weights(1, z);
    const Complex e = std::exp(z), z3 = z * z * z;
    EXPECT_NEAR(std::abs(w.Q - (std::exp(z / 2.0) - 1.0) / z), 0, 1e-13);
    EXPECT_NEAR(std::abs(w.f1 - (-4.0 - z + e * (4.0 - 3.0 * z + z * z)) / z3), 0, 1e-13);
    EXPECT_NEAR(std::abs(w.f2 - (2.0 + z + e * (z - 2.0)) / z3), 0, 1e-13);
    EXPECT_NEAR(std::abs(w.f3 - (-4.0 - 3.0 * z - z * z + e * (4.0 - z)) / z3), 0, 1e-13);
  }
  const auto rk4 = Etdrk4::weights(1, 0);  // L = 0: the classical Runge–Kutta method
  EXPECT_NEAR(rk4.Q.real(), 0.5, 1e-14);
  EXPECT_NEAR(rk4.f1.real(), 1.0 / 6, 1e-14);
  EXPECT_NEAR(rk4.f2.real(), 1.0 / 6, 1e-14);
  EXPECT_NEAR(rk4.f3.real(), 1.0 / 6, 1e-14);
}

// The rounding error of e^{hL}, the same at every step, must not add up: in double it does, to 1e-11 here.
TEST(Etdrk4, KeepsTheModulusOfAnOscillationOverManySteps) {
  ThreadTeam team(1);
  const Complex L[1] = {{0, 37.0}};
  Etdrk4 stepper(
      L, [](std::span<const Complex>, std::span<Complex> out) { out[0] = 0; }, team);
  WideComplex v[1] = {1};
  for (int i = 0; i < 100000; ++i) stepper.step(1e-3, v);
  EXPECT_NEAR(static_cast<double>(std::abs(v[0])), 1, 1e-14);
}

TEST(Etdrk4, ConvergesWithFourthOrder) {
  // v' = -2 v + v², v(0) = 1: v = 2/(1 + e^{2t}).
  ThreadTeam team(1);
  const auto error = [&](int steps) {
    const Complex L[1] = {-2};
    Etdrk4 stepper(
        L, [](std::span<const Complex> v, std::span<Complex> out) { out[0] = v[0] * v[0]; }, team);
    WideComplex v[1] = {1};
    for (int i = 0; i < steps; ++i) stepper.step(1.0 / steps, v);
    return std::abs(static_cast<double>(v[0].real()) - 2 / (1 + std::exp(2.0)));
  };
  EXPECT_NEAR(std::log2(error(20) / error(40)), 4, 0.2);
  EXPECT_LT(error(320), 1e-10);
}

class CacheFile : public testing::Test {
 protected:
  std::string bytes(const std::filesystem::path& file) const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::filesystem::path& file, const std::string& content) const {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
  }
  // Through load_or_compute: the value, and how often it had to be computed.
  std::string load(double& value) {
    return load_or_compute(
        folder_, key_, [&](StateVisitor& v) { v.real("value", value); }, [&] { value = 42, ++computed_; });
  }

  test::TemporaryFolder made_;
  std::filesystem::path folder_ = made_ / "cache";
  CacheKey key_{"sample", 3, R"({"n":5})"};
  int computed_ = 0;
};

TEST_F(CacheFile, IsReadBackInsteadOfComputedAgain) {
  double first = 0, second = 0;
  EXPECT_NE(load(first).find("saved as"), std::string::npos);
  EXPECT_NE(load(second).find("read from"), std::string::npos);
  EXPECT_EQ(computed_, 1);
  EXPECT_EQ(second, 42);
}

TEST_F(CacheFile, IsRebuiltAfterDamageOfAnyByte) {
  double value = 0;
  load(value);
  const auto file = folder_ / cache_file(key_);
  const std::string good = bytes(file);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    write(file, bad);
    std::string why;
    EXPECT_FALSE(read_cache(CacheFolder(folder_), key_, why)) << "byte " << i;
  }
  EXPECT_NE(load(value).find("rejected"), std::string::npos);
  EXPECT_EQ(bytes(file), good);
}

TEST_F(CacheFile, IsRebuiltWhenCutShortOrForeign) {
  double value = 0;
  load(value);
  const auto file = folder_ / cache_file(key_);
  const std::string good = bytes(file);
  for (const std::string& bad : {good.substr(0, good.size() - 1), good.substr(0, 10), std::string("hello"),
                                 std::string(), good + "x"}) {
    write(file, bad);
    value = 0;
    EXPECT_NE(load(value).find("rejected"), std::string::npos);
    EXPECT_EQ(value, 42);
  }
  CacheKey other = key_;
  other.settings = R"({"n":6})";
  std::filesystem::copy_file(file, folder_ / cache_file(other));
  std::string why;
  EXPECT_FALSE(read_cache(CacheFolder(folder_), other, why));
  EXPECT_EQ(why, "made with other settings");
}

TEST_F(CacheFile, LeavesNoTemporaryFilesAndWorksWithoutAFolder) {
  double value = 0;
  load(value);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  std::filesystem::remove_all(folder_);
  write(folder_, "a file where the folder should be");
  value = 0;
  EXPECT_NE(load(value).find("not saved"), std::string::npos);
  EXPECT_EQ(value, 42);
}

}  // namespace
}  // namespace lather::reference
