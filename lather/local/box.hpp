#pragma once
// Boxes of up to three coordinates, and points in them.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "lather/pde/points.hpp"

namespace lather::local {

inline constexpr int kMostCoordinates = 3;
using Place = std::array<double, kMostCoordinates>;

struct Box {
  Place low{}, high{};  // coordinates beyond the problem's are 0
  double width(int k) const { return high[k] - low[k]; }
};

// A factor of a product of points: values along one coordinate.
using Axis = std::vector<double>;
// All combinations; the last axis runs fastest.
pde::Points product_of(std::span<const Axis> axes);
// Nodes of the Gauss rule with `count` nodes.
Axis gauss_axis(double low, double high, int count);
pde::Points only(const pde::Points& points, std::span<const char> chosen);

}  // namespace lather::local
