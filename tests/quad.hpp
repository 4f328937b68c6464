#pragma once
// __float128 with the <cmath> names, so that the templates of
// the library can be evaluated in quadruple precision.

#include <quadmath.h>

namespace lather::test {

struct Quad {
  __float128 v = 0;
  Quad() = default;
  Quad(__float128 x) : v(x) {}
  Quad(double x) : v(x) {}
  Quad(int x) : v(x) {}
  explicit operator double() const { return static_cast<double>(v); }
  Quad& operator+=(Quad o) {
    v += o.v;
    return *this;
  }
  Quad& operator-=(Quad o) {
    v -= o.v;
    return *this;
  }
  Quad& operator*=(Quad o) {
    v *= o.v;
    return *this;
  }
  Quad& operator/=(Quad o) {
    v /= o.v;
    return *this;
  }
  friend Quad operator+(Quad a, Quad b) { return a.v + b.v; }
  friend Quad operator-(Quad a, Quad b) { return a.v - b.v; }
  friend Quad operator*(Quad a, Quad b) { return a.v * b.v; }
  friend Quad operator/(Quad a, Quad b) { return a.v / b.v; }
  friend Quad operator-(Quad a) { return -a.v; }
  friend bool operator<(Quad a, Quad b) { return a.v < b.v; }
  friend bool operator>(Quad a, Quad b) { return a.v > b.v; }
  friend bool operator>=(Quad a, Quad b) { return a.v >= b.v; }
};
inline Quad exp(Quad x) { return expq(x.v); }
inline Quad log(Quad x) { return logq(x.v); }
inline Quad log1p(Quad x) { return log1pq(x.v); }
inline Quad sqrt(Quad x) { return sqrtq(x.v); }
inline Quad sin(Quad x) { return sinq(x.v); }
inline Quad cos(Quad x) { return cosq(x.v); }
inline Quad tan(Quad x) { return tanq(x.v); }
inline Quad sinh(Quad x) { return sinhq(x.v); }
inline Quad cosh(Quad x) { return coshq(x.v); }
inline Quad tanh(Quad x) { return tanhq(x.v); }
inline Quad asinh(Quad x) { return asinhq(x.v); }
inline Quad atan(Quad x) { return atanq(x.v); }
inline Quad erf(Quad x) { return erfq(x.v); }
inline Quad fabs(Quad x) { return fabsq(x.v); }
inline Quad atan2(Quad y, Quad x) { return atan2q(y.v, x.v); }
inline Quad pow(Quad x, Quad y) { return powq(x.v, y.v); }

}  // namespace lather::test
