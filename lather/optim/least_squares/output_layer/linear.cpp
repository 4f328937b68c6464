#include "lather/optim/least_squares/output_layer/linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lather/core/error.hpp"
#include "lather/linalg/tall_qr.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/least_squares/least_squares.hpp"
#include "lather/optim/least_squares/output_layer/features.hpp"

namespace lather::optim {

namespace {

constexpr std::size_t kLinearChunkRows = 512, kHeldOutEvery = 5;
constexpr double kPoorFit = 1e-3;  // smooth solutions: 1e-6 and less

}  // namespace

void LinearOptions::fields(FieldVisitor& v) {
  v.real("smallest_scale", smallest_scale, "least scale of the hidden weights that is tried", positive());
  v.real("largest_scale", largest_scale, "largest scale that is tried", positive());
  v.integer("scales", scales, "scales that are tried, in equal ratios", at_least(1));
  v.real("cutoff", cutoff,
         "singular values of the output layer's columns below about this part of the largest count as zero",
         positive());
  v.integer("seed", seed, "random seed of the hidden weights", non_negative());
}

Linear::Linear(const ParameterLayout& layout, const LinearOptions& options)
    : Optimizer(layout, Fits::blocks), options_(options), columns_(output_columns(layout)) {
  if (columns_.empty()) throw Error("linear: the model has no output layer");
  if (options.largest_scale < options.smallest_scale)
    throw Error(fmt::format("linear: largest_scale ({}) is below smallest_scale ({})", options.largest_scale,
                            options.smallest_scale));
  for (const auto& block : layout.blocks())
    if (block.role == Role::unknown)
      throw Error(
          fmt::format("linear: '{}' is to be found too, and the problem is not linear in it and the fields "
                      "together; use lm",
                      block.name));
}

// r(2 w) - 2 r(w) + r(0) = 0 for the weights w of the output layer.
void Linear::require_linear(Objective& objective, std::span<const double> x) const {
  std::vector<double> at(x.begin(), x.end()), bend(objective.residual_count()), r(bend.size());
  double size = 0;
  for (const auto& [factor, sign] : {std::pair{2.0, 1.0}, {1.0, -2.0}, {0.0, 1.0}}) {
    for (std::size_t k = 0; k < columns_.size(); ++k)
      at[columns_[k]] = factor * std::sin(1.0 + static_cast<double>(k));
    objective.residuals(at, r);
    add_scaled(bend, sign, r);
    size = std::max(size, norm(r));
  }
  if (norm(bend) > 1e-8 * size)
    throw Error(
        "linear needs equations and conditions that are linear in the fields, and these are not: their "
        "residuals bend with the weights of the output layer; use lm");
}

std::vector<double> Linear::residuals(Objective& objective, std::span<const double> x, Rows rows) const {
  std::vector<double> all(objective.residual_count()), chosen;
  objective.residuals(x, all);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (rows == Rows::all || (i % kHeldOutEvery == kHeldOutEvery - 1) == (rows == Rows::held_out))
      chosen.push_back(all[i]);
  return chosen;
}

// Fits the weights of the output layer to these residuals; the others are left alone.
void Linear::fit(Objective& objective, std::span<double> x, Rows rows) const {
  const std::size_t n = objective.size(), m = objective.residual_count(), k = columns_.size();
  for (const std::size_t column : columns_) x[column] = 0;
  std::vector<double> r(m), J(std::min(kLinearChunkRows, m) * n), chunk(kLinearChunkRows * (k + 1));
  objective.residuals(x, r);
  linalg::TallQr qr;
  qr.reset(k + 1);
  for (std::size_t first = 0; first < m; first += kLinearChunkRows) {
    const std::size_t count = std::min(kLinearChunkRows, m - first);
    objective.jacobian_rows(x, first, count, J.data());
    double* row = chunk.data();
    for (std::size_t i = 0; i < count; ++i) {
      if (rows == Rows::fitted && (first + i) % kHeldOutEvery == kHeldOutEvery - 1) continue;
      for (std::size_t c = 0; c < k; ++c) row[c] = J[i * n + columns_[c]];
      row[k] = r[first + i];
      row += k + 1;
    }
    qr.add_rows({chunk.data(), static_cast<std::size_t>(row - chunk.data()) / (k + 1), k + 1},
                objective.team());
  }
  double squares = 0;
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = i; j < k; ++j) squares += qr.R()(i, j) * qr.R()(i, j);
  qr.add_diagonal(std::vector<double>(k, options_.cutoff * std::sqrt(squares)), objective.team());
  std::vector<double> w(k);
  for (std::size_t i = 0; i < k; ++i) w[i] = -qr.R()(i, k);
  linalg::solve_upper(qr.R(), w);
  for (std::size_t i = 0; i < k; ++i) x[columns_[i]] = w[i];
}

StepReport Linear::take_step(Objective& objective, std::span<double> x) {
  require_residuals(objective, "linear");
  StepReport report;
  diagnostics_.clear();
  std::vector<double> gradient(x.size());
  const double value = objective.value_and_gradient(x, gradient);
  for (double& g : gradient) g /= 2;  // J^T r
  if (!may_step(value, gradient, report)) return report;
  if (solved_) {
    report.status = Status::converged;
    report.message = "the output layer is solved; the hidden layers are not trained";
    return report;
  }
  require_linear(objective, x);
  std::vector<double> candidate(x.begin(), x.end());
  if (scale_ == 0) {
    double least = std::numeric_limits<double>::infinity();
    const double ratio = options_.scales > 1 ? std::pow(options_.largest_scale / options_.smallest_scale,
                                                        1.0 / static_cast<double>(options_.scales - 1))
                                             : 1;
    double scale = options_.smallest_scale;
    for (std::int64_t k = 0; k < options_.scales; ++k, scale *= ratio) {
      draw_features(layout_, {scale}, static_cast<std::uint64_t>(options_.seed), candidate);
      fit(objective, candidate, Rows::fitted);
      const double held_out = norm(residuals(objective, candidate, Rows::held_out));
      report.evaluations += 3;
      if (held_out < least) {
        least = held_out;
        scale_ = scale;
      }
    }
    if (scale_ == 0) {
      report.status = Status::stalled;
      report.message = "no scale of the hidden weights gives finite residuals";
      return report;
    }
    draw_features(layout_, {scale_}, static_cast<std::uint64_t>(options_.seed), candidate);
    report.message =
        fmt::format("{} features of scale {:.3g}: held-out residuals {:.2e}", columns_.size(), scale_, least);
    for (const std::size_t column : columns_) candidate[column] = 0;
    const double before = norm(residuals(objective, candidate, Rows::held_out));
    if (least > kPoorFit * before)
      report.message += fmt::format(
          ", a part of {:.1e} of those without the network: too much for a smooth solution; more features "
          "(network.width) and points may help, and lm trains all layers",
          least / before);
  }
  fit(objective, candidate, Rows::all);
  solved_ = true;
  for (std::size_t i = 0; i < x.size(); ++i) candidate[i] -= x[i];
  move(x, 1, candidate, report);
  diagnostics_.push_back({"all", "scale", scale_});
  return report;
}

void Linear::state(StateVisitor& visitor) {
  visitor.real("scale", scale_);
  visitor.boolean("solved", solved_);
}

}  // namespace lather::optim
