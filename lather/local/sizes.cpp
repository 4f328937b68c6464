#include "lather/local/sizes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lather/pde/sampling/point_source.hpp"

namespace lather::local {

namespace {

class SizeFinder {
 public:
  explicit SizeFinder(const Equations& equations)
      : equations_(equations), sizes_(static_cast<std::size_t>(equations.outputs()), 0.0) {
    const auto& problem = equations.problem();
    const pde::PointSource source(problem, pde::sampling_settings({}, problem), 0);
    for (const auto& group : equations.groups())
      points_.push_back(source.validation(static_cast<int>(group.points - problem.point_sets.data())));
    for (int k = 0; k < equations.dimensions(); ++k)
      lengths_.push_back(equations.domain().bounds().width(k) /
                         (equations.domain().periodic(k) ? 2 * std::numbers::pi : 2));
  }

  // First what conditions on one output prescribe, then what balances it.
  std::vector<double> find() {
    std::vector<double> prescribed(sizes_.size());
    for (const Row& row : rows())
      if (row.is_condition && row.terms.size() == 1 && row.source > 0) {
        const auto& [output, slope] = row.terms[0];
        prescribed[output] = std::max(prescribed[output], row.source / slope);
      }
    sizes_ = prescribed;
    balance();
    return sizes_;
  }

 private:
  double over_lengths(const MultiIndex& orders) const {
    double scale = 1;
    for (std::size_t k = 0; k < lengths_.size(); ++k) scale /= std::pow(lengths_[k], orders.order[k]);
    return scale;
  }

  static double largest(const std::vector<double>& values) {
    double found = 0;
    for (const double v : values)
      if (std::isfinite(v)) found = std::max(found, std::abs(v));
    return found;
  }

  // The largest of a residual's terms, by output, for outputs of size 1 that vary over the domain.
  struct Row {
    bool is_condition;
    double source;  // what is left of it at zero
    std::vector<std::pair<std::size_t, double>> terms;
  };
  std::vector<Row> rows() const {
    const State known = [this](const Jet& jet, const pde::Points& points) {
      return std::vector<double>(points.count(),
                                 sizes_[static_cast<std::size_t>(jet.output)] * over_lengths(jet.orders));
    };
    std::vector<Row> list;
    for (std::size_t g = 0; g < points_.size(); ++g) {
      const auto& group = equations_.groups()[g];
      const auto& factors = group.terms.factors();
      const auto values = group.terms.at(points_[g], known);
      const auto sources = group.terms.residuals_at(points_[g], {});
      for (std::size_t r = 0; r < group.terms.residuals(); ++r) {
        std::vector<double> slopes(sizes_.size());
        for (std::size_t f = 0; f < factors.size(); ++f) {
          if (factors[f].residual != static_cast<int>(r)) continue;
          double& slope = slopes[static_cast<std::size_t>(factors[f].jet.output)];
          slope = std::max(slope, largest(values.factors[f]) * over_lengths(factors[f].jet.orders));
        }
        Row row{!group.is_interior(), largest(sources[r]), {}};
        for (std::size_t k = 0; k < slopes.size(); ++k)
          if (slopes[k] > 0) row.terms.emplace_back(k, slopes[k]);
        list.push_back(std::move(row));
      }
    }
    return list;
  }

  // Sizes that are not known yet are such that the terms of every residual are alike: least squares of their
  // logarithms, by turns for residuals and outputs.
  void balance() {
    constexpr int kTurns = 60;
    const auto list = rows();
    const std::vector<double> known = sizes_;
    for (double& s : sizes_)
      if (s == 0) s = 1;
    for (int turn = 0; turn < kTurns; ++turn) {
      std::vector<double> sums(sizes_.size()), counts(sizes_.size());
      for (const Row& row : list) {
        double sum = row.source > 0 ? std::log(row.source) : 0;
        double count = row.source > 0 ? 1 : 0;
        for (const auto& [output, slope] : row.terms) {
          sum += std::log(slope * sizes_[output]);
          count += 1;
        }
        for (const auto& [output, slope] : row.terms) {
          sums[output] += sum / count - std::log(slope);
          counts[output] += 1;
        }
      }
      for (std::size_t k = 0; k < sizes_.size(); ++k)
        if (known[k] == 0 && counts[k] > 0) sizes_[k] = std::exp(sums[k] / counts[k]);
    }
  }

  const Equations& equations_;
  std::vector<pde::Points> points_;
  std::vector<double> lengths_;
  std::vector<double> sizes_;  // 0: not known yet
};

}  // namespace

std::vector<double> sizes_of_outputs(const Equations& equations) {
  if (equations.outputs() == 1) return {1.0};
  return SizeFinder(equations).find();
}

}  // namespace lather::local
