#pragma once
// The diagonal of the neural tangent kernel of one term, exactly and without forming a Jacobian.
//
//   K = J J^T,  J_i = d r_i / d theta,  K_ii = sum over all parameters of (d r_i / d theta)^2
//
// Letters: a_c, zbar_c: input and back-propagated signal of a dense layer for jet component c of one point.
//   weight       d r / d W   = sum_c a_c zbar_c^T        |.|^2 = sum_{c,c'} (a_c . a_c') (zbar_c . zbar_c')
//   bias         d r / d b   = zbar_0                    (the bias enters the value only)
//   W = V diag g d r / d V   = (d r / d W) diag g        |.|^2 = sum_{c,c'} (a_c . a_c')
//                                                                (g zbar_c . g zbar_c')
//                d r / d g_j = sum_c zbar_cj (a_c V)_j
//   scalars (PirateNet's alpha, unknowns): one number per point.

#include <span>
#include <vector>

#include "lather/pde/objective.hpp"

namespace lather::train {

// K_ii for every point of the term's set; its weights do not enter. Throws Error in single precision.
std::vector<double> ntk_diagonal(pde::PinnObjective& objective, std::span<const double> x, int term);
double ntk_trace(pde::PinnObjective& objective, std::span<const double> x, int term);

}  // namespace lather::train
