#pragma once
// The last m pairs (s_i, y_i) and the product of the inverse Hessian they stand for with a vector.

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "lather/core/state.hpp"

namespace lather::optim {

class SecantHistory {
 public:
  explicit SecantHistory(std::size_t capacity) : capacity_(capacity) {}

  void push(std::vector<double> s, std::vector<double> y);  // y.s > 0; drops the oldest pair when full
  void clear() { pairs_.clear(); }
  bool empty() const { return pairs_.empty(); }
  std::size_t size() const { return pairs_.size(); }

  // direction = -H g by the two-loop recursion, with H_0 = (s.y / y.y) I of the newest pair; -g if there is
  // no pair.
  void descend(std::span<const double> g, std::span<double> direction) const;

  void state(StateVisitor& visitor);

 private:
  struct Pair {
    std::vector<double> s, y;
    double rho = 0;  // 1 / y.s
  };
  std::size_t capacity_;
  std::deque<Pair> pairs_;  // oldest first
};

}  // namespace lather::optim
