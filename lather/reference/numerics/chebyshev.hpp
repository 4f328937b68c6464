#pragma once
// Chebyshev–Lobatto points on an interval, in ascending order: differentiation, interpolation, coefficients.
// In double and in long double (residuals whose differentiation matrices amplify rounding by N^2 per
// derivative).

#include <cstddef>
#include <span>
#include <vector>

namespace lather::reference {

// A small row-major matrix; the reference solvers need nothing more than products.
template <class Real>
struct Table {
  std::size_t rows = 0, cols = 0;
  std::vector<Real> data;
  Table() = default;
  Table(std::size_t r, std::size_t c) : rows(r), cols(c), data(r * c) {}
  Real& operator()(std::size_t i, std::size_t j) { return data[i * cols + j]; }
  Real operator()(std::size_t i, std::size_t j) const { return data[i * cols + j]; }
};

template <class Real>
Table<Real> product(const Table<Real>& a, const Table<Real>& b);
template <class Real>
Table<Real> product_transposed(const Table<Real>& a, const Table<Real>& b);  // a b^T
template <class To, class From>
Table<To> converted(const Table<From>& a) {
  Table<To> b(a.rows, a.cols);
  for (std::size_t i = 0; i < a.data.size(); ++i) b.data[i] = static_cast<To>(a.data[i]);
  return b;
}

template <class Real>
struct ChebyshevLine {
  Real low, high;
  std::vector<Real> nodes;  // N + 1 of them, nodes[0] = low
  Table<Real> D;            // values at the nodes -> derivative at the nodes
};

template <class Real>
ChebyshevLine<Real> chebyshev_line(int N, Real low, Real high);

// Row of the interpolation matrix: f(x) = sum_i weights[i] f(nodes[i]) (barycentric formula).
template <class Real>
void interpolation_weights(std::span<const Real> nodes, Real x, std::span<Real> weights);

// Interpolation from the nodes of one line to those of another.
template <class Real>
Table<Real> interpolation_matrix(const ChebyshevLine<Real>& from, std::span<const Real> to);

// Values at the N + 1 nodes -> coefficients a_k of sum_k a_k T_k(s), s in [-1, 1].
template <class Real>
Table<Real> chebyshev_coefficient_matrix(int N);

// Values at the nodes -> integral from the low end to each node.
template <class Real>
Table<Real> integration_matrix(const ChebyshevLine<Real>& line);

// The m-th derivative of T_0 … T_N at s.
void chebyshev_polynomials(double s, int m, std::span<double> values);

}  // namespace lather::reference
