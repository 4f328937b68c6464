#pragma once
// A coefficient given by its values on a grid and smooth in between: a tensor product of cubic splines (twice
// continuously differentiable, not-a-knot ends). Its derivatives are those of the spline itself.

#include <string>
#include <vector>

#include "lather/pde/output_symbols.hpp"
#include "lather/pde/points.hpp"

namespace lather::pde {

class CoefficientTable {
 public:
  struct Axis {
    int coordinate = 0;      // of the problem
    std::string name;        // of that coordinate
    std::vector<double> at;  // increasing
  };
  // values: the last axis runs fastest. Throws Error for axes that are too short or do not increase and for
  // values that are missing or not finite.
  CoefficientTable(std::string name, std::vector<Axis> axes, const std::vector<double>& values,
                   std::string file = {});

  const std::string& name() const { return name_; }
  const std::string& file() const { return file_; }  // where it was read from
  // The name of that file's copy in a run's folder. The dots keep it apart from data, whose names have none.
  static std::string kept_name(const std::string& name, const std::string& extension) {
    return name + ".table" + extension;
  }
  const std::vector<Axis>& axes() const { return axes_; }

  // The table or one of its derivatives (up to OutputSymbols::kMaxTableOrder along each coordinate) at every
  // point. Throws Error at the first point outside the grid.
  std::vector<double> evaluate(const Points& points, const symbolic::MultiIndex& orders) const;

 private:
  double at(const std::vector<double>& place, const symbolic::MultiIndex& orders) const;

  std::string name_, file_;
  std::vector<Axis> axes_;
  // 2^d numbers per node: bit k of their index is set if the slope along axis k is taken.
  std::vector<double> hermite_;
};

}  // namespace lather::pde
