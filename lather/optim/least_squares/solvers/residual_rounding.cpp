#include "lather/optim/least_squares/solvers/residual_rounding.hpp"

#include <cmath>
#include <limits>

#include "lather/core/rng.hpp"
#include "lather/optim/deterministic_sums.hpp"

namespace lather::optim {

double compensated_squares(std::span<const double> r) {
  double sum = 0, rest = 0;
  for (const double value : r) {
    const double square = value * value, lost = std::fma(value, value, -square);
    const double next = sum + square, part = next - sum;
    rest += ((sum - (next - part)) + (square - part)) + lost;
    sum = next;
  }
  return sum + rest;
}

void trial_values(Objective& objective, std::span<const double> xs, bool compensated,
                  std::span<double> values) {
  if (!compensated) return objective.values(xs, values);
  const std::size_t m = objective.residual_count();
  std::vector<double> r(values.size() * m);
  objective.residuals_at(xs, r);
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = compensated_squares(std::span(r).subspan(k * m, m));
}

double rounding_of_value(Objective& objective, std::span<const double> x) {
  const Random random(0, 0);
  std::vector<double> trials(x.begin(), x.end());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double to = std::numeric_limits<double>::infinity();
    trials.push_back(std::nextafter(x[i], random.bits(i) >> 63 ? to : -to));
  }
  const std::size_t m = objective.residual_count();
  std::vector<double> both(2 * m);
  objective.residuals_at(trials, both);
  const std::span r = std::span(both).first(m), e = std::span(both).last(m);
  for (std::size_t k = 0; k < r.size(); ++k) e[k] -= r[k];
  for (std::size_t k = 0; k < r.size(); ++k) r[k] *= e[k];
  return 2 * norm(r) + dot(e, e);
}

}  // namespace lather::optim
