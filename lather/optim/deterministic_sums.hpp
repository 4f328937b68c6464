#pragma once
// Sums over flat arrays, with a fixed order of summation: the same numbers give the same bits wherever they
// are in memory.

#include <cmath>
#include <cstddef>
#include <span>

namespace lather::optim {

namespace detail {
// Sixteen partial sums: enough independent chains for the vector units, and an order that does not depend on
// alignment.
template <class Term>
double lane_sum(std::size_t n, Term term) {
  constexpr std::size_t kLanes = 16;
  double lane[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t k = 0; k < kLanes; ++k) lane[k] += term(i + k);
  for (std::size_t k = 0; i < n; ++i, ++k) lane[k] += term(i);
  for (std::size_t width = kLanes / 2; width > 0; width /= 2)
    for (std::size_t k = 0; k < width; ++k) lane[k] += lane[k + width];
  return lane[0];
}
}  // namespace detail

inline double dot(std::span<const double> a, std::span<const double> b) {
  return detail::lane_sum(a.size(), [&](std::size_t i) { return a[i] * b[i]; });
}
inline double norm(std::span<const double> a) { return std::sqrt(dot(a, a)); }
inline double sum_of_magnitudes(std::span<const double> a) {
  return detail::lane_sum(a.size(), [&](std::size_t i) { return std::abs(a[i]); });
}
inline double largest_magnitude(std::span<const double> a) {
  double largest = 0;
  for (const double value : a) largest = std::fmax(largest, std::abs(value));
  return largest;
}
inline bool all_finite(std::span<const double> a) {
  return std::isfinite(
      detail::lane_sum(a.size(), [&](std::size_t i) { return a[i] * 0; }));  // inf * 0 and NaN * 0 are NaN
}
// a += factor * b
inline void add_scaled(std::span<double> a, double factor, std::span<const double> b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += factor * b[i];
}

}  // namespace lather::optim
