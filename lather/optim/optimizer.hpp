#pragma once
// One optimizer = one pair of files that reads like its paper. It sees an Objective and a flat parameter
// array, nothing else.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lather/core/state.hpp"
#include "lather/optim/objective.hpp"

namespace lather::optim {

// How a step went. Everything except `running` means that further steps would do nothing new.
enum class Status {
  running,    // a step was taken
  converged,  // the gradient vanished, or a tolerance the user gave was met
  stalled,  // no progress is possible in this precision (line search at rounding level, step of zero length)
  non_finite,  // loss or gradient is NaN or infinite; parameters were left as they were
};

struct StepReport {
  double loss = 0;           // at the parameters before the step
  double gradient_norm = 0;  // Euclidean, before the step
  double step_norm = 0;      // Euclidean length of the change of the parameters
  int evaluations = 0;       // of the objective, with or without gradient
  int basis_updates = 0;     // Kronecker methods: layers whose eigenbases were replaced
  Status status = Status::running;
  std::string message;  // in words, whenever status is not running or something is worth saying
};

// A number about one block: {"layer1.weight", "tau", 0.83}.
struct Diagnostic {
  std::string_view block, quantity;
  double value;
};

// Size of the elements of vectors.
template <class... Vectors>
std::size_t bytes_of(const Vectors&... vectors) {
  return (std::size_t{0} + ... + (vectors.size() * sizeof(typename Vectors::value_type)));
}

struct ClipOptions;

// What a method takes for granted about the objective: as many parameters as the layout it was made for, or
// the same matrices and vectors too.
enum class Fits { size, blocks };

class Optimizer {
 public:
  explicit Optimizer(const ParameterLayout& layout, Fits fits = Fits::size) : layout_(layout), fits_(fits) {}
  virtual ~Optimizer() = default;
  const ParameterLayout& layout() const { return layout_; }

  // One iteration. NaN, a failed line search or a singular matrix is a status in words, never an exception.
  // Throws Error, before anything is touched, if objective or parameters do not fit.
  StepReport step(Objective& objective, std::span<double> parameters) {
    require_fit(objective, parameters.size());
    return take_step(objective, parameters);
  }

  // At most factors.size() iterations in a row, factors[i] being the learning-rate factor of the i-th; at
  // least one. `done` says how many were taken; the report describes the last one, its counts cover all of
  // them. Methods that live on the GPU take many before reporting to the host.
  StepReport steps(Objective& objective, std::span<double> parameters, std::span<const double> factors,
                   std::int64_t& done) {
    require_fit(objective, parameters.size());
    return take_steps(objective, parameters, factors, done);
  }

  // The objective is no longer the same function (points resampled, weights changed): secants across the
  // change are invalid.
  virtual void objective_changed() {}

  // The same, for an objective that changes in every step, such as a batch: a method that compares successive
  // gradients may take the last one again, of the new function at the point before the last step, and so keep
  // its secant. Costs one gradient where it is used.
  void renew_secant(Objective& changed, std::span<const double> parameters) {
    require_fit(changed, parameters.size());
    take_gradient_again(changed, parameters);
  }

  // Schedules multiply the learning rate given in the options by this factor. Line-search methods ignore it.
  virtual void set_learning_rate_factor(double factor) = 0;

  // Clips gradients itself, if it can; otherwise optim/wrappers/clipped.hpp does it from outside.
  virtual bool clip_gradients(const ClipOptions& /*options*/) { return false; }

  // Of the last step; valid until the next one.
  virtual std::span<const Diagnostic> diagnostics() const { return {}; }

  // Bytes it holds now, on the host and on the GPU together.
  virtual std::size_t memory_bytes() const { return 0; }

  // Everything needed to continue bit for bit.
  virtual void state(StateVisitor& visitor) = 0;

 protected:
  virtual StepReport take_step(Objective& objective, std::span<double> parameters) = 0;
  virtual StepReport take_steps(Objective& objective, std::span<double> parameters,
                                std::span<const double> factors, std::int64_t& done) {
    set_learning_rate_factor(factors[0]);
    done = 1;
    return take_step(objective, parameters);
  }
  virtual void take_gradient_again(Objective& /*changed*/, std::span<const double> /*parameters*/) {
    objective_changed();
  }

  ParameterLayout layout_;

 private:
  void require_fit(const Objective& objective, std::size_t parameters) const;
  Fits fits_;
};

}  // namespace lather::optim
