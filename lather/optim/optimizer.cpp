#include "lather/optim/optimizer.hpp"

#include <fmt/format.h>

#include "lather/core/error.hpp"

namespace lather::optim {

void Optimizer::require_fit(const Objective& objective, std::size_t parameters) const {
  if (objective.size() != layout_.size())
    throw Error(fmt::format("the optimizer was made for {} parameters, the objective has {}", layout_.size(),
                            objective.size()));
  require_size("parameters", parameters, objective.holds_parameters() ? 0 : layout_.size());
  if (fits_ != Fits::blocks) return;
  if (const auto difference = different_block(layout_, objective.layout()); !difference.empty())
    throw Error("the optimizer was made for other blocks than those of the objective: " + difference);
}

}  // namespace lather::optim
