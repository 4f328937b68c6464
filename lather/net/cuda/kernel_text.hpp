#pragma once
// The text of one kernel function while it grows. Its shape is always the same: what a
// thread needs at all its points, then a loop over points that loads packs of neighbouring
// columns, computes lane by lane and stores, then sums over the thread block.

#include <set>
#include <string>

namespace lather::net {

class KernelText {
 public:
  // True the first time a name is requested: that caller declares the name.
  bool declare(const std::string& name) { return known_.insert(name).second; }

  // Statements before the loop over points, once per point, and once per lane.
  void before(const std::string& statement) { before_ += statement; }
  void once_per_point(const std::string& statement) { loads_ += statement; }
  void once_per_lane(const std::string& statement) { lanes_ += statement; }

  // A pack read once per point by `how` (load or fetch); returns the name of its lane.
  std::string lane_of(const std::string& pack, const std::string& address, const std::string& how);

  // The following return the statement to be written after the computation of a lane.
  // The lane's value goes into a pack that is stored once per point.
  std::string stored(const std::string& pack, const std::string& address, const std::string& value);
  // Sums over points, one per column: `index` is its place in a row of `width` partial sums.
  std::string summed_by_column(const std::string& sum, const std::string& value, const std::string& target,
                               const std::string& width, const std::string& index);
  // A sum over all elements, one per thread block: `blocks` of them side by side make a row.
  std::string summed_over_block(const std::string& sum, const std::string& value, const std::string& target,
                                int blocks);

  struct Shape {
    int pack, columns;         // columns: packs of a row
    int threads_x, threads_y;  // of a thread block
  };
  // The whole body; `computation` is the program of one lane followed by the statements returned above.
  std::string body(const Shape& shape, const std::string& computation) const;

 private:
  std::set<std::string> known_;
  std::string before_, loads_, lanes_, stores_, after_;
};

}  // namespace lather::net
