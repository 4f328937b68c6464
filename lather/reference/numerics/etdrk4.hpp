#pragma once
// Exponential time differencing, fourth-order Runge–Kutta (Cox & Matthews 2002), for v' = L v + N(v) with
// diagonal L; the coefficients are computed as means over a circle (Kassam & Trefethen 2005), which avoids
// the cancellation in their closed forms.
//
//   letters: h step; E = e^{hL}; E2 = e^{hL/2}; Q, f1, f2, f3 the weights of N (Kassam & Trefethen, eqs. 2.5
//   and the listing)
//
// The state and E are long double: E is the same at every step, so its rounding does not average out but adds
// up. Measured: with this, and with times no longer rounded to 40 bits, KdV went from 5e-11 to 1.4e-14; the
// share of each was not measured. N is multiplied by h, and double is enough for it.

#include <complex>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "lather/reference/numerics/fourier.hpp"

namespace lather::reference {

using WideComplex = std::complex<long double>;

class Etdrk4 {
 public:
  using Nonlinear = std::function<void(std::span<const Complex> v, std::span<Complex> out)>;
  Etdrk4(std::span<const Complex> L, Nonlinear nonlinear, ThreadTeam& team);
  void step(double h, std::span<WideComplex> wide);

  struct Weights {
    WideComplex E;
    Complex E2, Q, f1, f2, f3;
  };
  static Weights weights(double h, Complex L);

 private:
  const std::vector<Weights>& weights_for(double h);

  std::vector<Complex> distinct_;     // values of L, each once
  std::vector<std::uint32_t> which_;  // mode -> index into distinct_
  Nonlinear N_;
  ThreadTeam& team_;
  std::map<double, std::vector<Weights>> by_step_;
  std::vector<Complex> v_, Nv_, a_, Na_, b_, Nb_, c_, Nc_;
};

}  // namespace lather::reference
