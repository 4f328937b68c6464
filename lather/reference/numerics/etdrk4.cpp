#include "lather/reference/numerics/etdrk4.hpp"

#include <cmath>
#include <cstdint>
#include <numbers>

#include "lather/core/interrupt.hpp"

namespace lather::reference {

Etdrk4::Etdrk4(std::span<const Complex> L, Nonlinear nonlinear, ThreadTeam& team)
    : N_(std::move(nonlinear)), team_(team) {
  std::map<std::pair<double, double>, std::uint32_t> seen;
  for (const Complex l : L) {
    const auto [place, added] =
        seen.try_emplace({l.real(), l.imag()}, static_cast<std::uint32_t>(distinct_.size()));
    if (added) distinct_.push_back(l);
    which_.push_back(place->second);
  }
  for (auto* buffer : {&v_, &Nv_, &a_, &Na_, &b_, &Nb_, &c_, &Nc_}) buffer->resize(L.size());
}

Etdrk4::Weights Etdrk4::weights(double h, Complex L) {
  const Complex hL = h * L;
  constexpr int kPoints = 32;  // on the circle of radius 1 around hL; Kassam & Trefethen's number
  Weights w{std::exp(static_cast<long double>(h) * WideComplex(L)), std::exp(hL / 2.0), 0, 0, 0, 0};
  for (int j = 0; j < kPoints; ++j) {
    const Complex z = hL + std::polar(1.0, 2 * std::numbers::pi * (j + 0.5) / kPoints);
    const Complex e = std::exp(z), z3 = z * z * z;
    w.Q += (std::exp(z / 2.0) - 1.0) / z;
    w.f1 += (-4.0 - z + e * (4.0 - 3.0 * z + z * z)) / z3;
    w.f2 += (2.0 + z + e * (z - 2.0)) / z3;
    w.f3 += (-4.0 - 3.0 * z - z * z + e * (4.0 - z)) / z3;
  }
  for (Complex* f : {&w.Q, &w.f1, &w.f2, &w.f3}) {
    *f /= kPoints;
    if (hL.imag() == 0) *f = f->real();
    *f *= h;
  }
  return w;
}

const std::vector<Etdrk4::Weights>& Etdrk4::weights_for(double h) {
  constexpr std::size_t kKept = 64;
  if (const auto found = by_step_.find(h); found != by_step_.end()) return found->second;
  if (by_step_.size() >= kKept) by_step_.clear();
  auto& list = by_step_[h];
  list.resize(distinct_.size());
  team_.run([&](int thread) {
    const auto [begin, end] = share_of(list.size(), thread, team_.size());
    for (std::size_t i = begin; i < end; ++i) list[i] = weights(h, distinct_[i]);
  });
  return list;
}

void Etdrk4::step(double h, std::span<WideComplex> wide) {
  poll_stop();
  const auto& table = weights_for(h);
  const auto for_each_mode = [&](auto&& f) {
    team_.run([&](int thread) {
      const auto [begin, end] = share_of(wide.size(), thread, team_.size());
      for (std::size_t i = begin; i < end; ++i) f(i, table[which_[i]]);
    });
  };
  const auto& v = v_;
  for_each_mode([&](std::size_t i, const Weights&) { v_[i] = Complex(wide[i]); });
  N_(v, Nv_);
  for_each_mode([&](std::size_t i, const Weights& w) { a_[i] = w.E2 * v[i] + w.Q * Nv_[i]; });
  N_(a_, Na_);
  for_each_mode([&](std::size_t i, const Weights& w) { b_[i] = w.E2 * v[i] + w.Q * Na_[i]; });
  N_(b_, Nb_);
  for_each_mode(
      [&](std::size_t i, const Weights& w) { c_[i] = w.E2 * a_[i] + w.Q * (2.0 * Nb_[i] - Nv_[i]); });
  N_(c_, Nc_);
  for_each_mode([&](std::size_t i, const Weights& w) {
    wide[i] = w.E * wide[i] + WideComplex(Nv_[i] * w.f1 + 2.0 * (Na_[i] + Nb_[i]) * w.f2 + Nc_[i] * w.f3);
  });
}

}  // namespace lather::reference
