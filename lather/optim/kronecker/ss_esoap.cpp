// Letters of the paper: W parameters, G gradient, L, R Kronecker factors, Q_L, Q_R bases, M, V moments in the
// basis, rho off-diagonal ratio, gamma downscaling of V, S last step, Y change of the gradient, c = <Y, S>, a
// metric of S, tau, U step. A tilde (here: _rotated, or Layer::G and Layer::S) means: in the basis.
//
// Same result as Algorithm 2 with less work: the factors live in the basis, where
//   L~ = b2 L~ + (1 - b2) G~ G~^T   because   Q^T (G G^T) Q = G~ G~^T   (G~ = Q_L^T G Q_R is needed anyway),
// so rho costs O(d^2), the eigenvalues that a needs are diag(L~), and a basis change diagonalizes L~ itself:
// L~ = X D X^T, Q <- Q X, L~ <- D. A step without a basis change does six products and nothing else of cubic
// cost.

#include "lather/optim/kronecker/ss_esoap.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lather/core/error.hpp"
#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/products.hpp"
#include "lather/optim/kronecker/ss_esoap_diagnostics.hpp"
#include "lather/optim/kronecker/ss_esoap_metric.hpp"

namespace lather::optim {

using linalg::view;

namespace {

double plain_dot(std::span<const double> x, std::span<const double> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

void sort_descending_diagonal(const KroneckerSide& side, std::vector<std::size_t>& order) {
  order.resize(side.d);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return side.factor[a * side.d + a] > side.factor[b * side.d + b]; });
}

}  // namespace

void require_gammas(const SsEsoapOptions& o) {
  if (o.gamma_values.size() != o.gamma_thresholds.size() + 1)
    throw Error("ss-esoap.gamma_values: expected " + std::to_string(o.gamma_thresholds.size() + 1) +
                " values, one more than gamma_thresholds");
  if (!std::is_sorted(o.gamma_thresholds.begin(), o.gamma_thresholds.end()))
    throw Error("ss-esoap.gamma_thresholds: expected ascending values");
  for (const double gamma : o.gamma_values)
    if (!(gamma > 0 && gamma <= 1)) throw Error("ss-esoap.gamma_values: expected values in (0, 1]");
}

SsEsoap::SsEsoap(const ParameterLayout& layout, const SsEsoapOptions& o)
    : MatrixMethod(layout, {o.learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay},
                   o.precondition_vectors),
      options_(o),
      previous_gradient_(layout.size()) {
  require_gammas(o);
  std::size_t largest_block = 0, largest_side = 0;
  for (std::size_t k = 0; k < is_matrix_.size(); ++k) {
    const auto& block = layout.blocks()[k];
    index_.push_back(layers_.size());
    if (!is_matrix_[k]) continue;
    layers_.push_back({.block = k,
                       .K = KroneckerPair(block.rows, block.cols, static_cast<std::size_t>(o.max_dimension),
                                          o.factor_epsilon),
                       .G = AlignedVector(block.size()),
                       .S = AlignedVector(block.size())});
    largest_block = std::max(largest_block, block.size());
    largest_side = std::max({largest_side, layers_.back().K.left.d, layers_.back().K.right.d});
  }
  for (const auto& layer : layers_) log_.tau.push_back({layout_.blocks()[layer.block].name, {}});
  scratch_.resize(largest_block);
  squares_.resize(3 * largest_side * largest_side);
  diagnostics_.reserve(16 * layers_.size());
}

// Adam's constants for this layer at this step.
AdamRule SsEsoap::inner_rule(const Layer& layer, std::span<const double> V) const {
  const auto& o = options_;
  auto rule = adam_rule(o.beta1, o.beta2, o.epsilon, t_);
  if (!o.correct_bias) rule.correction1 = 1;
  rule.correction2 = o.correct_bias ? bias_correction(o.beta2, static_cast<double>(layer.variance_steps)) : 1;
  rule.epsilon =
      inner_epsilon(o.epsilon, o.relative_epsilon, *std::max_element(V.begin(), V.end()), rule.correction2);
  return rule;
}

bool SsEsoap::self_scaling_on() const { return secant_valid_ && options_.secant_metric != SecantMetric::off; }

void SsEsoap::take_gradient_again(Objective& changed, std::span<const double> x) {
  secant_valid_ = false;
  if (t_ == 0 || options_.secant_metric == SecantMetric::off) return;
  AlignedVector before(x.begin(), x.end());
  for (std::size_t i = 0; i < before.size(); ++i) before[i] -= change_[i];
  changed.value_and_gradient(before, previous_gradient_);
  secant_valid_ = std::all_of(previous_gradient_.begin(), previous_gradient_.end(),
                              [](double g) { return std::isfinite(g); });
}

