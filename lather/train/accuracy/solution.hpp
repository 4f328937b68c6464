#pragma once
// Fields that a run has found as functions of the coordinates: one network, one per time window, or others.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lather/pde/objective.hpp"

namespace lather::train {

// A field or one of its derivatives: "u", "u_x", "u_xxt".
struct FieldDerivative {
  std::string name;
  int field = 0;
  symbolic::MultiIndex orders{};
};
// Throws Error naming the fields, or the coordinate that is not one.
FieldDerivative parse_derivative(const pde::Problem& problem, const std::string& name);
std::vector<FieldDerivative> field_values(const pde::Problem& problem);  // all fields
std::vector<FieldDerivative> first_derivatives(
    const pde::Problem& problem);  // of all fields, along all coordinates

// d^orders of a field, as an expression in the problem's outputs.
symbolic::Expr expression_of(const pde::Problem& problem, const FieldDerivative& quantity);

// The fields of a run as functions of the coordinates, however they were found.
class Fields {
 public:
  virtual ~Fields() = default;
  virtual const pde::Problem& problem() const = 0;  // over the whole domain
  // [quantity][point]
  virtual std::vector<std::vector<double>> evaluate(std::span<const FieldDerivative> quantities,
                                                    const pde::Points& points) const = 0;
  // [field][0] the values, [field][1 + k] the derivatives along coordinate k.
  std::vector<std::vector<std::vector<double>>> values_and_slopes(const pde::Points& points) const;
};

// Of networks.
class Solution final : public Fields {
 public:
  struct Piece {
    std::shared_ptr<pde::PinnObjective> objective;
    std::vector<double> parameters;
    double end = 0;  // of the window along `window_coordinate`; the last piece takes the rest
  };
  Solution(pde::Problem problem, std::vector<Piece> pieces, int window_coordinate = -1);

  const pde::Problem& problem() const override { return problem_; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  std::vector<double> unknowns() const;

  std::vector<std::vector<double>> evaluate(std::span<const FieldDerivative> quantities,
                                            const pde::Points& points) const override;
  // Residuals of the equations, by name.
  std::vector<std::pair<std::string, std::vector<double>>> residuals(const pde::Points& points) const;

 private:
  // For each piece: which points belong to it, and the values there.
  template <class Expressions>
  std::vector<std::vector<double>> over_pieces(std::size_t count, const pde::Points& points,
                                               Expressions&& expressions) const;

  pde::Problem problem_;
  std::vector<Piece> pieces_;
  int window_coordinate_;
};

// A grid of the domain, ends included; first coordinate slowest.
struct Grid {
  std::vector<std::vector<double>> axes;
  pde::Points points() const;
  std::size_t size() const;
};
// `counts` points along each coordinate.
Grid grid_of(const pde::Problem& problem, std::span<const std::size_t> counts);
// A grid for pictures: fine along one or two coordinates, a few slices along a third, the middle of all
// others.
Grid picture_grid(const pde::Problem& problem);

}  // namespace lather::train
