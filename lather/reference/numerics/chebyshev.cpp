#include "lather/reference/numerics/chebyshev.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lather::reference {

template <class Real>
Table<Real> product(const Table<Real>& a, const Table<Real>& b) {
  Table<Real> c(a.rows, b.cols);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.cols; ++k)
      for (std::size_t j = 0; j < b.cols; ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}

template <class Real>
Table<Real> product_transposed(const Table<Real>& a, const Table<Real>& b) {
  Table<Real> c(a.rows, b.rows);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < b.rows; ++j)
      for (std::size_t k = 0; k < a.cols; ++k) c(i, j) += a(i, k) * b(j, k);
  return c;
}

// Differences of nodes come from sin((a+b)/2) sin((a-b)/2) and the diagonal from the row sum: both keep D
// accurate to rounding where the plain formula loses digits (Baltensperger & Trummer 2003).
template <class Real>
ChebyshevLine<Real> chebyshev_line(int N, Real low, Real high) {
  const Real pi = std::numbers::pi_v<Real>;
  const auto n = static_cast<std::size_t>(N) + 1;
  ChebyshevLine<Real> line{low, high, std::vector<Real>(n), Table<Real>(n, n)};
  for (int k = 0; k <= N; ++k)
    line.nodes[k] = (low + high) / 2 + (high - low) / 2 * std::sin(pi * (2 * k - N) / (2 * N));
  line.nodes.front() = low;
  line.nodes.back() = high;
  const auto end_factor = [N](int k) { return k == 0 || k == N ? Real(2) : Real(1); };
  for (int i = 0; i <= N; ++i) {
    Real sum = 0;
    for (int j = 0; j <= N; ++j) {
      if (i == j) continue;
      const Real difference =
          2 * std::sin(pi * (i + j) / (2 * N)) * std::sin(pi * (i - j) / (2 * N));  // x_i - x_j on [-1,1]
      const Real sign = (i + j) % 2 == 0 ? Real(1) : Real(-1);
      const Real entry = sign * end_factor(i) / end_factor(j) / difference * 2 / (high - low);
      line.D(i, j) = entry;
      sum += entry;
    }
    line.D(i, i) = -sum;
  }
  return line;
}

template <class Real>
void interpolation_weights(std::span<const Real> nodes, Real x, std::span<Real> weights) {
  const std::size_t n = nodes.size();
  Real sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (x == nodes[i]) {
      std::fill(weights.begin(), weights.end(), Real(0));
      weights[i] = 1;
      return;
    }
    const Real end = i == 0 || i == n - 1 ? Real(0.5) : Real(1);
    weights[i] = (i % 2 == 0 ? end : -end) / (x - nodes[i]);
    sum += weights[i];
  }
  for (auto& w : weights) w /= sum;
}

template <class Real>
Table<Real> interpolation_matrix(const ChebyshevLine<Real>& from, std::span<const Real> to) {
  Table<Real> B(to.size(), from.nodes.size());
  for (std::size_t i = 0; i < to.size(); ++i)
    interpolation_weights<Real>(from.nodes, to[i], std::span(B.data).subspan(i * B.cols, B.cols));
  return B;
}

template <class Real>
Table<Real> chebyshev_coefficient_matrix(int N) {
  Table<Real> C(N + 1, N + 1);
  for (int k = 0; k <= N; ++k)
    for (int j = 0; j <= N; ++j) {
      const Real ends = (k == 0 || k == N ? 0.5 : 1.0) * (j == 0 || j == N ? 0.5 : 1.0);
      C(k, j) = 2 * ends / N *
                std::cos(std::numbers::pi_v<Real> * (k * (N - j) % (2 * N)) /
                         N);  // node j has the angle π(N - j)/N
    }
  return C;
}

template <class Real>
Table<Real> integration_matrix(const ChebyshevLine<Real>& line) {
  const int N = static_cast<int>(line.nodes.size()) - 1;
  Table<Real> P(N + 1, N + 1);  // P(j, k) = ∫_{-1}^{s_j} T_k
  const auto antiderivative = [](int k, Real angle) {
    if (k == 0) return std::cos(angle);
    if (k == 1) return std::cos(2 * angle) / 4;
    return std::cos((k + 1) * angle) / (2 * (k + 1)) - std::cos((k - 1) * angle) / (2 * (k - 1));
  };
  const Real pi = std::numbers::pi_v<Real>;
  for (int j = 0; j <= N; ++j)
    for (int k = 0; k <= N; ++k)
      P(j, k) = (antiderivative(k, pi * (N - j) / N) - antiderivative(k, pi)) * (line.high - line.low) / 2;
  return product(P, chebyshev_coefficient_matrix<Real>(N));
}

void chebyshev_polynomials(double s, int m, std::span<double> values) {
  std::vector<double> lower(values.size(), 0.0);  // derivative of one order lower
  for (int order = 0; order <= m; ++order) {
    std::vector<double> current(values.size(), 0.0);
    if (!current.empty()) current[0] = order == 0 ? 1 : 0;
    if (current.size() > 1) current[1] = order == 0 ? s : (order == 1 ? 1 : 0);
    for (std::size_t k = 1; k + 1 < current.size();
         ++k)  // differentiate T_{k+1} = 2 s T_k - T_{k-1} `order` times
      current[k + 1] = 2 * s * current[k] + 2 * order * lower[k] - current[k - 1];
    lower = current;
  }
  std::copy(lower.begin(), lower.end(), values.begin());
}

template Table<double> product(const Table<double>&, const Table<double>&);
template Table<long double> product(const Table<long double>&, const Table<long double>&);
template Table<double> product_transposed(const Table<double>&, const Table<double>&);
template Table<long double> product_transposed(const Table<long double>&, const Table<long double>&);
template ChebyshevLine<double> chebyshev_line(int, double, double);
template ChebyshevLine<long double> chebyshev_line(int, long double, long double);
template void interpolation_weights(std::span<const double>, double, std::span<double>);
template void interpolation_weights(std::span<const long double>, long double, std::span<long double>);
template Table<double> interpolation_matrix(const ChebyshevLine<double>&, std::span<const double>);
template Table<long double> interpolation_matrix(const ChebyshevLine<long double>&,
                                                 std::span<const long double>);

template Table<double> chebyshev_coefficient_matrix(int);
template Table<long double> chebyshev_coefficient_matrix(int);
template Table<long double> integration_matrix(const ChebyshevLine<long double>&);

}  // namespace lather::reference
