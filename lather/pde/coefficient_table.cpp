#include "lather/pde/coefficient_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "lather/core/error.hpp"

namespace lather::pde {

namespace {

// Slopes m of the cubic spline through (x_i, y_i): second derivatives agree at the inner nodes, third ones
// also at the first and last of these (not-a-knot). Two values give a line, three a parabola.
// With h_i = x_{i+1} - x_i and s_i = (y_{i+1} - y_i) / h_i, at an inner node:
//   h_i m_{i-1} + 2 (h_{i-1} + h_i) m_i + h_{i-1} m_{i+1} = 3 (h_i s_{i-1} + h_{i-1} s_i).
std::vector<double> spline_slopes(const std::vector<double>& x, const std::vector<double>& y) {
  const std::size_t n = x.size();
  std::vector<double> h(n - 1), s(n - 1);
  for (std::size_t i = 0; i + 1 < n; ++i) {
    h[i] = x[i + 1] - x[i];
    s[i] = (y[i + 1] - y[i]) / h[i];
  }
  if (n == 2) return {s[0], s[0]};
  if (n == 3) {
    const double bend = (s[1] - s[0]) / (h[0] + h[1]);
    return {s[0] - h[0] * bend, s[0] + h[0] * bend, s[1] + h[1] * bend};
  }
  std::vector<double> lower(n), diagonal(n), upper(n), m(n);
  const auto end = [](double h0, double h1, double s0, double s1) {
    return ((3 * h0 + 2 * h1) * h1 * s0 + h0 * h0 * s1) / (h0 + h1);
  };
  diagonal[0] = h[1];
  upper[0] = h[0] + h[1];
  m[0] = end(h[0], h[1], s[0], s[1]);
  for (std::size_t i = 1; i + 1 < n; ++i) {
    lower[i] = h[i];
    diagonal[i] = 2 * (h[i - 1] + h[i]);
    upper[i] = h[i - 1];
    m[i] = 3 * (h[i] * s[i - 1] + h[i - 1] * s[i]);
  }
  lower[n - 1] = h[n - 2] + h[n - 3];
  diagonal[n - 1] = h[n - 3];
  m[n - 1] = end(h[n - 2], h[n - 3], s[n - 2], s[n - 3]);
  for (std::size_t i = 1; i < n; ++i) {
    const double factor = lower[i] / diagonal[i - 1];
    diagonal[i] -= factor * upper[i - 1];
    m[i] -= factor * m[i - 1];
  }
  m[n - 1] /= diagonal[n - 1];
  for (std::size_t i = n - 1; i-- > 0;) m[i] = (m[i] - upper[i] * m[i + 1]) / diagonal[i];
  return m;
}

// Weights of the value and the slope at the left node, then of those at the right one, at u in [0, 1] of an
// interval of length h. order: of the derivative with respect to x.
std::array<double, 4> hermite_weights(double u, double h, int order) {
  switch (order) {
    case 0:
      return {(1 + 2 * u) * (1 - u) * (1 - u), h * u * (1 - u) * (1 - u), u * u * (3 - 2 * u),
              h * u * u * (u - 1)};
    case 1: return {6 * u * (u - 1) / h, (1 - u) * (1 - 3 * u), 6 * u * (1 - u) / h, u * (3 * u - 2)};
    default:
      assert(order == 2);
      return {(12 * u - 6) / (h * h), (6 * u - 4) / h, (6 - 12 * u) / (h * h), (6 * u - 2) / h};
  }
}

void require_axis(const std::string& table, const CoefficientTable::Axis& axis) {
  if (axis.at.size() < 2)
    throw Error(fmt::format("the table '{}' needs at least two values of '{}', it has {}", table, axis.name,
                            axis.at.size()));
  for (std::size_t i = 0; i < axis.at.size(); ++i)
    if (!std::isfinite(axis.at[i]) || (i > 0 && !(axis.at[i - 1] < axis.at[i])))
      throw Error(
          fmt::format("the values of '{}' in the table '{}' must be finite and increase: number {} "
                      "is {}",
                      axis.name, table, i + 1, axis.at[i]));
}

}  // namespace

CoefficientTable::CoefficientTable(std::string name, std::vector<Axis> axes,
                                   const std::vector<double>& values, std::string file)
    : name_(std::move(name)), file_(std::move(file)), axes_(std::move(axes)) {
  const std::size_t d = axes_.size(), parts = std::size_t{1} << d;
  std::size_t nodes = 1;
  for (const Axis& axis : axes_) {
    require_axis(name_, axis);
    nodes *= axis.at.size();
  }
  if (values.size() != nodes)
    throw Error(fmt::format("the table '{}' has {} values, its grid {} nodes", name_, values.size(), nodes));
  if (const auto bad =
          std::find_if_not(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
      bad != values.end())
    throw Error(fmt::format("value {} of the table '{}' is {}", bad - values.begin() + 1, name_, *bad));
  hermite_.resize(nodes * parts);
  for (std::size_t i = 0; i < nodes; ++i) hermite_[i * parts] = values[i];
  // Along each axis, slopes of everything that the axes before it have produced.
  std::size_t stride = nodes;
  for (std::size_t k = 0; k < d; ++k) {
    const auto& x = axes_[k].at;
    stride /= x.size();
    std::vector<double> line(x.size());
    for (std::size_t part = 0; part < std::size_t{1} << k; ++part)
      for (std::size_t start = 0; start < nodes; ++start) {
        if (start / stride % x.size() != 0) continue;
        const auto number = [&](std::size_t i, std::size_t p) -> double& {
          return hermite_[(start + i * stride) * parts + p];
        };
        for (std::size_t i = 0; i < x.size(); ++i) line[i] = number(i, part);
        const auto slopes = spline_slopes(x, line);
        for (std::size_t i = 0; i < x.size(); ++i) number(i, part | std::size_t{1} << k) = slopes[i];
      }
  }
}

double CoefficientTable::at(const std::vector<double>& place, const symbolic::MultiIndex& orders) const {
  const std::size_t d = axes_.size();
  std::array<std::array<double, 4>, symbolic::kMaxDimensions> weights;
  std::size_t corner = 0;
  for (std::size_t k = 0; k < d; ++k) {
    const auto& x = axes_[k].at;
    const auto above = std::upper_bound(x.begin() + 1, x.end() - 1, place[k]);
    const auto left = static_cast<std::size_t>(above - x.begin()) - 1;
    const double h = x[left + 1] - x[left];
    weights[k] = hermite_weights((place[k] - x[left]) / h, h, orders.order[axes_[k].coordinate]);
    corner = corner * x.size() + left;
  }
  double sum = 0;
  for (std::size_t choice = 0; choice < std::size_t{1} << (2 * d); ++choice) {
    double weight = 1;
    std::size_t node = corner, stride = 1, part = 0;
    for (std::size_t k = d; k-- > 0;) {
      const std::size_t which = choice >> (2 * k) & 3;
      weight *= weights[k][which];
      node += (which >> 1) * stride;
      part |= (which & 1) << k;
      stride *= axes_[k].at.size();
    }
    sum += weight * hermite_[(node << d) + part];
  }
  return sum;
}

std::vector<double> CoefficientTable::evaluate(const Points& points,
                                               const symbolic::MultiIndex& orders) const {
  std::vector<double> values(points.count()), place(axes_.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      const auto& x = axes_[k].at;
      const double v = points.coordinates[axes_[k].coordinate][i];
      const double slack = 1e-9 * (x.back() - x.front());  // allows for a rounded end of the domain
      if (!(v >= x.front() - slack && v <= x.back() + slack))
        throw Error(fmt::format("the table '{}' knows {} in [{}, {}] and was asked at {} = {}", name_,
                                axes_[k].name, x.front(), x.back(), axes_[k].name, v));
      place[k] = std::clamp(v, x.front(), x.back());
    }
    values[i] = at(place, orders);
  }
  return values;
}

}  // namespace lather::pde
