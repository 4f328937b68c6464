#pragma once
// Solves for the output layer exactly. If equations and conditions are linear in the fields, residuals are
// linear in the weights w of the output layer, r = r_0 + A w, and one orthogonal least-squares solve is all
// the training:
//
//   min |r_0 + A w|^2 + (cutoff |A| |w|)^2       by QR of the rows of [A r_0], which are never held whole
//
// The hidden weights are not trained but drawn, and their scale decides the error: several are tried. Every
// fifth residual is held out of these fits to judge them; the best scale is fitted to all residuals.

#include "lather/core/options.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

struct LinearOptions {
  double smallest_scale = 1, largest_scale = 32;
  std::int64_t scales = 6;
  double cutoff = 1e-16;
  std::int64_t seed = 0;
  void fields(FieldVisitor& v);
};

class Linear final : public Optimizer {
 public:
  Linear(const ParameterLayout& layout, const LinearOptions& options);
  void objective_changed() override { solved_ = false; }
  void set_learning_rate_factor(double) override {}
  std::span<const Diagnostic> diagnostics() const override { return diagnostics_; }
  void state(StateVisitor& visitor) override;

 private:
  StepReport take_step(Objective& objective, std::span<double> x) override;
  enum class Rows { all, fitted, held_out };
  void require_linear(Objective& objective, std::span<const double> x) const;
  void fit(Objective& objective, std::span<double> x, Rows rows) const;
  std::vector<double> residuals(Objective& objective, std::span<const double> x, Rows rows) const;

  LinearOptions options_;
  std::vector<std::size_t> columns_;  // parameters of the output layer
  double scale_ = 0;                  // of the hidden weights; 0: not yet chosen
  bool solved_ = false;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace lather::optim
