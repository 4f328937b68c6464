#pragma once
// Values and derivatives of a Boussinesq profile, in the compact coordinates (q, eta) and in the physical
// half plane (y1, y2).

#include <array>
#include <span>

#include "lather/reference/boussinesq/solver.hpp"

namespace lather::reference {

class BoussinesqFields {
 public:
  static constexpr int kHighestOrder = 3;  // of nodal derivatives
  explicit BoussinesqFields(const BoussinesqProfile& profile);

  enum Compact { w, h, c };
  enum Physical { Omega, U1, U2, Phi, Psi, Theta };

  double lambda() const { return lambda_; }
  double compact(Compact field, int by_q, int by_eta, double q, double eta) const;
  // The same fields with the envelope Q = (cosh xi)^-alpha instead of q = e^{-alpha xi}, as functions of (z,
  // eta), xi = log((1 + z)/(1 - z))/stretch; by_z + by_eta <= 2, 0 <= z < 1.
  double even(Compact field, int by_z, int by_eta, double z, double eta, double stretch) const;
  // ∂_1^a ∂_2^b of a physical field, a + b <= 2; y1 of either sign, y2 >= 0.
  double physical(Physical field, int a, int b, double y1, double y2) const;

 private:
  struct Weights {
    std::vector<double> q, s;
  };
  Weights weights_at(double q, double eta) const;
  double nodal(Compact field, int by_q, int by_s, const Weights& at) const;
  double plane(Compact field, int a, int b, double y1,
               double y2) const;  // ∂_1^a ∂_2^b of Omega, Theta or psi, y1 >= 0
  double beside_focus(Compact field, int a, int b, double y1, double y2) const;

  double lambda_, alpha_;
  std::vector<double> q_, s_;  // nodes; s: the stretched eta
  // grids_[field][index of (a, b)]: ∂_q^a ∂_s^b at the nodes
  std::array<std::vector<Table<double>>, 3> grids_;
};

}  // namespace lather::reference
