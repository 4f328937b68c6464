#include "lather/optim/objective.hpp"

#include "lather/core/error.hpp"

namespace lather::optim {

void Objective::values(std::span<const double> xs, std::span<double> values) {
  const std::size_t n = size();
  require_size("xs", xs.size(), values.size() * n);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(xs.subspan(i * n, n));
}

void Objective::term_gradients(std::span<const double> x, std::span<double> losses,
                               std::vector<std::vector<double>>& gradients) {
  if (term_names().size() != 1) throw Error("this objective has several terms but no gradients per term");
  gradients.resize(1);
  gradients[0].resize(size());
  losses[0] = value_and_gradient(x, gradients[0]);
}

KroneckerFactors Objective::kronecker_factors(std::span<const double>, KroneckerFactors::Sharing) {
  throw Error("this objective gives no Kronecker factors");
}

}  // namespace lather::optim
