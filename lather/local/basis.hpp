#pragma once
// The functions of one patch: products of Chebyshev polynomials, of limited total degree, in a box.

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "lather/linalg/matrix.hpp"
#include "lather/local/box.hpp"
#include "lather/symbolic/jets.hpp"

namespace lather::local {

using symbolic::MultiIndex;

class Basis {
 public:
  Basis(int dimensions, int degree);
  int dimensions() const { return dimensions_; }
  int degree() const { return degree_; }
  std::size_t size() const { return degrees_.size(); }
  // Degrees along the coordinates of function j; those of the last coordinate run fastest.
  const std::array<int, kMostCoordinates>& degrees(std::size_t j) const { return degrees_[j]; }

 private:
  int dimensions_, degree_;
  std::vector<std::array<int, kMostCoordinates>> degrees_;
};

// The functions and their derivatives at given points; factors along coordinates are computed once.
class BasisAtPoints {
 public:
  BasisAtPoints(const Basis& basis, const Box& box, const pde::Points& points);
  // rows(i, first + j) += factors[i] D^orders phi_j(x_i), for all points i and functions j.
  void add(const MultiIndex& orders, std::span<const double> factors, linalg::MatrixView rows,
           std::size_t first);
  // sum_j coefficients[j] D^orders phi_j(x_i)
  std::vector<double> combine(const MultiIndex& orders, std::span<const double> coefficients);

 private:
  // Derivative `order` of T_0 … T_p along coordinate k, point by point.
  const std::vector<double>& factor(int k, int order);
  // Calls use(point, first function, how many, their common factor, their last factors).
  template <class Use>
  void over_runs(const MultiIndex& orders, Use&& use);

  const Basis& basis_;
  Box box_;
  const pde::Points& points_;
  std::map<std::pair<int, int>, std::vector<double>> factors_;
};

}  // namespace lather::local
