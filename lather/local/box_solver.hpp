#pragma once
// Solves on given boxes: rows of the patches, the linear system, and Newton's method around it if a residual
// is not linear. What does not change from one set of boxes to the next is kept.

#include <map>
#include <memory>
#include <vector>

#include "lather/local/rows.hpp"
#include "lather/local/solution.hpp"
#include "lather/local/system.hpp"

namespace lather::local {

double norm(const std::vector<double>& a);
// By field: |a - b| / |b|.
std::vector<double> relative_changes(const std::vector<std::vector<double>>& a,
                                     const std::vector<std::vector<double>>& b);
double largest_change(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b);

class BoxSolver {
 public:
  BoxSolver(const Equations& equations, int threads, SolveLimits limits);

  RowSettings& settings() { return settings_; }

  // Gauss–Newton from the state handed over (none: zero), at most `steps` steps, until a step changes next to
  // nothing; a linear problem is solved at once. The first step on new boxes is taken whole, the others are
  // shortened until what is left over falls. Throws OutOfMemory and Stopped according to the limits.
  std::shared_ptr<const Solution> solve(const Tree& tree, int degree,
                                        const std::shared_ptr<const Solution>& start, int steps);

  // Of the last call of solve.
  const std::vector<const Patch*>& patches() const { return patches_; }
  const SolveReport& report() const { return report_; }
  std::vector<double> left_over(const Solution& solution);  // by patch

  // Values of the problem's fields at points spread over the domain, and of its outputs.
  std::vector<std::vector<double>> fields(const Solution& solution) const;
  // Root mean square of each output.
  std::vector<double> output_sizes(const Solution& solution) const;

 private:
  struct Known {
    Patch patch;
    Rows rows;  // compressed, for these settings:
    double equation_weight = 0, highest_factor = 0;
  };
  std::vector<const Patch*> patches_of(const Tree& tree, int degree);
  std::shared_ptr<const Solution> solve_linearized(const Tree& tree, int degree);
  std::shared_ptr<const Solution> shortened(const Solution& from,
                                            const std::shared_ptr<const Solution>& whole);

  const Equations& equations_;
  SolveLimits limits_;
  Linearization fields_;
  ThreadTeam team_;
  pde::Points probe_;
  RowSettings settings_;
  std::map<int, std::unique_ptr<Known>> known_;  // by node of the tree
  std::vector<const Patch*> patches_;
  SolveReport report_;
};

}  // namespace lather::local
