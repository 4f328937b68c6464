#include <fmt/format.h>

#include <numbers>

#include "lather/core/error.hpp"
#include "lather/geometry/primitives.hpp"
#include "lather/geometry/r_functions.hpp"

namespace lather::geometry {

namespace {

class Ellipse : public Shape {
 public:
  Ellipse(const Point& center, double a, double b) : Shape(2), center_(center), a_(a), b_(b) {
    if (!(a > 0) || !(b > 0) || !std::isfinite(a) || !std::isfinite(b))
      throw Error(fmt::format("the half-axes of an ellipse must be positive, not {} and {}", a, b));
    lengths_.push_back(0);
    for (int i = 0; i < kPieces; ++i) lengths_.push_back(lengths_.back() + piece_length(i, 1));
  }

  // The closest point of the quarter x, y >= 0 has the parameter of the only root of a monotonic function
  // (D. Eberly, "Distance from a point to an ellipse"): found by bisection, to the last bit.
  double signed_distance(const Point& p) const override {
    const bool swap = b_ > a_;
    const double e0 = swap ? b_ : a_, e1 = swap ? a_ : b_;
    double y0 = std::abs(p[0] - center_[0]), y1 = std::abs(p[1] - center_[1]);
    if (swap) std::swap(y0, y1);
    const double inside = (y0 / e0) * (y0 / e0) + (y1 / e1) * (y1 / e1) < 1 ? 1 : -1;
    if (y1 == 0) {  // on the long axis: the closest point leaves it near the centre
      const double numerator = e0 * y0, denominator = e0 * e0 - e1 * e1;
      if (numerator < denominator) {
        const double x = numerator / denominator;
        return inside * std::hypot(e0 * x - y0, e1 * std::sqrt(1 - x * x));
      }
      return inside * std::abs(y0 - e0);
    }
    const double z0 = y0 / e0, z1 = y1 / e1, ratio = (e0 / e1) * (e0 / e1);
    double low = z1 - 1, high = z0 * z0 * ratio + z1 * z1 < 1 ? 0 : std::hypot(ratio * z0, z1) - 1;
    for (int i = 0; i < 1100; ++i) {
      const double s = 0.5 * (low + high);
      if (s == low || s == high) break;
      const double r0 = ratio * z0 / (s + ratio), r1 = z1 / (s + 1);
      (r0 * r0 + r1 * r1 > 1 ? low : high) = s;
    }
    const double s = 0.5 * (low + high), x0 = ratio * y0 / (s + ratio), x1 = y1 / (s + 1);
    return inside * std::hypot(x0 - y0, x1 - y1);
  }
  Box bounds() const override { return {center_ - Point{a_, b_}, center_ + Point{a_, b_}}; }
  std::vector<Patch> patches(const Box&) const override {
    return {{lengths_.back(), [this](double u, double) { return at_length(u * lengths_.back()); }, {}}};
  }
  std::optional<double> exact_measure() const override { return std::numbers::pi * a_ * b_; }
  std::optional<double> exact_boundary_measure() const override { return lengths_.back(); }
  symbolic::Expr smooth_distance(const Coordinates& x) const override {
    // (1 - q) / |(grad q, 1 - q)| has slope 1 at the boundary; q is the quadratic form.
    const auto X = x[0] - center_[0], Y = x[1] - center_[1];
    const auto q = symbolic::pow(X, 2) / (a_ * a_) + symbolic::pow(Y, 2) / (b_ * b_);
    const auto slope = sqrt(symbolic::pow(2.0 * X / (a_ * a_), 2) + symbolic::pow(2.0 * Y / (b_ * b_), 2) +
                            symbolic::pow(1.0 - q, 2));
    return (1.0 - q) / slope;
  }

 private:
  static constexpr int kPieces = 256;

  double speed(double angle) const { return std::hypot(a_ * std::sin(angle), b_ * std::cos(angle)); }
  // Length of the first fraction `part` of an angular piece, by five-point Gauss quadrature.
  double piece_length(int piece, double part) const {
    constexpr double kNodes[] = {0, 0.5384693101056831, -0.5384693101056831, 0.9061798459386640,
                                 -0.9061798459386640};
    constexpr double kWeights[] = {0.5688888888888889, 0.4786286704993665, 0.4786286704993665,
                                   0.2369268850561891, 0.2369268850561891};
    const double width = 2 * std::numbers::pi / kPieces, half = 0.5 * part * width;
    double sum = 0;
    for (int k = 0; k < 5; ++k) sum += kWeights[k] * speed(piece * width + half * (1 + kNodes[k]));
    return half * sum;
  }
  SurfacePoint at_length(double target) const {
    const auto at = std::upper_bound(lengths_.begin(), lengths_.end() - 1, target);
    const int piece = std::clamp(static_cast<int>(at - lengths_.begin()) - 1, 0, kPieces - 1);
    const double width = 2 * std::numbers::pi / kPieces;
    double part = (target - lengths_[piece]) / (lengths_[piece + 1] - lengths_[piece]);
    for (int i = 0; i < 8; ++i)
      part -=
          (piece_length(piece, part) - (target - lengths_[piece])) / (width * speed((piece + part) * width));
    const double angle = (piece + part) * width;
    return {center_ + Point{a_ * std::cos(angle), b_ * std::sin(angle)},
            unit({b_ * std::cos(angle), a_ * std::sin(angle)}), target};
  }

  Point center_;
  double a_, b_;
  std::vector<double> lengths_;  // of the boundary up to the beginning of each piece
};

}  // namespace

ShapePtr ellipse(const Point& center, double half_x, double half_y) {
  return std::make_shared<Ellipse>(center, half_x, half_y);
}

}  // namespace lather::geometry
