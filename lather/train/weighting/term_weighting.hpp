#pragma once
// Weights of whole terms that bring their scales into balance:
//
//   lambda_k <- beta lambda_k + (1 - beta) sum_j s_j / s_k       every n steps, beginning with step 0
//                                                                and the problem's weights
//
// gradient-norm (Wang, Teng & Perdikaris 2021; Wang et al. 2023, alg. 1): s_k = |grad L_k|,
//   L_k the mean square residual without its weight lambda_k, but with the weights of its points.
// ntk (Wang, Yu & Perdikaris 2022): s_k = tr(K_k) / N_k, K_k = J_k J_k^T,
//   the mean over the term's points of |grad r_i|^2.
//   Departs from the paper: divided by N_k, since our terms are means; without that a term with more points
//   would count less.
// Not in the paper: the denominator is s_k + 1e-5 mean(s), so a term that is solved does not get an infinite
// weight. Terms the problem gives weight 0 stay out of it.

#include "lather/train/weighting/weighting.hpp"

namespace lather::train {

struct TermWeightingOptions {
  std::int64_t every = 1000;
  double average = 0.9;
  void fields(FieldVisitor& v) {
    v.integer("every", every, "steps between updates", at_least(1));
    v.real("average", average, "beta: share of the old weight in the new one", unit_open_right());
  }
};

class TermWeighting : public Weighting {
 public:
  TermWeighting(const TermWeightingOptions& options, const pde::Problem& problem);
  bool update(std::int64_t step, pde::PinnObjective& objective, std::span<const double> x) override;
  std::int64_t next_change(std::int64_t step) const override { return next_multiple(step, options_.every); }
  void state(StateVisitor& visitor) override;
  std::string describe() const override;

 protected:
  virtual std::string_view name() const = 0;
  // s_k for every term; `lambda` are the weights the objective has.
  virtual std::vector<double> scales(pde::PinnObjective& objective, std::span<const double> x,
                                     std::span<const double> lambda) = 0;

 private:
  TermWeightingOptions options_;
  std::vector<std::string> terms_;
  std::vector<double> lambda_;
  std::int64_t updated_ = -1;  // at which step
  bool installed_ = false;
};

class GradientNormWeighting final : public TermWeighting {
 public:
  using TermWeighting::TermWeighting;

 protected:
  std::string_view name() const override { return "gradient-norm"; }
  std::vector<double> scales(pde::PinnObjective& objective, std::span<const double> x,
                             std::span<const double> lambda) override;
};

class NtkWeighting final : public TermWeighting {
 public:
  using TermWeighting::TermWeighting;

 protected:
  std::string_view name() const override { return "ntk"; }
  std::vector<double> scales(pde::PinnObjective& objective, std::span<const double> x,
                             std::span<const double> lambda) override;
};

}  // namespace lather::train
