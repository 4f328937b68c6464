#pragma once
// The quadratic forms a that SS-eSOAP compares with the secant
// curvature c; formulas/ss_esoap.hpp has the ratio tau.

#include "lather/optim/kronecker/factors.hpp"
#include "lather/optim/kronecker/ss_esoap_options.hpp"

namespace lather::optim {

// sum_ij S~_ij^2 / (d_L,i d_R,j), d the diagonals of the factors in their bases, each raised by floor · its
// largest entry.
double paper_metric_rayleigh(KroneckerPair& K, std::span<const double> S_rotated, double floor);
// Tr(S^T L^-1 S R^-1) by Cholesky; infinite if a factor is singular.
double paper_metric_exact(KroneckerPair& K, std::span<const double> S_rotated, double floor);
// sum_ij S~_ij^2 (d_L,i d_R,j)^p, with the power p of the metric: 1/4, 1/2 or 1.
double factor_metric(SecantMetric metric, KroneckerPair& K, std::span<const double> S_rotated);

}  // namespace lather::optim
