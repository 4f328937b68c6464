#pragma once
// Elementary functions over arrays, for T = double and float: out[i] = f(in[i]); out may be in, but must not
// overlap it otherwise. Vectorized with glibc's libmvec or our own code. The same input gives the same bits
// wherever it is in an array.
//
// Measured: largest error in ulp against quadruple precision over all arguments (subnormal to huge, 0,
// infinities, NaN and signed zeros as in <cmath>), worst of AVX-512, AVX2 and SSE2; float erf, log, exp,
// sigmoid over every value near the worst.
//            exp  log log1p  sin  cos  tan sinh cosh tanh asinh atan  erf sqrt sigmoid softplus  pow
//   double  2.88 1.51  2.23 3.18 3.50 3.20 1.93 1.94 2.82  2.19 1.77 2.45 0.50    3.62     3.72 0.99
//   float   2.58 3.94  1.87 1.91 1.83 3.10 1.73 2.35 1.35  1.97 2.50 4.00 0.50    3.63     3.42 0.62
// tests/linalg/vector_math_test.cpp holds all of them to a bound of 4.

#include <cstddef>

namespace lather::linalg::vmath {

template <class T>
void exp(const T* in, T* out, std::size_t n);
template <class T>
void log(const T* in, T* out, std::size_t n);
template <class T>
void log1p(const T* in, T* out, std::size_t n);
template <class T>
void sin(const T* in, T* out, std::size_t n);
template <class T>
void cos(const T* in, T* out, std::size_t n);
template <class T>
void tan(const T* in, T* out, std::size_t n);
template <class T>
void sinh(const T* in, T* out, std::size_t n);
template <class T>
void cosh(const T* in, T* out, std::size_t n);
template <class T>
void tanh(const T* in, T* out, std::size_t n);
template <class T>
void asinh(const T* in, T* out, std::size_t n);
template <class T>
void atan(const T* in, T* out, std::size_t n);
template <class T>
void erf(const T* in, T* out, std::size_t n);
template <class T>
void sqrt(const T* in, T* out, std::size_t n);
template <class T>
void sigmoid(const T* in, T* out, std::size_t n);  // 1 / (1 + e^-x)
template <class T>
void softplus(const T* in, T* out, std::size_t n);  // log(1 + e^x)
template <class T>
void pow(const T* base, const T* exponent, T* out, std::size_t n);

}  // namespace lather::linalg::vmath
