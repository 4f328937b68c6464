#pragma once
// Places other than boxes where points are drawn: part of the inside of a shape, or of its boundary.
//
// Points of a box, or of the parameters of a boundary, are drawn by the usual methods, and those that fall
// into the region are kept, in order. So a low-discrepancy sequence stays one, a boundary is covered
// evenly by length or area whatever it is made of, and the points are pure functions of the seed.

#include <functional>
#include <memory>
#include <string>

#include "lather/core/error.hpp"
#include "lather/pde/geometry.hpp"
#include "lather/pde/sampling/sampling.hpp"

namespace lather::pde {

// Which of the points satisfy a condition.
using Filter = std::function<std::vector<char>(const Points&)>;

struct WeightedPoints {
  Points points;
  std::vector<double> weights;
};

class Region {
 public:
  enum class Carrier { inside, boundary };
  // The inside of the domain, or the part of a shape's boundary that lies in the closed domain; of these, the
  // points that pass the filter (empty: all). `bounds`: a box that contains the region. `text`: its name in
  // messages.
  Region(std::shared_ptr<const Geometry> geometry, Carrier carrier, geometry::ShapePtr shape, Filter filter,
         const geometry::Box& bounds, std::string text);

  const std::string& text() const { return text_; }
  Carrier carrier() const { return carrier_; }
  const std::shared_ptr<const Geometry>& shapes() const { return geometry_; }
  double share() const { return share_; }  // of the candidates that lie in it

  // Like points_in, with a value per point for every name in `columns` (see region_columns). Throws Error if
  // fewer than one candidate in kMostCandidates is a point of the region.
  Points draw(std::span<const Interval> box, const Piece& piece, SamplingMethod method, std::size_t count,
              std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
              std::span<const std::string> columns) const;
  static constexpr std::size_t kMostCandidates = 4000;
  // Nodes and weights for integrals over the shape's coordinates that `piece` leaves free, `nodes` along each
  // of them and each of its parts; the other coordinates must be fixed.
  WeightedPoints quadrature(const Piece& piece, int nodes, std::span<const std::string> columns) const;
  // Which of the given points lie in it; a boundary has none.
  std::vector<char> covers(const Points& points) const;
  // The boundary that it is part of; nullptr for a part of the inside.
  const geometry::Boundary* boundary() const { return boundary_.get(); }
  // Which of the given points of `piece` belong to a part of the inside, faces included.
  std::vector<char> admits(const Points& points, const Piece& piece) const;
  // Points of one patch of the boundary, at its parameters u, v in (0, 1); the coordinates that are not the
  // shape's come from `points`. Those that do not belong to the region are left out.
  Points on_patch(std::size_t patch, std::span<const std::array<double, 2>> parameters, Points points,
                  const Piece& piece, std::span<const std::string> columns) const;
  // The part of it that is at most `within` away from the boundary of a shape.
  std::shared_ptr<const Region> close_to(const geometry::ShapePtr& shape, double within,
                                         std::span<const Interval> box, const Piece& piece) const;
  // Measures what share of the candidates lies in the region; to be called once. Throws Error if it is too
  // small.
  void measure(std::span<const Interval> box, const Piece& piece);

 private:
  struct Candidates {
    Points points;
    std::vector<geometry::SurfacePoint> surface;  // of a boundary
  };
  Candidates candidates(std::span<const Interval> box, const Piece& piece, SamplingMethod method,
                        std::size_t count, std::uint64_t seed, std::uint64_t stream,
                        std::uint64_t first) const;
  std::vector<char> are_kept(const Candidates& drawn, const Piece& piece) const;
  void keep(Candidates& drawn, const Piece& piece) const;
  bool is_shape_coordinate(std::size_t k) const;
  void fill(Candidates& drawn, std::span<const std::string> columns) const;

  std::shared_ptr<const Geometry> geometry_;
  Carrier carrier_;
  geometry::ShapePtr shape_;
  std::shared_ptr<const geometry::Boundary> boundary_;
  Filter filter_;
  geometry::Box bounds_;
  std::string text_;
  double share_ = 1;
};

// What expressions may use at the points of a region: "sdf", "arc" (boundaries in the plane), "normal_x" and
// so on, with the names of the shape's coordinates (boundaries).
std::vector<std::string> region_columns(const Geometry& geometry);

// Their values anywhere: the signed distance of the domain, and the normals it has there. Throws Error for
// "arc".
void fill_columns(const Geometry& geometry, Points& points, std::span<const std::string> columns);

// The same for all such columns that occur in `expressions`, whose names are returned.
std::vector<std::string> fill_columns(const Problem& problem, std::span<const symbolic::Expr> expressions,
                                      Points& points);

}  // namespace lather::pde
