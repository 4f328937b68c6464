#pragma once
// The forms of linearization.hpp that have files of their own.

#include <algorithm>
#include <functional>

#include "lather/optim/least_squares/linearization.hpp"

namespace lather::optim {

std::unique_ptr<Linearization> make_matrix_free_form(Residuals& residuals,
                                                     const LinearizationOptions& options);
std::unique_ptr<Linearization> make_sketch_form(Residuals& residuals, const LinearizationOptions& options);

inline void negate(std::span<const double> from, std::span<double> to) {
  std::transform(from.begin(), from.end(), to.begin(), std::negate<>());
}

}  // namespace lather::optim
