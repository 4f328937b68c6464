#pragma once
// Points and boxes in one, two or three dimensions; coordinates beyond the dimension are zero.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace lather::geometry {

using Point = std::array<double, 3>;

inline Point operator+(const Point& a, const Point& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline Point operator-(const Point& a, const Point& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
inline Point operator-(const Point& a) { return {-a[0], -a[1], -a[2]}; }
inline Point operator*(double s, const Point& a) { return {s * a[0], s * a[1], s * a[2]}; }
inline double dot(const Point& a, const Point& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline double length(const Point& a) { return std::sqrt(dot(a, a)); }
inline Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline Point unit(const Point& a) { return (1 / length(a)) * a; }

// Ends may be infinite. The default is empty: it contains nothing, and joining it changes nothing.
struct Box {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Point low{kInfinity, kInfinity, kInfinity}, high{-kInfinity, -kInfinity, -kInfinity};

  static Box everything() {
    return {{-kInfinity, -kInfinity, -kInfinity}, {kInfinity, kInfinity, kInfinity}};
  }
  void include(const Point& p) {
    for (int k = 0; k < 3; ++k) {
      low[k] = std::min(low[k], p[k]);
      high[k] = std::max(high[k], p[k]);
    }
  }
  Box join(const Box& other) const {
    Box result = *this;
    for (int k = 0; k < 3; ++k) {
      result.low[k] = std::min(low[k], other.low[k]);
      result.high[k] = std::max(high[k], other.high[k]);
    }
    return result;
  }
  Box meet(const Box& other) const {
    Box result = *this;
    for (int k = 0; k < 3; ++k) {
      result.low[k] = std::max(low[k], other.low[k]);
      result.high[k] = std::min(high[k], other.high[k]);
    }
    return result;
  }
  bool finite(int dimension) const {
    for (int k = 0; k < dimension; ++k)
      if (!std::isfinite(low[k]) || !std::isfinite(high[k])) return false;
    return true;
  }
  bool empty(int dimension) const {
    for (int k = 0; k < dimension; ++k)
      if (!(low[k] < high[k])) return true;
    return false;
  }
  Point center() const { return 0.5 * (low + high); }
  double diagonal() const { return length(high - low); }
};

}  // namespace lather::geometry
