#pragma once
// Continuation in a parameter: the problem is solved for one value after another (Reynolds numbers 100, 400,
// …), each time starting from the weights of the last.
//
//   continuation = {parameter = "Re", values = [100, 400, 1000], steps = [10000, 20000, 50000]}

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/core/state.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/train/stages/shares.hpp"

namespace lather::train {

struct ContinuationOptions {
  std::string parameter;
  std::vector<double> values, steps;
  double warm_noise = 0;
  void fields(FieldVisitor& v) {
    v.text("parameter", parameter, "which of [parameters]");
    v.reals("values", values, "its values, in order; the problem's own value is not added");
    v.reals("steps", steps, "shares of the steps (and of the time) for each value; default: equal ones");
    v.real("warm_noise", warm_noise, "this much of fresh initial weights is added to those of the last value",
           non_negative());
  }
  void validate() const;  // throws Error for lists that are empty or of different lengths
};

class Continuation {
 public:
  // The problem for a value of the parameter.
  using Build = std::function<pde::Problem(double value)>;
  Continuation(const ContinuationOptions& options, Build build);

  const ContinuationOptions& options() const { return options_; }
  int count() const { return static_cast<int>(options_.values.size()); }
  double value(int stage) const { return options_.values[stage]; }
  pde::Problem problem(int stage) const { return build_(value(stage)); }
  // Inserts a value halfway from the previous one (stage > 0): there is one more stage.
  void halve(int stage);
  // Values and shares, after a step was halved.
  void state(StateVisitor& v);
  // The share of a stage in the steps and the time.
  double share(int stage) const { return share_of(options_.steps, stage); }

 private:
  ContinuationOptions options_;
  Build build_;
};

// The parameter's value as written for the problem-file reader: all digits.
pde::Override parameter_override(const std::string& parameter, double value);

}  // namespace lather::train
