#include "lather/report/draw/field_plane.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace lather::report {

namespace {

using Json = nlohmann::json;
using Numbers = std::vector<double>;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// An axis is stretched if the largest value is this many times the median; a share `kNearZero` of the values
// is within its linear part.
constexpr double kStretched = 30, kNearZero = 0.02;

Numbers plain_numbers(const Json& list) {
  Numbers values;
  for (const auto& v : list) values.push_back(v.is_number() ? v.get<double>() : kNone);
  return values;
}

// Physical coordinates on the plane, rows of `columns`.
struct Physical {
  std::string name;
  Numbers values;

  double extent() const {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double v : values)
      if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
    return high > low ? high - low : 0;
  }
  bool varies(std::size_t columns, bool across) const {
    const std::size_t rows = values.size() / columns, step = across ? 1 : columns;
    for (std::size_t j = 0; j < (across ? rows : rows - 1); ++j)
      for (std::size_t i = 0; i < (across ? columns - 1 : columns); ++i)
        if (const double a = values[j * columns + i], b = values[j * columns + i + step];
            std::isfinite(a) && std::isfinite(b) && std::abs(b - a) > 1e-12 * extent())
          return true;
    return false;
  }
};

// How much of a plane two coordinates show: the sum of the areas of its cells.
double area_shown(const Physical& x, const Physical& y, std::size_t columns) {
  double sum = 0;
  for (std::size_t k = 0; k + columns + 1 < x.values.size(); ++k) {
    if (k % columns + 1 == columns) continue;
    const double across[2] = {x.values[k + 1] - x.values[k], y.values[k + 1] - y.values[k]},
                 up[2] = {x.values[k + columns] - x.values[k], y.values[k + columns] - y.values[k]};
    const double area = std::abs(across[0] * up[1] - across[1] * up[0]);
    if (std::isfinite(area)) sum += area;
  }
  return sum;
}

Axis axis_of(const Physical& coordinate, bool may_be_stretched) {
  Numbers sizes;
  for (const double v : coordinate.values)
    if (std::isfinite(v) && v != 0) sizes.push_back(std::abs(v));
  std::sort(sizes.begin(), sizes.end());
  Axis axis{0, 1, false, coordinate.name};
  if (may_be_stretched && sizes.size() > 2 && sizes.back() > kStretched * sizes[sizes.size() / 2])
    axis.linear_within = sizes[static_cast<std::size_t>(kNearZero * static_cast<double>(sizes.size()))];
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double v : coordinate.values)
    if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  const auto place = [&](double v) {
    return axis.linear_within > 0 ? std::asinh(v / axis.linear_within) : v;
  };
  axis.low = place(low);
  axis.high = place(high);
  return axis;
}

// What spans the picture of a mapped plane: physical coordinates, or one of them and an unmapped coordinate.
// Nothing if the map does not affect this plane.
std::vector<std::pair<Physical, bool>> spanning(const FieldPlane& plane, const Json& fields,
                                                const Physical& across, const Physical& up) {
  std::vector<Physical> candidates;
  bool maps_across = false, maps_up = false;
  for (const auto& [name, array] : fields["physical"].items()) {
    Physical one{name, plane.values_on(array)};
    const bool a = one.varies(plane.columns, true), u = one.varies(plane.columns, false);
    maps_across = maps_across || a;
    maps_up = maps_up || u;
    if (a || u) candidates.push_back(std::move(one));
  }
  if (candidates.empty()) return {};
  if (!maps_across || !maps_up || candidates.size() == 1) {
    const auto& widest =
        *std::max_element(candidates.begin(), candidates.end(),
                          [](const Physical& a, const Physical& b) { return a.extent() < b.extent(); });
    if (maps_across) return {{widest, true}, {up, false}};
    return {{across, false}, {widest, true}};
  }
  double most = -1;
  std::vector<std::pair<Physical, bool>> best;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    for (std::size_t j = i + 1; j < candidates.size(); ++j)
      if (const double area = area_shown(candidates[i], candidates[j], plane.columns); area > most) {
        most = area;
        best = {{candidates[i], true}, {candidates[j], true}};
      }
  return best;
}

