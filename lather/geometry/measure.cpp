#include <fmt/format.h>

#include "lather/core/error.hpp"
#include "lather/core/interrupt.hpp"
#include "lather/geometry/shape.hpp"

namespace lather::geometry {

Point normal_at(const Shape& shape, const Point& p) {
  const Box box = shape.bounds();
  const double h = 1e-6 * (box.finite(shape.dimension()) ? box.diagonal() : std::max(1.0, length(p)));
  Point gradient{};
  for (int k = 0; k < shape.dimension(); ++k) {
    Point ahead = p, behind = p;
    ahead[k] += h;
    behind[k] -= h;
    gradient[k] = shape.signed_distance(ahead) - shape.signed_distance(behind);
  }
  return length(gradient) > 0 ? -unit(gradient) : Point{};
}

// Cells that, by the signed distance at their centre, are entirely on one side are counted or left out; the
// others are split or, when no more cells are allowed, counted in part. The distance is a lower bound, so the
// error bound holds.
Measure measure(const Shape& shape, std::size_t cells) {
  if (const auto exact = shape.exact_measure()) return {*exact, 0};
  const int d = shape.dimension();
  const Box box = shape.bounds();
  if (!box.finite(d)) throw Error("an unbounded shape has no finite measure");
  if (box.empty(d)) return {};
  struct Cell {
    Point center;
    int level;
  };
  const Point size = box.high - box.low;
  double volume = 1;
  for (int k = 0; k < d; ++k) volume *= size[k];
  std::vector<Cell> open{{box.center(), 0}};
  Measure result;
  std::size_t used = 1;
  for (std::size_t next = 0; next < open.size(); ++next) {
    poll_stop();
    const Cell cell = open[next];
    const double part = std::ldexp(1.0, -cell.level), cell_volume = volume * std::pow(part, d);
    const double half = 0.5 * part * box.diagonal(), s = shape.signed_distance(cell.center);
    if (s >= half) {
      result.value += cell_volume;
    } else if (s > -half) {
      if (used + (std::size_t{1} << d) > cells) {
        const double share = std::clamp(0.5 + 0.5 * s / half, 0.0, 1.0);
        result.value += share * cell_volume;
        result.error += std::max(share, 1 - share) * cell_volume;
        continue;
      }
      for (int corner = 0; corner < (1 << d); ++corner) {
        Cell child{cell.center, cell.level + 1};
        for (int k = 0; k < d; ++k) child.center[k] += (corner >> k & 1 ? 0.25 : -0.25) * part * size[k];
        open.push_back(child);
      }
      used += std::size_t{1} << d;
    }
  }
  return result;
}

Boundary::Boundary(const Shape& shape) : Boundary(shape, shape.bounds()) {}

Boundary::Boundary(const Shape& shape, const Box& clip)
    : patches_(shape.patches(clip)),
      exact_(shape.exact_boundary_measure()),
      is_surface_(shape.dimension() == 3) {
  double sum = 0;
  for (const Patch& patch : patches_) ends_.push_back(sum += patch.measure);
  if (patches_.empty() || !(sum > 0) || !std::isfinite(sum))
    throw Error("the shape has no bounded boundary to put points on");
}

std::optional<SurfacePoint> Boundary::at(double s, double v) const {
  const double place = s * ends_.back();
  const auto i = std::min<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), place) - ends_.begin(),
                                       patches_.size() - 1);
  const double begin = i > 0 ? ends_[i - 1] : 0;
  // Strictly inside the piece: at its ends the normal is that of a corner.
  return on_patch(i, std::clamp((place - begin) / patches_[i].measure, 1e-15, 1 - 1e-15), v);
}

std::optional<SurfacePoint> Boundary::on_patch(std::size_t patch, double u, double v) const {
  SurfacePoint p = patches_[patch].at(u, v);
  if (patches_[patch].kept && !patches_[patch].kept(p)) return {};
  return p;
}

// Midpoints along s, with v running through a low-discrepancy sequence. The error for a curve is what the
// switches between kept and not kept can hide, one step each; for a surface, three standard deviations of as
// many random points, which are less evenly spread.
Measure Boundary::measure(std::size_t samples) const {
  if (exact_) return {*exact_, 0};
  std::size_t kept = 0, switches = 0;
  bool before = false;
  for (std::size_t i = 0; i < samples; ++i) {
    poll_stop();
    const double golden = 0.6180339887498949 * static_cast<double>(i + 1);
    const bool now =
        at((static_cast<double>(i) + 0.5) / static_cast<double>(samples), golden - std::floor(golden))
            .has_value();
    kept += now;
    switches += i > 0 && now != before;
    before = now;
  }
  const double step = total() / static_cast<double>(samples);
  const double share = static_cast<double>(kept) / static_cast<double>(samples);
  const double error = is_surface_
                           ? 3 * total() * std::sqrt(share * (1 - share) / static_cast<double>(samples))
                           : static_cast<double>(switches + 1) * step;
  return {share * total(), error};
}

}  // namespace lather::geometry
