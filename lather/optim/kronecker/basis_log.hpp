#pragma once
// What happened to bases and to tau in steps that nobody observed: the GPU takes many between two reports.

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "lather/optim/formulas/ss_esoap.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

// Instead of the cosine between a gradient and the previous one, in the optimizer's first step.
inline constexpr double kNoCosine = std::numeric_limits<double>::quiet_NaN();

// The basis of a layer was replaced or, in the first step, set.
struct BasisEvent {
  std::int64_t step = 0;  // of the optimizer, counted from 1
  std::string_view block;
  double rho_left = 0, rho_right = 0;  // off-diagonal ratios that led to it
  double gamma = 1;                    // factor by which V was scaled
  double gradient_cosine = kNoCosine;  // between the layer's gradient and its previous one
};

// How well the basis of one layer fits in one step, measured before any replacement.
struct BasisFit {
  double rho = 0;  // the larger of its off-diagonal ratios
  double gradient_cosine = kNoCosine;
};

// Counts of tau values of one layer over all steps so far.
struct TauCounts {
  std::string_view block;
  double counts[kTauCounts] = {};  // see formulas/ss_esoap.hpp; exact, since they count steps
};

struct BasisLog {
  // From the last call to step() or steps().
  std::vector<BasisEvent> events;
  std::int64_t first_step = 1;  // of that call
  std::vector<double>
      losses;  // before each of its steps; empty: it was one step, and its report has the loss
  // Since the beginning.
  std::vector<TauCounts> tau;
  // From the last call again: step by step, the layers in the order of tau.
  std::vector<BasisFit> fits;
};

// An optimizer that keeps such a log, or wraps one that does.
class KeepsBasisLog {
 public:
  virtual ~KeepsBasisLog() = default;
  virtual const BasisLog* basis_log() const = 0;  // null: there is none
};

inline const BasisLog* basis_log_of(const Optimizer& optimizer) {
  const auto* keeper = dynamic_cast<const KeepsBasisLog*>(&optimizer);
  return keeper ? keeper->basis_log() : nullptr;
}

}  // namespace lather::optim
