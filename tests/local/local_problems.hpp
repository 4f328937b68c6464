#pragma once
// Problems with known solutions, and how far a local solution is from them.

#include <cmath>
#include <string>

#include "lather/local/solver.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/symbolic/evaluate.hpp"

namespace lather::local {

// Coordinates x (and y, z) in the unit interval, square or cube, one field u. `true_field` may use them, `f`
// stands for `equation` applied to it by hand.
inline std::string text_of(int dimensions, const std::string& true_field, const std::string& equation,
                           const std::string& more = "", const std::string& where = "boundary") {
  const std::string names = dimensions == 1   ? "coordinates = [\"x\"]\n"
                            : dimensions == 2 ? "coordinates = [\"x\", \"y\"]\n"
                                              : "coordinates = [\"x\", \"y\", \"z\"]\n";
  std::string text = "name = \"test\"\n" + names + "fields = [\"u\"]\n" + more;
  if (more.find("[shape]") == std::string::npos) {
    text += "[domain]\n";
    for (int k = 0; k < dimensions; ++k) text += std::string(1, "xyz"[k]) + " = [0, 1]\n";
  }
  return text + "[let]\ntruth = \"" + true_field + "\"\n[[equation]]\nname = \"inside\"\nresidual = \"" +
         equation + "\"\n[[condition]]\nname = \"ends\"\nwhere = \"" + where +
         "\"\nresidual = \"u - truth\"\n[reference]\nu = \"truth\"\n";
}

inline pde::Problem problem_of(const std::string& text) { return pde::read_problem_text(text, "test.toml"); }

// The largest difference of the first field from [reference] at spread points of the domain, over its largest
// value.
inline double error_of(const pde::Problem& problem, const Solution& solution, std::size_t field = 0) {
  const Domain domain(problem);
  auto points = spread(domain.bounds(), problem.dimensions(), 500);
  points = only(points, domain.contains(points));
  const auto found = solution.evaluate({static_cast<int>(field), {}}, points);
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < points.count(); ++i) {
    symbolic::ExprMap<double> at;
    for (int k = 0; k < problem.dimensions(); ++k)
      at[problem.symbols->coordinate(k)] = points.coordinates[k][i];
    const double truth = symbolic::evaluate<double>(problem.exact[field].value, at);
    worst = std::max(worst, std::abs(found[i] - truth));
    largest = std::max(largest, std::abs(truth));
  }
  return worst / largest;
}

}  // namespace lather::local
