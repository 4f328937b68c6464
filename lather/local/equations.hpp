#pragma once
// A problem as the local solver sees it: residuals by the sets of points they hold on, what must be
// continuous between patches, and the sizes of the fields.

#include <vector>

#include "lather/local/domain.hpp"
#include "lather/local/linearization.hpp"

namespace lather::local {

// Throws Error that names what the local solver cannot represent, if there is anything.
void require_representable(const pde::Problem& problem);

class Equations {
 public:
  // Throws Error if require_representable does. The problem must outlive it.
  explicit Equations(const pde::Problem& problem);

  struct Group {
    const pde::PointSet* points;
    Linearization terms;
    std::vector<double> weights;  // of data rows by residual, as factors of the residual; others: 1
    bool is_interior() const { return points->kind == pde::PointSet::Kind::interior; }
  };
  const pde::Problem& problem() const { return domain_.problem(); }
  const Domain& domain() const { return domain_; }
  int dimensions() const { return domain_.dimensions(); }
  int outputs() const { return problem().outputs(); }
  const std::vector<Group>& groups() const { return groups_; }
  bool linear() const { return linear_; }

  // What does not jump across a face perpendicular to coordinate k: the derivatives below the order of the
  // equations, or fluxes in place of the highest of them where a coefficient jumps.
  const Linearization& continuous(int k) const { return continuous_[static_cast<std::size_t>(k)]; }
  bool has_fluxes(int k) const { return has_fluxes_[static_cast<std::size_t>(k)]; }

  // Of the equations that contain derivatives along coordinate k, the lowest order along it; 0: none does.
  int lowest_order(int k) const;

  // How many times the highest derivatives must be larger to balance the next lower ones over a quarter of
  // the domain; 1 if they do already.
  double convection() const;

 private:
  std::vector<symbolic::Expr> continuous_expressions(int k);

  Domain domain_;
  std::vector<Group> groups_;
  std::vector<Linearization> continuous_;
  std::vector<bool> has_fluxes_;
  bool linear_ = true;
};

}  // namespace lather::local
