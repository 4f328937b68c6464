#pragma once
// Weights of single points: causal weights in time, and self-adaptive ones.
//
// Weights belong to points. When the points change, causal weights are computed anew and self-adaptive ones
// start again. To tell a change of points from a resumed run, the state holds a fingerprint of the points the
// weights were made for.

#include "lather/train/weighting/weighting.hpp"

namespace lather::train {

std::uint64_t fingerprint(const pde::Points& points);

// Letters of Wang, Sankaran & Perdikaris (2024; arXiv 2203.07404), eq. 16 and alg. 1:
// eps, M, delta, w_i, L_j.
//
//   w_i = exp(-eps sum_{j<i} L_j)       over M chunks of points in the order of their time
//
// L_j: mean square residual of chunk j as the file states it, without the term's weight in the loss: a weight
// that brings a large residual down to the size of the others must not switch causality off. Chunks hold
// equal numbers of points. With several equations every chunk takes the smallest of their weights (as the
// authors' code does). Only interior terms are weighted. Not in the paper: weights are recomputed every n
// steps; n = 1 is the paper. A computation costs one forward pass.
class CausalWeighting final : public Weighting {
 public:
  CausalWeighting(const CausalOptions& options, const pde::Problem& problem);
  bool update(std::int64_t step, pde::PinnObjective& objective, std::span<const double> x) override;
  std::int64_t next_change(std::int64_t step) const override { return next_multiple(step, options_.every); }
  void state(StateVisitor& visitor) override;
  std::string describe() const override;
  double tolerance() const { return eps_[stage_]; }

 private:
  struct Set {
    int point_set;
    std::vector<int> terms;
    std::vector<double> weights;  // of its points
    std::int64_t points_fingerprint = 0;
  };
  void compute(Set& set, pde::PinnObjective& objective, std::span<const double> x);

  CausalOptions options_;
  std::vector<double> eps_;
  int time_;
  std::vector<Set> sets_;
  std::int64_t stage_ = 0, updated_ = -1;
  double smallest_ = 1;
};

// w_i for the losses L_0 … L_{M-1} of chunks in time.
std::vector<double> causal_weights(std::span<const double> chunk_losses, double eps);

// McClenny & Braga-Neto (2023; arXiv 2009.04544): every point of every term has a weight m(l_i) = l_i^2 with
// l_i trained by ascent on the loss while the network descends, here by Adam as in the authors' code.
//
//   d L / d l_i = m'(l_i) r_i^2      Departs from the paper: without lambda_k / N, which Adam's division
//                                    takes out anyway
class SelfAdaptiveWeighting final : public Weighting {
 public:
  SelfAdaptiveWeighting(const SelfAdaptiveOptions& options, const pde::Problem& problem);
  bool update(std::int64_t step, pde::PinnObjective& objective, std::span<const double> x) override;
  std::int64_t next_change(std::int64_t step) const override { return next_multiple(step, options_.every); }
  void state(StateVisitor& visitor) override;
  std::string describe() const override;

 private:
  struct Term {
    int point_set;
    std::vector<double> l, m, v;  // mask variables; Adam's moments
    std::int64_t steps = 0, points_fingerprint = 0;
  };
  void install(int k, pde::PinnObjective& objective) const;
  void ascend(Term& term, std::span<const double> residuals) const;

  SelfAdaptiveOptions options_;
  std::vector<Term> terms_;
  std::int64_t updated_ = -1;
};

}  // namespace lather::train
