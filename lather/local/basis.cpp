#include "lather/local/basis.hpp"

#include <cassert>

namespace lather::local {

Basis::Basis(int dimensions, int degree) : dimensions_(dimensions), degree_(degree) {
  std::array<int, kMostCoordinates> d{};
  const int most_first = dimensions > 1 ? degree : 0, most_second = dimensions > 2 ? degree : 0;
  for (int a = 0; a <= most_first; ++a)
    for (int b = 0; a + b <= degree && b <= most_second; ++b)
      for (int c = 0; a + b + c <= degree; ++c) {
        if (dimensions == 1)
          d = {c, 0, 0};
        else if (dimensions == 2)
          d = {a, c, 0};
        else
          d = {a, b, c};
        degrees_.push_back(d);
      }
}

BasisAtPoints::BasisAtPoints(const Basis& basis, const Box& box, const pde::Points& points)
    : basis_(basis), box_(box), points_(points) {}

// T_{n+1} = 2 x T_n - T_{n-1}, differentiated `order` times; x runs over [-1, 1] in the box.
const std::vector<double>& BasisAtPoints::factor(int k, int order) {
  auto& values = factors_[{k, order}];
  const std::size_t count = points_.count(), width = static_cast<std::size_t>(basis_.degree()) + 1;
  if (!values.empty() || count == 0) return values;
  const double half = 0.5 * box_.width(k), middle = 0.5 * (box_.low[k] + box_.high[k]);
  const std::vector<double>* lower = order > 0 ? &factor(k, order - 1) : nullptr;
  values.resize(count * width);
  for (std::size_t i = 0; i < count; ++i) {
    const double x = (points_.coordinates[k][i] - middle) / half;
    double* const T = values.data() + i * width;
    T[0] = order == 0 ? 1 : 0;
    if (width > 1) T[1] = order == 0 ? x : order == 1 ? 1 / half : 0;
    for (std::size_t n = 1; n + 1 < width; ++n) {
      T[n + 1] = 2 * x * T[n] - T[n - 1];
      if (lower) T[n + 1] += 2 * order * (*lower)[i * width + n] / half;
    }
  }
  return values;
}

template <class Use>
void BasisAtPoints::over_runs(const MultiIndex& orders, Use&& use) {
  const int d = basis_.dimensions(), p = basis_.degree();
  const std::size_t count = points_.count(), width = static_cast<std::size_t>(p) + 1;
  const double* const last = factor(d - 1, orders.order[d - 1]).data();
  const double* const first = d > 1 ? factor(0, orders.order[0]).data() : nullptr;
  const double* const second = d > 2 ? factor(1, orders.order[1]).data() : nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t j = 0;
    for (int a = 0; a <= (d > 1 ? p : 0); ++a) {
      const double by_a = first ? first[i * width + a] : 1;
      for (int b = 0; b <= (d > 2 ? p - a : 0); ++b) {
        const double common = second ? by_a * second[i * width + b] : by_a;
        const auto run = static_cast<std::size_t>(p - a - b) + 1;
        use(i, j, run, common, last + i * width);
        j += run;
      }
    }
  }
}

void BasisAtPoints::add(const MultiIndex& orders, std::span<const double> factors, linalg::MatrixView rows,
                        std::size_t first) {
  assert(rows.rows == points_.count() && first + basis_.size() <= rows.cols);
  over_runs(orders, [&](std::size_t i, std::size_t j, std::size_t run, double common, const double* last) {
    const double by = factors[i] * common;
    double* const to = rows.data + i * rows.cols + first + j;
    for (std::size_t n = 0; n < run; ++n) to[n] += by * last[n];
  });
}

std::vector<double> BasisAtPoints::combine(const MultiIndex& orders, std::span<const double> coefficients) {
  std::vector<double> sums(points_.count());
  over_runs(orders, [&](std::size_t i, std::size_t j, std::size_t run, double common, const double* last) {
    double sum = 0;
    for (std::size_t n = 0; n < run; ++n) sum += coefficients[j + n] * last[n];
    sums[i] += common * sum;
  });
  return sums;
}

}  // namespace lather::local