void SsEsoap::update(std::span<const double> x) {
  const auto& o = options_;
  for (auto& layer : layers_) advance(layer, block_step(layer.block, x));

  double c = 0, a = 0;
  for (const auto& layer : layers_) c += layer.c, a += layer.a;
  for (auto& layer : layers_) {
    if (!self_scaling_on())
      layer.tau = 1;
    else if (o.tau_scope == TauScope::global)
      layer.tau = self_scaling(c, a, o.tau_min, o.tau_max);
    else
      layer.tau = self_scaling(layer.c, layer.a, o.tau_min, o.tau_max);
  }

  keep_log();
  MatrixMethod::update(x);  // Alg. 2, step 5, and Adam for the blocks that are not matrices
  std::copy(gradient_.begin(), gradient_.end(), previous_gradient_.begin());
  secant_valid_ = true;
}

void SsEsoap::keep_log() {
  log_.events.clear();
  log_.fits.clear();
  log_.first_step = t_;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    if (layer.basis_changed)
      log_.events.push_back({t_, layout_.blocks()[layer.block].name, layer.rho_left, layer.rho_right,
                             layer.gamma, layer.gradient_cosine});
    log_.fits.push_back({layer.rho, layer.gradient_cosine});
    if (self_scaling_on()) count_tau(log_.tau[l].counts, layer.tau, layer.c, options_.tau_min);
  }
}

void SsEsoap::advance(Layer& layer, const BlockStep& s) {
  const auto& o = options_;
  auto& K = layer.K;
  K.rotate_in(s.G, layer.G);                    // G~ = Q_L^T G Q_R
  K.accumulate(o.beta2, 1 - o.beta2, layer.G);  // L~ = b2 L~ + (1 - b2) G~ G~^T, R~ likewise
  check_basis(layer, s);
  ++layer.variance_steps;
  adam_moments(adam_rule(o.beta1, o.beta2, o.epsilon, t_), layer.G, s.M, s.V);
  if (t_ > 1) measure_secant(layer, s);
}

void SsEsoap::check_basis(Layer& layer, const BlockStep& s) {
  const auto& o = options_;
  const auto ratio = [&](KroneckerSide& side) {
    if (!side.active()) return 0.0;
    const auto [off, norm] = off_diagonal(side.factor_view());
    return off_diagonal_ratio(off, norm, o.ratio_epsilon);
  };
  const double left = ratio(layer.K.left), right = ratio(layer.K.right);
  layer.rho_left = left;
  layer.rho_right = right;
  layer.rho = std::max(left, right);
  layer.gamma = 1;
  layer.basis_changed = false;
  if (!is_check_due(t_, o.warmup_steps, o.check_interval) || !(layer.rho > o.trigger)) return;
  change_basis(layer, s, side_fires(o.trigger_rule, left, o.trigger),
               side_fires(o.trigger_rule, right, o.trigger));
}

void SsEsoap::change_basis(Layer& layer, const BlockStep& s, bool left, bool right) {
  auto& K = layer.K;
  const std::span momentum = std::span(scratch_).first(s.G.size());
  K.rotate_out(s.M, momentum);
  const auto QL_old = K.left.basis, QR_old = K.right.basis;
  const bool left_changed = left && replace_basis(K.left, layer.left_order);
  const bool right_changed = right && replace_basis(K.right, layer.right_order);
  if (!left_changed && !right_changed) return;
  if (!left_changed) layer.left_order.clear();
  if (!right_changed) layer.right_order.clear();

  K.rotate_in(momentum, s.M);  // the momentum keeps its direction: M~ = (Q_new^T Q_old) M~ (Q_old^T Q_new)
  carry_over_variance(layer, s.V, QL_old, QR_old);
  if (options_.variance_transition == VarianceTransition::reset_both) std::ranges::fill(s.M, 0.0);
  if (options_.keep_step_bound) raise_variance(s);
  K.rotate_in(s.G, layer.G);
  layer.basis_changed = true;
  ++basis_updates_;
}

// `order` sorts the old directions by the factor's diagonal entries. False if the old basis is kept.
bool SsEsoap::replace_basis(KroneckerSide& side, std::vector<std::size_t>& order) {
  if (!side.active()) return false;
  sort_descending_diagonal(side, order);
  if (diagonalize(side)) return true;
  note_ = "an eigenbasis could not be computed; the old one is kept";
  return false;
}

