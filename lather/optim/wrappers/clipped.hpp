#pragma once
// Gradient clipping: an Objective that clips the gradients of another, and a wrapper that puts it in front of
// any optimizer. The value is left alone, so line searches would see slopes that do not match it: clip
// first-order methods.

#include <memory>

#include "lather/core/options.hpp"
#include "lather/optim/kronecker/basis_log.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

enum class Clip { norm, value };

struct ClipOptions {
  Clip by = Clip::norm;
  double limit = 1;
  void fields(FieldVisitor& v) {
    v.choice("by", by, "the Euclidean norm of the whole gradient, or each entry",
             {{"norm", Clip::norm}, {"value", Clip::value}});
    v.real("limit", limit, "largest norm or magnitude let through", positive());
  }
};

// Returns whether the gradient was changed. NaN passes through, for the optimizer to report.
bool clip_gradient(const ClipOptions& options, std::span<double> gradient);

class ClippedObjective final : public Objective {
 public:
  ClippedObjective(Objective& inner, const ClipOptions& options) : inner_(inner), options_(options) {}
  const ParameterLayout& layout() const override { return inner_.layout(); }
  bool holds_parameters() const override { return inner_.holds_parameters(); }
  double value(std::span<const double> x) override { return inner_.value(x); }
  void values(std::span<const double> xs, std::span<double> values) override { inner_.values(xs, values); }
  double value_and_gradient(std::span<const double> x, std::span<double> gradient) override;
  std::vector<std::string> term_names() const override { return inner_.term_names(); }
  std::vector<bool> term_is_equation() const override { return inner_.term_is_equation(); }
  // Each term's gradient is clipped separately.
  void term_gradients(std::span<const double> x, std::span<double> losses,
                      std::vector<std::vector<double>>& gradients) override;
  std::size_t residual_count() const override { return inner_.residual_count(); }
  void residuals(std::span<const double> x, std::span<double> r) override { inner_.residuals(x, r); }
  void residuals_at(std::span<const double> xs, std::span<double> r) override { inner_.residuals_at(xs, r); }

 private:
  Objective& inner_;
  ClipOptions options_;
};

class Clipped final : public Optimizer, public KeepsBasisLog {
 public:
  Clipped(std::unique_ptr<Optimizer> inner, const ClipOptions& options)
      : Optimizer(inner->layout()), inner_(std::move(inner)), options_(options) {}
  void objective_changed() override { inner_->objective_changed(); }
  void set_learning_rate_factor(double factor) override { inner_->set_learning_rate_factor(factor); }
  std::size_t memory_bytes() const override { return inner_->memory_bytes(); }
  const BasisLog* basis_log() const override { return basis_log_of(*inner_); }
  std::span<const Diagnostic> diagnostics() const override { return inner_->diagnostics(); }
  void state(StateVisitor& v) override { inner_->state(v); }

 private:
  StepReport take_step(Objective& objective, std::span<double> parameters) override {
    ClippedObjective clipped(objective, options_);
    return inner_->step(clipped, parameters);
  }
  void take_gradient_again(Objective& changed, std::span<const double> parameters) override {
    ClippedObjective clipped(changed, options_);
    inner_->renew_secant(clipped, parameters);
  }
  std::unique_ptr<Optimizer> inner_;
  ClipOptions options_;
};

}  // namespace lather::optim
