#include "lather/linalg/vector_math.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "lather/linalg/simd.hpp"

#if defined(__x86_64__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#define LATHER_HAS_LIBMVEC 1
#endif
#endif

// library::NAME(vector): f of every lane, by glibc's libmvec if available, else lane by lane.
#if LATHER_HAS_LIBMVEC
#if defined(__AVX512F__)
#define LATHER_MVEC_DOUBLE(name) _ZGVeN8##name
#define LATHER_MVEC_FLOAT(name) _ZGVeN16##name##f
#elif defined(__AVX2__)
#define LATHER_MVEC_DOUBLE(name) _ZGVdN4##name
#define LATHER_MVEC_FLOAT(name) _ZGVdN8##name##f
#elif defined(__AVX__)
#define LATHER_MVEC_DOUBLE(name) _ZGVcN4##name
#define LATHER_MVEC_FLOAT(name) _ZGVcN8##name##f
#else
#define LATHER_MVEC_DOUBLE(name) _ZGVbN2##name
#define LATHER_MVEC_FLOAT(name) _ZGVbN4##name##f
#endif
#define LATHER_LIBRARY_FUNCTION(name)                                                             \
  extern "C" Vector<double> LATHER_MVEC_DOUBLE(v_##name)(Vector<double>);                         \
  extern "C" Vector<float> LATHER_MVEC_FLOAT(v_##name)(Vector<float>);                            \
  inline Vector<double> name(const Vector<double>& x) { return LATHER_MVEC_DOUBLE(v_##name)(x); } \
  inline Vector<float> name(const Vector<float>& x) { return LATHER_MVEC_FLOAT(v_##name)(x); }
#define LATHER_LIBRARY_FUNCTION_OF_TWO(name)                                               \
  extern "C" Vector<double> LATHER_MVEC_DOUBLE(vv_##name)(Vector<double>, Vector<double>); \
  extern "C" Vector<float> LATHER_MVEC_FLOAT(vv_##name)(Vector<float>, Vector<float>);     \
  inline Vector<double> name(const Vector<double>& x, const Vector<double>& y) {           \
    return LATHER_MVEC_DOUBLE(vv_##name)(x, y);                                            \
  }                                                                                        \
  inline Vector<float> name(const Vector<float>& x, const Vector<float>& y) {              \
    return LATHER_MVEC_FLOAT(vv_##name)(x, y);                                             \
  }
#else
#define LATHER_LIBRARY_FUNCTION(name)                                                  \
  template <class V>                                                                   \
  inline V name(V x) {                                                                 \
    for (std::size_t i = 0; i < sizeof(V) / sizeof(x[0]); ++i) x[i] = std::name(x[i]); \
    return x;                                                                          \
  }
#define LATHER_LIBRARY_FUNCTION_OF_TWO(name)                                                 \
  template <class V>                                                                         \
  inline V name(V x, const V& y) {                                                           \
    for (std::size_t i = 0; i < sizeof(V) / sizeof(x[0]); ++i) x[i] = std::name(x[i], y[i]); \
    return x;                                                                                \
  }
#endif

namespace lather::linalg::vmath {

namespace library {
LATHER_LIBRARY_FUNCTION(exp)
LATHER_LIBRARY_FUNCTION(log)
LATHER_LIBRARY_FUNCTION(log1p)
LATHER_LIBRARY_FUNCTION(sin)
LATHER_LIBRARY_FUNCTION(cos)
LATHER_LIBRARY_FUNCTION(tan)
LATHER_LIBRARY_FUNCTION(sinh)
LATHER_LIBRARY_FUNCTION(cosh)
LATHER_LIBRARY_FUNCTION(tanh)
LATHER_LIBRARY_FUNCTION(asinh)
LATHER_LIBRARY_FUNCTION(atan)
LATHER_LIBRARY_FUNCTION(erf)
LATHER_LIBRARY_FUNCTION_OF_TWO(pow)
}  // namespace library

namespace {

// The last, incomplete vector is filled with ones, which are harmless to every function here.
template <class T>
Vector<T> load_part(const T* from, std::size_t count) {
  Vector<T> v = Vector<T>{} + T(1);
  std::memcpy(&v, from, count * sizeof(T));
  return v;
}

template <class T, class F>
void apply(const T* in, T* out, std::size_t n, F&& f) {
  std::size_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(out + i, f(load(in + i)));
  if (i < n) {
    const Vector<T> last = f(load_part(in + i, n - i));
    std::memcpy(out + i, &last, (n - i) * sizeof(T));
  }
}

template <class T>
Vector<T> absolute(const Vector<T>& x) {
  return x < 0 ? -x : x;
}

// a / b for finite b >= 1 within 0.7 ulp. Division takes as long as 16 multiply-adds on AVX-512; from the
// machine's 14-bit reciprocal, one Newton step (double) and one correction of the quotient are enough.
template <class T>
inline Vector<T> quotient(const Vector<T>& a, const Vector<T>& b) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, double>) {
    const __m512d estimate = _mm512_maskz_rcp14_pd(0xff, b);
    const __m512d reciprocal =
        _mm512_fmadd_pd(estimate, _mm512_fnmadd_pd(b, estimate, _mm512_set1_pd(1)), estimate);
    const __m512d q = a * reciprocal;
    return _mm512_fmadd_pd(_mm512_fnmadd_pd(b, q, a), reciprocal, q);
  } else {
    const __m512 reciprocal = _mm512_maskz_rcp14_ps(0xffff, b);
    const __m512 q = a * reciprocal;
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(b, q, a), reciprocal, q);
  }
#else
  return a / b;
#endif
}

constexpr auto kInverseFactorial = [] {
  std::array<double, 14> table{1};
  double factorial = 1;
  for (std::size_t k = 1; k < table.size(); ++k) table[k] = 1 / (factorial *= static_cast<double>(k));
  return table;
}();

// tanh |x| = (e^y - 1) / (e^y + 1), y = 2 |x|. With y = n ln 2 + r, |r| <= ln 2 / 2, s = 2^n and p = e^r - 1
// that is (s - 1 + s p) / (s + 1 + s p): no cancellation, since n >= 0. Measured: 0.80 ns per element on
// AVX-512, libmvec 1.62. In float, libmvec is faster (0.32 against 0.38).
inline Vector<double> tanh_of(const Vector<double>& x) {
  constexpr double saturation = 20;                                              // tanh is 1 from here on
  constexpr double ln2_high = 0x1.62e42fefp-1, ln2_low = 0x1.473de6af278edp-34;  // n * ln2_high is exact
  constexpr double round = 0x1.8p52;  // adding it rounds to an integer, which is then in the low bits
  constexpr int mantissa_bits = 52, exponent_bias = 1023;
  // degree of the Taylor polynomial of e^r - 1, odd; the remainder is 0.06 ulp
  constexpr std::size_t degree = kInverseFactorial.size() - 1;
  using Bits = Vector<std::int64_t>;

  const Vector<double> magnitude = absolute<double>(x);
  const Vector<double> y = 2 * (magnitude > saturation ? Vector<double>{} + saturation : magnitude);
  const Vector<double> rounded = y * std::numbers::log2e + round;
  const Vector<double> n = rounded - round;
  const Bits s_bits = (reinterpret_cast<Bits>(rounded) + exponent_bias) << mantissa_bits;
  const Vector<double> s = reinterpret_cast<Vector<double>>(s_bits);
  const Vector<double> r = y - n * ln2_high - n * ln2_low;

  // p = r + r^2 (1/2! + r/3! + r^2/4! + …), odd and even powers as two independent chains
  const Vector<double> r2 = r * r;
  Vector<double> even = Vector<double>{} + kInverseFactorial[degree - 1];
  Vector<double> odd = Vector<double>{} + kInverseFactorial[degree];
#pragma GCC unroll 16
  for (std::size_t k = degree - 2; k >= 3; k -= 2) {
    odd = odd * r2 + kInverseFactorial[k];
    even = even * r2 + kInverseFactorial[k - 1];
  }
  const Vector<double> p = (odd * r + even) * r2 + r;

  const Vector<double> t = quotient<double>(s * p + (s - 1), s * p + (s + 1));
  constexpr std::int64_t sign = std::numeric_limits<std::int64_t>::min();
  return reinterpret_cast<Vector<double>>(reinterpret_cast<Bits>(t) | (reinterpret_cast<Bits>(x) & sign));
}
inline Vector<float> tanh_of(const Vector<float>& x) { return library::tanh(x); }

}  // namespace

template <class T>
void tanh(const T* in, T* out, std::size_t n) {
  apply(in, out, n, [](const Vector<T>& x) { return tanh_of(x); });
}

template <class T>
void sigmoid(const T* in, T* out, std::size_t n) {
  apply(in, out, n, [](const Vector<T>& x) {
    const Vector<T> e = library::exp(-absolute<T>(x));
    return quotient<T>(x < 0 ? e : Vector<T>{} + 1, 1 + e);
  });
}

template <class T>
void softplus(const T* in, T* out, std::size_t n) {
  apply(in, out, n, [](const Vector<T>& x) {
    return (x > 0 ? x : Vector<T>{}) + library::log1p(library::exp(-absolute<T>(x)));
  });
}

template <class T>
void sqrt(const T* in, T* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = std::sqrt(in[i]);
}

template <class T>
void pow(const T* base, const T* exponent, T* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(out + i, library::pow(load(base + i), load(exponent + i)));
  if (i < n) {
    const Vector<T> last = library::pow(load_part(base + i, n - i), load_part(exponent + i, n - i));
    std::memcpy(out + i, &last, (n - i) * sizeof(T));
  }
}

#define LATHER_INSTANTIATE(name)                           \
  template void name(const double*, double*, std::size_t); \
  template void name(const float*, float*, std::size_t);
#define LATHER_FROM_LIBRARY(name)                                                        \
  template <class T>                                                                     \
  void name(const T* in, T* out, std::size_t n) {                                        \
    apply(in, out, n, [](const Vector<T>& x) -> Vector<T> { return library::name(x); }); \
  }                                                                                      \
  LATHER_INSTANTIATE(name)
LATHER_FROM_LIBRARY(exp)
LATHER_FROM_LIBRARY(log)
LATHER_FROM_LIBRARY(log1p)
LATHER_FROM_LIBRARY(sin)
LATHER_FROM_LIBRARY(cos)
LATHER_FROM_LIBRARY(tan)
LATHER_FROM_LIBRARY(sinh)
LATHER_FROM_LIBRARY(cosh)
LATHER_FROM_LIBRARY(asinh)
LATHER_FROM_LIBRARY(atan)
LATHER_FROM_LIBRARY(erf)
LATHER_INSTANTIATE(tanh)
LATHER_INSTANTIATE(sigmoid)
LATHER_INSTANTIATE(softplus)
LATHER_INSTANTIATE(sqrt)
template void pow(const double*, const double*, double*, std::size_t);
template void pow(const float*, const float*, float*, std::size_t);

}  // namespace lather::linalg::vmath
