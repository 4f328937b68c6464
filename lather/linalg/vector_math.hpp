#pragma once
// Elementary functions over arrays, for T = double and float: out[i] = f(in[i]); out may be in, other overlap
// may not be. Vectorized with glibc's libmvec or own code. The same input gives the same bits wherever in an
// array it stands.

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
