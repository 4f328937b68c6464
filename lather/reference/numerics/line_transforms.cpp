#include "lather/reference/numerics/line_transforms.hpp"

#include <cassert>
#include <cmath>
#include <numbers>
#include <utility>

namespace lather::reference {
namespace {

constexpr std::size_t kLines = LineTransforms::kLines;
typedef double Lanes __attribute__((vector_size(kLines * sizeof(double))));

struct Value {
  Lanes re, im;
};
Value operator+(Value a, Value b) { return {a.re + b.re, a.im + b.im}; }
Value operator-(Value a, Value b) { return {a.re - b.re, a.im - b.im}; }
Value operator*(double s, Value a) { return {s * a.re, s * a.im}; }
Value operator*(std::complex<double> w, Value a) {
  return {w.real() * a.re - w.imag() * a.im, w.real() * a.im + w.imag() * a.re};
}
Value turned(double sign, Value a) { return {-sign * a.im, sign * a.re}; }  // times ±i

// The transform of `radix` values; `sign` is the sign of the exponent.
template <std::size_t radix>
void butterfly(Value (&a)[radix], double sign) {
  if constexpr (radix == 2) {
    const Value sum = a[0] + a[1];
    a[1] = a[0] - a[1], a[0] = sum;
  } else if constexpr (radix == 3) {
    const double s = sign * std::numbers::sqrt3 / 2;
    const Value sum = a[1] + a[2], side = turned(s, a[1] - a[2]), middle = a[0] - 0.5 * sum;
    a[0] = a[0] + sum, a[1] = middle + side, a[2] = middle - side;
  } else if constexpr (radix == 4) {
    const Value p = a[0] + a[2], m = a[0] - a[2], q = a[1] + a[3], side = turned(sign, a[1] - a[3]);
    a[0] = p + q, a[1] = m + side, a[2] = p - q, a[3] = m - side;
  } else {
    static_assert(radix == 5);
    // cosine and sine of 2π/5 and 4π/5
    constexpr double c1 = 0.30901699437494742410, s1 = 0.95105651629515357212;
    constexpr double c2 = -0.80901699437494742410, s2 = 0.58778525229247312917;
    const Value p1 = a[1] + a[4], m1 = a[1] - a[4], p2 = a[2] + a[3], m2 = a[2] - a[3];
    const Value mean1 = a[0] + c1 * p1 + c2 * p2, mean2 = a[0] + c2 * p1 + c1 * p2;
    const Value side1 = turned(sign, s1 * m1 + s2 * m2), side2 = turned(sign, s2 * m1 - s1 * m2);
    a[0] = a[0] + p1 + p2;
    a[1] = mean1 + side1, a[4] = mean1 - side1;
    a[2] = mean2 + side2, a[3] = mean2 - side2;
  }
}

// One pass over `stride` interleaved lines of `length`: y[r + stride (radix q + k)] is turn(qk) times the
// k-th transform value of x[r + stride (q + m j)] over j, m = length / radix.
template <std::size_t radix>
void run_pass(std::size_t length, std::size_t stride, const std::complex<double>* turns, double sign,
              const Lanes* x_re, const Lanes* x_im, Lanes* y_re, Lanes* y_im) {
  const std::size_t m = length / radix;
  for (std::size_t q = 0; q < m; ++q, turns += radix - 1)
    for (std::size_t r = 0; r < stride; ++r) {
      Value a[radix];
      for (std::size_t j = 0; j < radix; ++j) {
        const std::size_t from = r + stride * (q + m * j);
        a[j] = {x_re[from], x_im[from]};
      }
      butterfly(a, sign);
      for (std::size_t k = 0; k < radix; ++k) {
        const Value value = k == 0 ? a[0] : turns[k - 1] * a[k];
        const std::size_t to = r + stride * (radix * q + k);
        y_re[to] = value.re, y_im[to] = value.im;
      }
    }
}

}  // namespace

LineTransforms::LineTransforms(std::size_t n, bool inverse) : n_(n), sign_(inverse ? 1 : -1) {
  for (const std::size_t radix : {4, 2, 3, 5})
    while (n % radix == 0) {
      Pass pass{radix, n, {}};
      for (std::size_t q = 0; q < n / radix; ++q)
        for (std::size_t k = 1; k < radix; ++k)
          pass.turns.push_back(std::polar(
              1.0, sign_ * 2 * std::numbers::pi * static_cast<double>(q * k) / static_cast<double>(n)));
      passes_.push_back(std::move(pass));
      n /= radix;
    }
  assert(n == 1);
}

double* LineTransforms::transform(double* data, double* scratch) const {
  for (const auto& pass : passes_) {
    const std::size_t stride = n_ / pass.length;
    // What earlier passes have split off is innermost: the product of their radices.
    const auto* x = reinterpret_cast<const Lanes*>(data);
    auto* y = reinterpret_cast<Lanes*>(scratch);
    const auto run = [&](auto f) { f(pass.length, stride, pass.turns.data(), sign_, x, x + n_, y, y + n_); };
    switch (pass.radix) {
      case 2: run(run_pass<2>); break;
      case 3: run(run_pass<3>); break;
      case 4: run(run_pass<4>); break;
      default: run(run_pass<5>); break;
    }
    std::swap(data, scratch);
  }
  return data;
}

}  // namespace lather::reference
