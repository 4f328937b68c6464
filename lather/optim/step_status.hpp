#pragma once
// How a gradient step that is not an ordinary one ends: the same words on the host and on the GPU.

#include <fmt/format.h>

#include <cmath>

#include "lather/optim/optimizer.hpp"

namespace lather::optim {

// Block name ("layer1.weight") of the first entry that is NaN or infinite; empty if there is none.
inline std::string first_non_finite(const ParameterLayout& layout, std::span<const double> x) {
  for (const auto& block : layout.blocks())
    for (std::size_t i = 0; i < block.size(); ++i)
      if (!std::isfinite(x[block.offset + i])) return block.name;
  return "";
}

inline void end_with_bad_gradient(StepReport& report, const ParameterLayout& layout,
                                  std::span<const double> gradient) {
  report.status = Status::non_finite;
  const auto where = first_non_finite(layout, gradient);
  report.message = where.empty() ? fmt::format("the loss is {}", report.loss)
                                 : fmt::format("the gradient of {} is not finite", where);
}

inline void end_with_bad_step(StepReport& report, const ParameterLayout& layout,
                              std::span<const double> change) {
  report.status = Status::non_finite;
  report.message =
      fmt::format("the step of {} is not finite at gradient norm {:.3g}; the optimizer's state is lost",
                  first_non_finite(layout, change), report.gradient_norm);
  report.step_norm = 0;
}

inline void end_with_zero_gradient(StepReport& report) {
  if (report.step_norm == 0) report.status = Status::converged;
  report.message = report.step_norm == 0
                       ? "the gradient is exactly zero"
                       : "the gradient is exactly zero; the step comes from momentum and weight decay";
}

}  // namespace lather::optim
