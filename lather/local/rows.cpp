#include "lather/local/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lather::local {

double RowBuilder::factor_of(const Linearization& terms, std::size_t factor, bool interior) const {
  if (!interior || settings_.highest_factor == 1) return 1;
  const auto& f = terms.factors()[factor];
  return f.jet.orders.total() == terms.highest_order(f.residual) ? settings_.highest_factor : 1;
}

std::vector<double> RowBuilder::sizes_of(const Linearization& terms, const Linearization::Values& values,
                                         int residual, const Patch& patch, std::size_t count,
                                         bool interior) const {
  std::vector<double> sizes(count, std::numeric_limits<double>::min());
  const double kappa = 0.5 * patch.degree;
  for (std::size_t f = 0; f < terms.factors().size(); ++f) {
    const auto& [of, jet, expression] = terms.factors()[f];
    if (of != residual) continue;
    double scale = settings_.sizes[static_cast<std::size_t>(jet.output)] * factor_of(terms, f, interior);
    for (int k = 0; k < equations_.dimensions(); ++k)
      scale *= std::pow(kappa / (0.5 * patch.support.width(k)), jet.orders.order[k]);
    for (std::size_t i = 0; i < count; ++i) sizes[i] += scale * std::abs(values.factors[f][i]);
  }
  return sizes;
}

Rows RowBuilder::of_patch(const Patch& patch, const Basis& basis) const {
  Rows all;
  all.matrix.cols = static_cast<std::size_t>(equations_.outputs()) * basis.size();
  for (std::size_t g = 0; g < equations_.groups().size(); ++g) {
    const auto& group = equations_.groups()[g];
    const pde::Points& points = patch.points[g];
    const std::size_t count = points.count();
    if (count == 0) continue;
    const auto values = group.terms.at(points, settings_.iterate);
    BasisAtPoints functions(basis, patch.support, points);
    for (std::size_t r = 0; r < group.terms.residuals(); ++r) {
      const auto sizes =
          sizes_of(group.terms, values, static_cast<int>(r), patch, count, group.is_interior());
      const double weight = group.is_interior() ? settings_.equation_weight : group.weights[r];
      Rows rows{Dense(count, all.matrix.cols), std::vector<double>(count)};
      std::vector<double> scaled(count);
      for (std::size_t i = 0; i < count; ++i) rows.right[i] = -values.residuals[r][i] * weight / sizes[i];
      for (std::size_t f = 0; f < group.terms.factors().size(); ++f) {
        const auto& [residual, jet, expression] = group.terms.factors()[f];
        if (residual != static_cast<int>(r)) continue;
        const double by = weight * factor_of(group.terms, f, group.is_interior());
        for (std::size_t i = 0; i < count; ++i) {
          scaled[i] = by * values.factors[f][i] / sizes[i];
          if (settings_.iterate)
            rows.right[i] += weight * values.factors[f][i] * values.jets[f][i] / sizes[i];
        }
        functions.add(jet.orders, scaled, rows.matrix.view(),
                      static_cast<std::size_t>(jet.output) * basis.size());
      }
      all.append(rows);
    }
  }
  return all;
}

// What is continuous, as one side of a face sees it: coefficients are its own.
struct RowBuilder::Side {
  Linearization::Values values;
  std::vector<std::vector<double>> sizes;  // by residual
};

RowBuilder::Side RowBuilder::side_of(const Face& face, const Patch& patch, bool is_first,
                                     const State& state) const {
  const Linearization& terms = equations_.continuous(face.direction);
  pde::Points points = is_first ? face.of_first : face.of_second;
  if (equations_.has_fluxes(face.direction)) {
    const double inward = (is_first ? -1e-9 : 1e-9) * patch.box.width(face.direction);
    for (double& x : points.coordinates[face.direction]) x += inward;
  }
  Side side{terms.at(points, state), {}};
  for (std::size_t r = 0; r < terms.residuals(); ++r)
    side.sizes.push_back(sizes_of(terms, side.values, static_cast<int>(r), patch, points.count(), false));
  return side;
}

