#pragma once
// Weights of whole terms that bring their scales into balance, updated every n steps, starting at step 0 from
// the problem's weights. Terms with weight 0 in the problem are left out. L_k is the mean square residual of
// term k without its weight lambda_k, but with the weights of its points.
//
// gradient-norm and ntk:
//
//   lambda_k <- beta lambda_k + (1 - beta) sum_j s_j / s_k
//
//   gradient-norm (Wang, Teng & Perdikaris 2021; Wang et al. 2023, alg. 1): s_k = |grad L_k|.
//   ntk (Wang, Yu & Perdikaris 2022): s_k = tr(K_k) / N_k, K_k = J_k J_k^T, the mean over the term's points
//   of |grad r_i|^2. Departs from the paper: divided by N_k, since our terms are means; without that a term
//   with more points would count less.
//   Not in the papers: the denominator is s_k + 1e-5 mean(s), so a term that is solved does not get an
//   infinite weight.
//
// balance (Webb, Jerad & Cartis 2026, arXiv 2607.02194), with p = 0.05, then divided by the mean weight:
//
//   lambda_k <- lambda_k (mean_j(lambda_j L_j) / (lambda_k L_k))^p
//
//   The weighted losses of all terms are drawn together, slowly enough for a least-squares method to follow.
//   Not in the paper: lambda_k L_k + 1e-12 mean in the denominator.

#include "lather/train/weighting/weighting.hpp"

namespace lather::train {

class TermWeighting : public Weighting {
 public:
  TermWeighting(std::int64_t every, const pde::Problem& problem);
  bool update(std::int64_t step, pde::PinnObjective& objective, std::span<const double> x) override;
  std::int64_t next_change(std::int64_t step) const override { return next_multiple(step, every_); }
  void state(StateVisitor& visitor) override;
  std::string describe() const override;

 protected:
  virtual std::string_view name() const = 0;
  // New weights to replace the objective's; false: nothing to go by, the weights stay.
  virtual bool renew(pde::PinnObjective& objective, std::span<const double> x, std::span<double> lambda) = 0;

 private:
  std::int64_t every_;
  std::vector<std::string> terms_;
  std::vector<double> lambda_;
  std::int64_t updated_ = -1;  // at which step
  bool installed_ = false;
};

class ScaleWeighting : public TermWeighting {
 public:
  ScaleWeighting(const TermWeightingOptions& options, const pde::Problem& problem)
      : TermWeighting(options.every, problem), average_(options.average) {}

 protected:
  bool renew(pde::PinnObjective& objective, std::span<const double> x, std::span<double> lambda) override;
  // s_k for every term; `lambda`: the objective's weights.
  virtual std::vector<double> scales(pde::PinnObjective& objective, std::span<const double> x,
                                     std::span<const double> lambda) = 0;

 private:
  double average_;
};

class GradientNormWeighting final : public ScaleWeighting {
 public:
  using ScaleWeighting::ScaleWeighting;

 protected:
  std::string_view name() const override { return "gradient-norm"; }
  std::vector<double> scales(pde::PinnObjective& objective, std::span<const double> x,
                             std::span<const double> lambda) override;
};

class NtkWeighting final : public ScaleWeighting {
 public:
  using ScaleWeighting::ScaleWeighting;

 protected:
  std::string_view name() const override { return "ntk"; }
  std::vector<double> scales(pde::PinnObjective& objective, std::span<const double> x,
                             std::span<const double> lambda) override;
};

class BalanceWeighting final : public TermWeighting {
 public:
  BalanceWeighting(const BalanceOptions& options, const pde::Problem& problem)
      : TermWeighting(options.every, problem), exponent_(options.exponent) {}

 protected:
  std::string_view name() const override { return "balance"; }
  bool renew(pde::PinnObjective& objective, std::span<const double> x, std::span<double> lambda) override;

 private:
  double exponent_;
};

// The rule of `balance`: `weighted` holds lambda_k L_k.
void balance(std::span<double> lambda, std::span<const double> weighted, double exponent);

}  // namespace lather::train
