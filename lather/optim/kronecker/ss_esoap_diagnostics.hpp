#pragma once
// What SS-eSOAP reports about a layer after a step, on the host and on the GPU.

#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "lather/optim/optimizer.hpp"

namespace lather::optim {

struct EigenvalueRange {
  double low, high;
};

struct SsEsoapDiagnostics {
  double tau, c, a, rho, gamma, basis_changed;
  double largest_entry;                        // of the direction in the basis, before tau
  double gradient_cosine;                      // not a number: there is none
  std::optional<EigenvalueRange> left, right;  // of the factors that exist
};

inline void add_diagnostics(std::vector<Diagnostic>& diagnostics, std::string_view block,
                            const SsEsoapDiagnostics& d) {
  const auto say = [&](std::string_view quantity, double value) {
    diagnostics.push_back({block, quantity, value});
  };
  say("tau", d.tau);
  say("c", d.c);
  say("a", d.a);
  say("rho", d.rho);
  say("gamma", d.gamma);
  say("basis_changed", d.basis_changed);
  say("largest_entry", d.largest_entry);
  if (!std::isnan(d.gradient_cosine)) say("gradient_cosine", d.gradient_cosine);
  if (d.left) {
    say("left_eigenvalue_min", d.left->low);
    say("left_eigenvalue_max", d.left->high);
  }
  if (d.right) {
    say("right_eigenvalue_min", d.right->low);
    say("right_eigenvalue_max", d.right->high);
  }
}

}  // namespace lather::optim