// The rim of the mesh, without the seam of a coordinate that closes on itself.
std::vector<std::vector<Svg::Share>> rim(const std::vector<Svg::Share>& places, std::size_t columns) {
  const std::size_t rows = places.size() / columns;
  std::vector<Svg::Share> bottom(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(columns)),
      top(places.end() - static_cast<std::ptrdiff_t>(columns), places.end()), left, right;
  for (std::size_t j = 0; j < rows; ++j) {
    left.push_back(places[j * columns]);
    right.push_back(places[j * columns + columns - 1]);
  }
  const auto same = [](const std::vector<Svg::Share>& a, const std::vector<Svg::Share>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), [](const Svg::Share& p, const Svg::Share& q) {
      return std::hypot(p.x - q.x, p.y - q.y) < 1e-6;
    });
  };
  std::vector<std::vector<Svg::Share>> lines;
  if (!same(bottom, top)) lines.push_back(bottom), lines.push_back(top);
  if (!same(left, right)) lines.push_back(left), lines.push_back(right);
  for (auto& line : lines)
    std::erase_if(line, [](const Svg::Share& p) { return !std::isfinite(p.x) || !std::isfinite(p.y); });
  return lines;
}

void use_map(FieldPlane& plane, const Json& fields, const Numbers& across, const Numbers& up) {
  Physical x{plane.x.name, {}}, y{plane.y.name, {}};
  for (std::size_t k = 0; k < plane.cells.size(); ++k) {
    x.values.push_back(across[k % plane.columns]);
    y.values.push_back(up[k / plane.columns]);
  }
  const auto span = spanning(plane, fields, x, y);
  if (span.empty()) return;
  plane.x = axis_of(span[0].first, span[0].second);
  plane.y = axis_of(span[1].first, span[1].second);
  const auto share = [](const Axis& axis, double v) {
    return axis.share(axis.linear_within > 0 ? std::asinh(v / axis.linear_within) : v);
  };
  for (std::size_t k = 0; k < plane.cells.size(); ++k)
    plane.places.push_back(
        {share(plane.x, span[0].first.values[k]), share(plane.y, span[1].first.values[k])});
  const double ratio = (plane.x.high - plane.x.low) / (plane.y.high - plane.y.low);
  plane.proportional = span[0].second && span[1].second && plane.x.linear_within == 0 &&
                       plane.y.linear_within == 0 && ratio > 0.1 && ratio < 10;
  plane.outline = rim(plane.places, plane.columns);
}

}  // namespace

std::vector<double> FieldPlane::values_on(const Json& array) const {
  Numbers values;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const bool placed = places.empty() || (std::isfinite(places[k].x) && std::isfinite(places[k].y));
    values.push_back(placed && array[cells[k]].is_number() ? array[cells[k]].get<double>() : kNone);
  }
  return values;
}

FieldPlane field_plane(const Json& fields) {
  std::vector<std::string> names;
  std::vector<Numbers> axes;
  for (std::size_t k = 0; k < fields["axes"].size(); ++k) {
    names.push_back(fields["coordinates"][k].get<std::string>());
    axes.push_back(plain_numbers(fields["axes"][k]));
  }
  const std::size_t across = axes.size() == 2 && names[1] == "t" ? 1 : 0,
                    up = 1 - across;  // time runs to the right
  std::vector<std::size_t> strides(axes.size(), 1);
  for (std::size_t k = axes.size(); k-- > 1;) strides[k - 1] = strides[k] * axes[k].size();
  std::size_t base = 0;
  for (std::size_t k = 2; k < axes.size(); ++k) base += axes[k].size() / 2 * strides[k];
  FieldPlane plane{{axes[across].front(), axes[across].back(), false, names[across]},
                   {axes[up].front(), axes[up].back(), false, names[up]},
                   axes[across].size(),
                   {},
                   false,
                   {},
                   {}};
  for (std::size_t j = 0; j < axes[up].size(); ++j)
    for (std::size_t i = 0; i < axes[across].size(); ++i)
      plane.cells.push_back(base + i * strides[across] + j * strides[up]);
  if (fields.contains("physical")) {
    use_map(plane, fields, axes[across], axes[up]);
    if (!plane.places.empty()) return plane;
  }
  if (!fields.contains("outline")) return plane;
  plane.proportional = true;
  for (const auto& line : fields["outline"]) {
    auto& shares = plane.outline.emplace_back();
    for (const auto& p : line)
      shares.push_back({plane.x.share(p[0].get<double>()), plane.y.share(p[1].get<double>())});
  }
  return plane;
}

}  // namespace lather::report
