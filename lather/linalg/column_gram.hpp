#pragma once
// S = J^T J of a tall matrix that is never held whole: J arrives in chunks of rows, each written straight
// into column panels, and all threads add one chunk at a time to S. Every element is one chain of
// multiply-adds in increasing row order, whichever thread runs it: the bits do not depend on the thread
// count.

#include <algorithm>
#include <cstddef>

#include "lather/core/buffer.hpp"
#include "lather/core/threads.hpp"

namespace lather::linalg {

class ColumnGram {
 public:
  static constexpr std::size_t kChunkRows = 256;

  // Starts over: S = 0 and an empty (zero) chunk. Allocates only when the number of columns changes.
  void reset(std::size_t columns);

  // Rows [0, kChunkRows) of the chunk. Threads may write different rows at the same time.
  void write(std::size_t row, std::size_t first_column, const double* values, std::size_t count) {
    while (count > 0) {
      const std::size_t panel = first_column / kPanel, at = first_column % kPanel,
                        part = std::min(count, kPanel - at);
      std::copy_n(values, part, chunk_.data() + (panel * kChunkRows + row) * kPanel + at);
      values += part;
      first_column += part;
      count -= part;
    }
  }
  void clear_chunk() { chunk_.zero(); }
  // S += the products of the chunk's first `rows` rows.
  void add_chunk(std::size_t rows, ThreadTeam& team) { add_chunk(rows, team, {0, parts()}); }

  // For ranks that share the work: S consists of parts, and add_chunk can be told which to add to. Rows
  // [begin, end) of the chunk, and parts of S, are packed into one array to be passed to other ranks.
  std::size_t parts() const;
  void add_chunk(std::size_t rows, ThreadTeam& team, IndexRange parts);
  std::size_t row_size() const { return panels_ * kPanel; }
  void copy_rows(IndexRange rows, double* to) const;
  void set_rows(IndexRange rows, const double* from);
  std::size_t size_of(IndexRange parts) const;
  void copy_parts(IndexRange parts, double* to) const;
  void set_parts(IndexRange parts, const double* from);

  double operator()(std::size_t i, std::size_t j) const {  // i >= j
    return tile(i / kPanel, j / kPanel)[i % kPanel * kPanel + j % kPanel];
  }
  // The lower triangle of the first n rows and columns, to a row-major n x n matrix.
  void copy_lower(std::size_t n, double* to, ThreadTeam& team) const;

 private:
  // A whole number of tiles of add_outer's kernel in both directions (12 rows, 16 columns).
  static constexpr std::size_t kPanel = 48;
  const double* tile(std::size_t a, std::size_t b) const {
    return sums_.data() + (a * (a + 1) / 2 + b) * kPanel * kPanel;
  }
  double* tile(std::size_t a, std::size_t b) {
    return sums_.data() + (a * (a + 1) / 2 + b) * kPanel * kPanel;
  }
  template <class F>
  void over_tiles(std::size_t part, const F& f) const;

  std::size_t columns_ = 0, panels_ = 0;
  Buffer<double> chunk_;  // panel by panel, each kChunkRows x kPanel
  Buffer<double> sums_;   // lower triangle of tiles, each kPanel x kPanel
};

}  // namespace lather::linalg
