#pragma once
// The update of a dense inverse Hessian H shared by BFGS, SS-BFGS and SS-Broyden (Urbán, Stefanou & Pons
// 2025, eqs 7–13):
//
//   H+ = [ H - H y y^T H / (y^T H y) + phi (y^T H y) v v^T ] / tau + rho s s^T,
//   v  = rho s - H y / (y^T H y)
//
// The methods differ only in the two numbers tau (self-scaling) and phi (member of Broyden's family); both
// are functions of
//
//   rho = 1 / y.s      b = s^T H^{-1} s / y.s      h = y^T H y / y.s      a = h b - 1 >= 0
//
// Every choice satisfies the secant equation H+ y = s.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "lather/core/state.hpp"
#include "lather/core/threads.hpp"

namespace lather::optim {

struct Curvature {
  double rho, b, h, a;
  std::size_t n;  // number of parameters
};

struct Scaling {
  double tau = 1, phi = 1;
};
using ScalingRule = std::function<Scaling(const Curvature&)>;

// A step s = alpha p along p = -H g. H^{-1} s = -alpha g, which gives b without an inverse.
struct SecantPair {
  std::span<const double> s, y;
  double alpha;
  std::span<const double> gradient_before;
};

struct UpdateReport {
  bool applied = false;
  std::string message;  // why H was left as it is, or what was replaced
  Curvature curvature{};
  Scaling scaling;
};

// A symmetric n × n matrix, wherever it is stored.
class InverseHessian {
 public:
  virtual ~InverseHessian() = default;
  virtual void set_to_identity(double scale) = 0;
  virtual void multiply(std::span<const double> x, std::span<double> result) = 0;  // result = H x
  // H <- scale H - p p^T + sign q q^T + r r^T, symmetric to the last bit
  struct Correction {
    double scale;
    std::span<const double> p, q;
    double sign;
    std::span<const double> r;
  };
  virtual void correct(const Correction& c) = 0;
  virtual void state(StateVisitor& visitor) = 0;
};
std::unique_ptr<InverseHessian> make_inverse_hessian(std::size_t n);
// On the GPU; null if this program was built without CUDA.
std::unique_ptr<InverseHessian> make_device_inverse_hessian(std::size_t n);
std::size_t device_memory_bytes();  // of the GPU; 0 if this program was built without CUDA

// Updates H in O(n^2). H is left alone if y.s or y.Hy is not positive and finite.
UpdateReport update_inverse_hessian(InverseHessian& H, const SecantPair& pair, const ScalingRule& rule);
// The same for an array.
UpdateReport update_inverse_hessian(std::span<double> H, const SecantPair& pair, const ScalingRule& rule,
                                    ThreadTeam* team = nullptr);

}  // namespace lather::optim
