#pragma once
// What ranks must agree on although each sees it differently: how much time has passed, and whether the run
// should end. Everything else they compute identically, bit for bit.

#include <cstdint>
#include <span>
#include <string>

#include "lather/parallel/communicator.hpp"

namespace lather::train {

class Agreement {
 public:
  explicit Agreement(parallel::Communicator* ranks) : ranks_(ranks) {}

  bool alone() const { return !ranks_ || ranks_->alone(); }
  // Called after every optimizer call: takes rank 0's seconds, and whether any rank was asked to end.
  void update(double seconds, bool interrupted);
  double seconds() const { return seconds_; }
  // Whether the run should end: what the ranks agreed on; in a single process also `asked`, what it sees now.
  bool ends(bool asked) const { return interrupted_ || (alone() && asked); }
  // "rank 2 was lost"; empty: none.
  std::string loss() const;
  // Throws Error on all ranks if their parameters differ, which means that their processors or builds do.
  void require_same(std::span<const double> parameters, std::int64_t step);
  // Broadcasts rank 0's bytes.
  void share(std::string& bytes);

 private:
  parallel::Communicator* ranks_;
  double seconds_ = 0;
  bool interrupted_ = false;
};

}  // namespace lather::train
