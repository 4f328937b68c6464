#include "lather/optim/first_order/gradient_method.hpp"

#include <cmath>

#include "lather/optim/step_status.hpp"

namespace lather::optim {

namespace {

double norm_of_any_scale(std::span<const double> x) {
  double square = 0;
  for (const double value : x) square += value * value;
  if (std::isnormal(square)) return std::sqrt(square);
  // The squares overflowed or underflowed: scale first. NaN and infinity are returned as such.
  double largest = 0;
  for (const double value : x) {
    if (!std::isfinite(value)) return std::abs(value);
    largest = std::max(largest, std::abs(value));
  }
  if (largest == 0) return 0;
  double scaled = 0;
  for (const double value : x) scaled += (value / largest) * (value / largest);
  return largest * std::sqrt(scaled);
}

}  // namespace

double plain_norm(std::span<const double> x) {
  double square = 0;
  for (const double value : x) square += value * value;
  return std::sqrt(square);
}

GradientMethod::GradientMethod(const ParameterLayout& layout, Fits fits)
    : Optimizer(layout, fits), gradient_(layout.size()), change_(layout.size()) {}

double GradientMethod::evaluate(Objective& objective, std::span<const double> x) {
  return objective.value_and_gradient(x, gradient_);
}

StepReport GradientMethod::take_step(Objective& objective, std::span<double> parameters) {
  StepReport report;
  report.loss = evaluate(objective, parameters);
  report.evaluations = 1;
  report.gradient_norm = norm_of_any_scale(gradient_);
  if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm)) {
    end_with_bad_gradient(report, layout_, gradient_);
    return report;
  }

  ++t_;
  diagnostics_.clear();
  note_.clear();
  basis_updates_ = 0;
  update(parameters);
  report.message = note_;
  report.basis_updates = basis_updates_;

  report.step_norm = norm_of_any_scale(change_);
  if (!std::isfinite(report.step_norm)) {
    end_with_bad_step(report, layout_, change_);
    return report;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] += change_[i];
  if (report.gradient_norm == 0) end_with_zero_gradient(report);
  return report;
}

void GradientMethod::state(StateVisitor& visitor) {
  visitor.integer("t", t_);
  visitor.real("learning_rate_factor", factor_);
}

MatrixMethod::MatrixMethod(const ParameterLayout& layout, const AdamConstants& adam, bool vectors_too)
    : GradientMethod(layout, Fits::blocks), adam_(adam), m_(layout.size()), v_(layout.size()) {
  for (const auto& block : layout.blocks()) is_matrix_.push_back(block.matrix || vectors_too);
}

BlockStep MatrixMethod::block_step(std::size_t block, std::span<const double> x) {
  const auto& b = layout_.blocks()[block];
  const auto piece = [&](AlignedVector& flat) { return std::span(flat).subspan(b.offset, b.size()); };
  return {b.rows,    b.cols,   x.subspan(b.offset, b.size()), piece(gradient_), piece(change_),
          piece(m_), piece(v_)};
}

void MatrixMethod::update(std::span<const double> x) {
  for (std::size_t block = 0; block < is_matrix_.size(); ++block) {
    if (is_matrix_[block])
      update_matrix(block, block_step(block, x));
    else
      update_vector(block_step(block, x));
  }
}

void MatrixMethod::update_vector(const BlockStep& step) {
  const auto rule = adam_rule(adam_.beta1, adam_.beta2, adam_.epsilon, t_);
  adam_moments(rule, step.G, step.M, step.V);
  adam_direction(rule, step.M, step.V, step.change);
  descent_change(adam_.learning_rate * factor_, adam_.weight_decay, step.W, step.change, step.change);
}

void MatrixMethod::state(StateVisitor& visitor) {
  GradientMethod::state(visitor);
  visitor.array("m", std::span(m_));
  visitor.array("v", std::span(v_));
}

}  // namespace lather::optim
