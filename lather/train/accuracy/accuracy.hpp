#pragma once
// What a trained network is judged by. One definition each, for all problems:
//
// Errors, per field, on a uniform grid over the whole domain, ends included, or at points spread over a
// domain of many dimensions (u computed, u* true, sums over the grid; for shapes, the points inside them):
//   relative L2    sqrt( sum (u - u*)^2 / sum u*^2 )
//   relative H1    sqrt( sum [(u - u*)^2 + |grad(u - u*)|^2] / sum [u*^2 + |grad u*|^2] ), grad by all
//                  coordinates, time too
//   maximum        max |u - u*|
// If the true field vanishes on the whole grid, the denominator is the number of points: a root mean square
// error. For a field known up to a constant (pressure), the means over the grid are first subtracted from u
// and u*.
//
// Residuals, per term, at held-out points, without weights:
//   mean square    mean r^2
//   maximum        max |r|

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lather/pde/sampling/point_source.hpp"
#include "lather/reference/reference.hpp"

namespace lather::train {

// The true fields of a problem.
class TrueSolution {
 public:
  virtual ~TrueSolution() = default;
  virtual const std::vector<int>& fields() const = 0;  // which fields of the problem are known
  // One derivative of a known field (an entry of fields()): orders[k] times along coordinate k.
  virtual std::vector<double> evaluate(int field, std::span<const int> orders,
                                       const pde::Points& points) const = 0;
  virtual std::string provenance() const = 0;
};

// From the problem's [reference]: closed forms, or a reference solver whose result is kept in
// `cache_directory`. nullptr if the problem has neither. Throws Error if the reference has other coordinates
// or a smaller domain than the problem.
std::unique_ptr<TrueSolution> true_solution(const pde::Problem& problem,
                                            const std::filesystem::path& cache_directory);
std::unique_ptr<TrueSolution> closed_form(const pde::Problem& problem);
std::unique_ptr<TrueSolution> from_reference(const pde::Problem& problem,
                                             std::shared_ptr<const reference::ReferenceSolution> reference);

struct ErrorOptions {
  std::int64_t grid = 0;
  std::vector<std::string> up_to_constant;  // fields
};
// Points along each coordinate for `dimensions` if the options say 0: 10001, 401, 65, 17, 9, 7. In more
// dimensions 0: a grid would be all boundary, so points of the Sobol' sequence are used instead.
std::int64_t default_grid(int dimensions);
inline constexpr std::size_t kSpreadPoints = 1 << 14;
std::string where_errors_are_taken(std::int64_t grid);  // in words

// Values minus the true ones; for a field determined up to a constant, with both means subtracted. Values
// that are not a number, as outside a shape, are left out of the means.
std::vector<double> pointwise_error(const pde::Problem& problem, std::size_t field,
                                    std::span<const double> values, std::span<const double> truth);

struct FieldError {
  std::string field;
  double relative_l2 = 0, relative_h1 = 0, maximum = 0;
};

// Values and first derivatives of all fields at points: [field][0] the values, [field][1 + k] those along
// coordinate k.
using FieldValues = std::vector<std::vector<std::vector<double>>>;
using Predict = std::function<FieldValues(const pde::Points&)>;
FieldValues predict(pde::PinnObjective& objective, std::span<const double> x, const pde::Points& points);

// Compares with the truth on a fixed grid. The truth is computed once, here.
class ErrorMeter {
 public:
  // Throws Error for a field that is not one of the problem's.
  ErrorMeter(const pde::Problem& problem, const TrueSolution& truth, const ErrorOptions& options = {});
  std::vector<FieldError> measure(const Predict& predict) const;
  std::vector<FieldError> measure(pde::PinnObjective& objective, std::span<const double> x) const;
  const pde::Points& grid() const { return grid_; }

 private:
  std::vector<std::string> names_;  // of the known fields
  std::vector<int> fields_;
  std::vector<char> up_to_constant_;
  pde::Points grid_;
  FieldValues truth_;  // by index in fields_
};

struct TermResidual {
  std::string term;
  double mean_square = 0, maximum = 0;
};
// At the held-out points of `source`.
std::vector<TermResidual> validation_residuals(pde::PinnObjective& objective, std::span<const double> x,
                                               const pde::PointSource& source);

// The first points of the Sobol' sequence, without the origin.
pde::Points spread_points(std::span<const pde::Interval> domain, std::size_t count);
// Uniform, ends included; the first coordinate varies slowest.
pde::Points uniform_grid(std::span<const pde::Interval> domain, std::size_t per_coordinate);

}  // namespace lather::train