FaceRows RowBuilder::of_face(const Face& face, const Patch& first, const Patch& second,
                             const Basis& basis) const {
  const Linearization& terms = equations_.continuous(face.direction);
  const Side sides[] = {side_of(face, first, true, settings_.iterate),
                        side_of(face, second, false, settings_.iterate)};
  const std::size_t count = face.of_first.count(), traces = terms.residuals();
  const std::size_t columns = static_cast<std::size_t>(equations_.outputs()) * basis.size();
  FaceRows rows{Dense(count * traces, columns), Dense(count * traces, columns),
                std::vector<double>(count * traces)};
  BasisAtPoints functions[] = {{basis, first.support, face.of_first},
                               {basis, second.support, face.of_second}};
  std::vector<double> scaled(count);
  for (std::size_t r = 0; r < traces; ++r) {
    const auto weight = [&](std::size_t i) {
      return kJumpWeight / std::max(sides[0].sizes[r][i], sides[1].sizes[r][i]);
    };
    double* const right = rows.right.data() + r * count;
    for (int s = 0; s < 2; ++s) {
      const double sign = s == 0 ? 1 : -1;
      const auto& values = sides[s].values;
      Dense& matrix = s == 0 ? rows.first : rows.second;
      for (std::size_t i = 0; i < count; ++i) right[i] -= sign * weight(i) * values.residuals[r][i];
      for (std::size_t f = 0; f < terms.factors().size(); ++f) {
        const auto& [residual, jet, expression] = terms.factors()[f];
        if (residual != static_cast<int>(r)) continue;
        for (std::size_t i = 0; i < count; ++i) {
          scaled[i] = sign * weight(i) * values.factors[f][i];
          if (settings_.iterate) right[i] += scaled[i] * values.jets[f][i];
        }
        functions[s].add(jet.orders, scaled, {matrix.row(r * count), count, columns},
                         static_cast<std::size_t>(jet.output) * basis.size());
      }
    }
  }
  return rows;
}

namespace {

double root_mean_square(const std::vector<double>& values) {
  double squares = 0;
  for (const double v : values) squares += v * v;
  return values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace

double RowBuilder::left_over(const Patch& patch, const State& state) const {
  double worst = 0;
  for (std::size_t g = 0; g < equations_.groups().size(); ++g) {
    const auto& group = equations_.groups()[g];
    const pde::Points& points = patch.held_out[g];
    if (points.count() == 0 || group.points->kind == pde::PointSet::Kind::data) continue;
    const auto values = group.terms.at(points, state);
    const auto measure = settings_.iterate ? group.terms.at(points, settings_.iterate) : values;
    for (std::size_t r = 0; r < group.terms.residuals(); ++r) {
      const auto sizes =
          sizes_of(group.terms, measure, static_cast<int>(r), patch, points.count(), group.is_interior());
      std::vector<double> left = values.residuals[r];
      for (std::size_t f = 0; f < group.terms.factors().size(); ++f) {
        const double more = factor_of(group.terms, f, group.is_interior()) - 1;
        if (more == 0 || group.terms.factors()[f].residual != static_cast<int>(r)) continue;
        for (std::size_t i = 0; i < left.size(); ++i)
          left[i] += more * values.factors[f][i] * values.jets[f][i];
      }
      for (std::size_t i = 0; i < left.size(); ++i) left[i] /= sizes[i];
      worst = std::max(worst, root_mean_square(left));
    }
  }
  return worst;
}

double RowBuilder::left_over(const Face& face, const Patch& first, const Patch& second, const State& at_first,
                             const State& at_second) const {
  const Side a = side_of(face, first, true, at_first), b = side_of(face, second, false, at_second);
  double worst = 0;
  for (std::size_t r = 0; r < a.sizes.size(); ++r) {
    std::vector<double> jumps(a.sizes[r].size());
    for (std::size_t i = 0; i < jumps.size(); ++i)
      jumps[i] =
          (a.values.residuals[r][i] - b.values.residuals[r][i]) / std::max(a.sizes[r][i], b.sizes[r][i]);
    worst = std::max(worst, root_mean_square(jumps));
  }
  return worst;
}

}  // namespace lather::local
