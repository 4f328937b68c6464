#include "lather/local/box.hpp"

#include <map>
#include <mutex>

#include "lather/linalg/gauss_rule.hpp"

namespace lather::local {

pde::Points product_of(std::span<const Axis> axes) {
  std::size_t count = 1;
  for (const auto& axis : axes) count *= axis.size();
  pde::Points points;
  std::size_t inner = count;
  for (const auto& axis : axes) {
    auto& values = points.coordinates.emplace_back(count);
    if (count == 0) continue;
    inner /= axis.size();
    for (std::size_t i = 0; i < count; ++i) values[i] = axis[i / inner % axis.size()];
  }
  return points;
}

Axis gauss_axis(double low, double high, int count) {
  static std::map<int, std::vector<double>> known;
  static std::mutex mutex;
  Axis axis;
  {
    const std::lock_guard lock(mutex);
    auto& nodes = known[count];
    if (nodes.empty()) nodes = linalg::gauss_rule(count).nodes;
    axis = nodes;
  }
  for (double& x : axis) x = 0.5 * (low + high) + 0.5 * (high - low) * x;
  return axis;
}

pde::Points only(const pde::Points& points, std::span<const char> chosen) {
  pde::Points result;
  const auto keep = [&](const auto& from, auto& to) {
    for (const auto& values : from) {
      auto& kept = to.emplace_back();
      for (std::size_t i = 0; i < values.size(); ++i)
        if (chosen[i]) kept.push_back(values[i]);
    }
  };
  keep(points.coordinates, result.coordinates);
  keep(points.columns, result.columns);
  return result;
}

}  // namespace lather::local
