#pragma once
// What happened to bases and to tau in steps that nobody watched: the GPU takes many between two looks.

#include <cstdint>
#include <string_view>
#include <vector>

#include "lather/optim/formulas/ss_esoap.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

// The basis of a layer was replaced.
struct BasisEvent {
  std::int64_t step = 0;  // of the optimizer, from 1
  std::string_view block;
  double rho_left = 0, rho_right = 0;  // off-diagonal ratios that led to it
  double gamma = 1;                    // by which V was scaled
  double gradient_cosine = 0;          // between this gradient of the layer and the one before
};

// How well the basis of one layer fits in one step, before it is replaced where it is.
struct BasisFit {
  double rho = 0;  // the larger of its off-diagonal ratios
  double gradient_cosine = 0;
};

// Values of tau of one layer in all steps so far.
struct TauCounts {
  std::string_view block;
  double counts[kTauCounts] = {};  // see formulas/ss_esoap.hpp; exact, as numbers of steps are
};

struct BasisLog {
  // Of the last call of step() or steps().
  std::vector<BasisEvent> events;
  std::int64_t first_step = 1;  // of that call
  std::vector<double>
      losses;  // before each of its steps; empty: it was one step, and its report has the loss
  // Since the beginning.
  std::vector<TauCounts> tau;
  // Of the last call again: step after step, the layers in the order of tau.
  std::vector<BasisFit> fits;
};

// An optimizer that keeps such a log, or has one inside.
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
