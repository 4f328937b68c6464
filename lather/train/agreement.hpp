#pragma once
// What ranks must agree on although each sees it differently: how much time has passed, and whether the run
// is to end. Everything else they compute, bit for bit alike.

#include <cstdint>
#include <span>
#include <string>

#include "lather/parallel/communicator.hpp"

namespace lather::train {

class Agreement {
 public:
  explicit Agreement(parallel::Communicator* ranks) : ranks_(ranks) {}

  bool alone() const { return !ranks_ || ranks_->alone(); }
  // After every call of the optimizer: rank 0's seconds, and whether any rank was asked to end.
  void update(double seconds, bool interrupted);
  double seconds() const { return seconds_; }
  // Whether the run is to end, `asked` being what this process sees now: among others, what they agreed on.
  bool ends(bool asked) const { return interrupted_ || (alone() && asked); }
  // "rank 2 of 4 was lost"; empty: none.
  std::string loss() const;
  // Throws Error, on all ranks, if their parameters differ: their processors or builds do.
  void require_same(std::span<const double> parameters, std::int64_t step);
  // The bytes of rank 0, to all.
  void share(std::string& bytes);

 private:
  parallel::Communicator* ranks_;
  double seconds_ = 0;
  bool interrupted_ = false;
};

}  // namespace lather::train