// Q <- eigenvectors of the factor, in descending order; the factor becomes its eigenvalues.
bool SsEsoap::diagonalize(KroneckerSide& side) {
  const std::size_t d = side.d;
  const auto X = view(std::span(squares_).first(d * d), d, d);
  const auto Q_new = view(std::span(squares_).subspan(d * d, d * d), d, d);
  AlignedVector eigenvalues(d);
  if (!linalg::eigenvectors(side.factor_view(), eigenvalues, X)) return false;  // L~ = X D X^T
  linalg::multiply(Q_new, side.basis_view(), X);                                // Q <- Q X
  std::copy_n(Q_new.data, d * d, side.basis.begin());
  linalg::reorthonormalize(side.basis_view(), std::span(squares_).subspan(d * d, 2 * d * d));
  linalg::make_canonical(eigenvalues, side.basis_view());
  std::fill(side.factor.begin(), side.factor.end(), 0.0);
  for (std::size_t i = 0; i < d; ++i) side.factor[i * d + i] = std::max(eigenvalues[i], 0.0);  // L~ <- D
  return true;
}

void SsEsoap::carry_over_variance(Layer& layer, std::span<double> V, const AlignedVector& QL_old,
                                  const AlignedVector& QR_old) {
  const auto& o = options_;
  auto& K = layer.K;
  const std::span other = std::span(scratch_).first(V.size());
  switch (o.variance_transition) {
    case VarianceTransition::downscale:
      layer.gamma = downscaling(layer.rho, o.gamma_thresholds.data(),
                                static_cast<int>(o.gamma_thresholds.size()), o.gamma_values.data());
      for (double& v : V) v *= layer.gamma;
      return;
    case VarianceTransition::keep: return;
    case VarianceTransition::reset:
    case VarianceTransition::reset_both:
      std::fill(V.begin(), V.end(), 0.0);
      layer.variance_steps = 0;
      return;
    case VarianceTransition::permute: {
      const auto at = [](const std::vector<std::size_t>& order, std::size_t i) {
        return order.empty() ? i : order[i];
      };
      for (std::size_t i = 0; i < K.rows; ++i)
        for (std::size_t j = 0; j < K.cols; ++j)
          other[i * K.cols + j] = V[at(layer.left_order, i) * K.cols + at(layer.right_order, j)];
      std::copy(other.begin(), other.end(), V.begin());
      return;
    }
    case VarianceTransition::reproject:
    case VarianceTransition::reproject_squared: break;
  }

  // U = Q_new^T Q_old on each side; V <- U_L V U_R^T, or the same with the entries of U squared, which keeps
  // V non-negative.
  KroneckerPair turn = K;
  const auto transition = [&](KroneckerSide& side, KroneckerSide& now, const AlignedVector& Q_old) {
    if (!side.active()) return;
    linalg::multiply_left_transposed(side.basis_view(), now.basis_view(),
                                     view(std::span(Q_old), side.d, side.d));
    if (o.variance_transition == VarianceTransition::reproject_squared)
      for (double& u : side.basis) u *= u;
  };
  transition(turn.left, K.left, QL_old);
  transition(turn.right, K.right, QR_old);
  turn.rotate_out(V, other);  // U_L V U_R^T
  for (std::size_t i = 0; i < V.size(); ++i) V[i] = std::max(other[i], 0.0);
}

// V in a new basis is an estimate; that it is at least M^2 / C^2 is certain, and keeps Adam's bound on a step.
void SsEsoap::raise_variance(const BlockStep& s) {
  const double bound = moment_bound(options_.beta1, options_.beta2, static_cast<double>(t_ - 1));
  for (std::size_t i = 0; i < s.V.size(); ++i) s.V[i] = std::max(s.V[i], least_second_moment(s.M[i], bound));
}

