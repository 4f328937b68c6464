#pragma once
// What of a box belongs to the domain, and where coefficients break along coordinates.

#include <vector>

#include "lather/local/box.hpp"
#include "lather/pde/problem.hpp"

namespace lather::local {

class Domain {
 public:
  explicit Domain(const pde::Problem& problem) : problem_(&problem) {}
  enum class Part { none, some, all };
  Part part_of(const Box& box) const;
  std::vector<char> contains(const pde::Points& points) const;  // boundary included
  Box bounds() const;
  bool periodic(int k) const { return problem_->periodic[static_cast<std::size_t>(k)]; }
  int dimensions() const { return problem_->dimensions(); }
  const pde::Problem& problem() const { return *problem_; }

 private:
  const pde::Problem* problem_;
};

// `count` points spread evenly over a box, the same share of it always.
pde::Points spread(const Box& box, int dimensions, std::size_t count);

// Places strictly inside the domain, by coordinate and increasing, where a residual has a jump or a kink
// across the whole of a plane: `if(x < c, …)`, abs(x - c), max(…).
std::vector<std::vector<double>> breaks_of(const pde::Problem& problem);

}  // namespace lather::local