void SsEsoap::measure_secant(Layer& layer, const BlockStep& s) {
  const auto& o = options_;
  const std::span<const double> S = s.change;  // still the previous step
  const auto G_old =
      std::span<const double>(previous_gradient_).subspan(layout_.blocks()[layer.block].offset, S.size());
  const double old_new = plain_dot(s.G, G_old), new_new = plain_dot(s.G, s.G),
               old_old = plain_dot(G_old, G_old);
  layer.gradient_cosine = cosine(old_new, new_new, old_old);
  layer.c = 0;
  for (std::size_t i = 0; i < S.size(); ++i) layer.c += (s.G[i] - G_old[i]) * S[i];  // c = <Y, S>

  layer.a = 0;
  if (!self_scaling_on()) return;

  // Without weight decay, the last step has already stored S~ = -eta U~.
  if (needs_rotated_step(o.secant_metric) && (layer.basis_changed || o.weight_decay > 0))
    layer.K.rotate_in(S, layer.S);
  switch (o.secant_metric) {
    case SecantMetric::off: break;
    case SecantMetric::paper:
      layer.a = o.secant_eigenvalues == SecantEigenvalues::exact
                    ? paper_metric_exact(layer.K, layer.S, o.eigenvalue_floor)
                    : paper_metric_rayleigh(layer.K, layer.S, o.eigenvalue_floor);
      break;
    case SecantMetric::adam: {
      // The metric of the inner update: diag(sqrt V^ + eps) / eta for Adam, I / eta for momentum.
      const auto rule = inner_rule(layer, s.V);
      const bool adam = o.inner_update == InnerUpdate::adam;
      double sum = 0;
      for (std::size_t i = 0; i < S.size(); ++i)
        sum += layer.S[i] * layer.S[i] * (adam ? adam_root(s.V[i], rule.correction2, rule.epsilon) : 1);
      layer.a = sum;
      break;
    }
    case SecantMetric::shampoo:
    case SecantMetric::kronecker_root:
    case SecantMetric::kronecker: layer.a = factor_metric(o.secant_metric, layer.K, layer.S); break;
    case SecantMetric::oren_luenberger: layer.a = -plain_dot(S, G_old); break;
    case SecantMetric::identity: layer.a = plain_dot(S, S); break;
  }
  if (is_divided_by_rate(o.secant_metric)) layer.a /= rate();
}

void SsEsoap::update_matrix(std::size_t block, const BlockStep& s) {
  const auto& o = options_;
  auto& layer = layers_[index_[block]];
  const auto rule = inner_rule(layer, s.V);
  const std::span U = layer.G;  // U~ overwrites G~, which is no longer needed
  if (o.inner_update == InnerUpdate::adam)
    adam_direction(rule, s.M, s.V, U);
  else
    for (std::size_t i = 0; i < U.size(); ++i) U[i] = s.M[i] / rule.correction1;
  layer.largest_entry = 0;
  for (const double u : U) layer.largest_entry = std::max(layer.largest_entry, std::abs(u));
  if (layer.tau != 1) {
    const double scale = step_scale(layer.tau, o.tau_power);
    for (double& u : U) u *= scale;  // U~ = tau^(-1/2) M^ / (sqrt V^ + eps)
  }
  layer.K.rotate_out(U, s.change);  // U = Q_L U~ Q_R^T
  descent_change(rate(), o.weight_decay, s.W, s.change, s.change);
  if (needs_rotated_step(o.secant_metric))
    for (std::size_t i = 0; i < U.size(); ++i) layer.S[i] = -rate() * U[i];
  report(layer);
}

void SsEsoap::report(const Layer& layer) {
  const auto range = [](const KroneckerSide& side) -> std::optional<EigenvalueRange> {
    if (!side.active()) return std::nullopt;
    EigenvalueRange found{side.factor[0], side.factor[0]};
    for (std::size_t i = 0; i < side.d; ++i) {
      found.low = std::min(found.low, side.factor[i * side.d + i]);
      found.high = std::max(found.high, side.factor[i * side.d + i]);
    }
    return found;
  };
  add_diagnostics(diagnostics_, layout_.blocks()[layer.block].name,
                  {layer.tau, layer.c, layer.a, layer.rho, layer.gamma, layer.basis_changed ? 1.0 : 0.0,
                   layer.largest_entry, layer.gradient_cosine, range(layer.K.left), range(layer.K.right)});
}

double SsEsoap::orthogonality_error() {
  double worst = 0;
  for (auto& layer : layers_)
    for (auto* side : {&layer.K.left, &layer.K.right}) {
      if (!side->active()) continue;
      const auto gram = view(std::span(squares_).first(side->d * side->d), side->d, side->d);
      linalg::multiply_left_transposed(gram, side->basis_view(), side->basis_view());
      for (std::size_t i = 0; i < side->d; ++i) gram(i, i) -= 1;
      worst = std::max(worst, off_diagonal(gram).norm);
    }
  return worst;
}

std::size_t SsEsoap::memory_bytes() const {
  std::size_t bytes = MatrixMethod::memory_bytes() + bytes_of(previous_gradient_, scratch_, squares_);
  for (const auto& layer : layers_) bytes += layer.K.bytes() + bytes_of(layer.G, layer.S);
  return bytes;
}

void SsEsoap::state(StateVisitor& visitor) {
  MatrixMethod::state(visitor);
  visitor.boolean("secant_valid", secant_valid_);
  visitor.array("step", std::span(change_));
  visitor.array("previous_gradient", std::span(previous_gradient_));
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    auto& layer = layers_[l];
    layer.K.state(visitor);
    visitor.array("S", std::span(layer.S));
    visitor.integer("variance_steps", layer.variance_steps);
    visitor.array("tau_counts", std::span<double>(log_.tau[l].counts));
  }
}

}  // namespace lather::optim
