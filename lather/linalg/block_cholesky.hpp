#pragma once
// Cholesky factorization of a symmetric matrix that is sparse by blocks: the blocks are dense, and few of
// them differ from zero, as with unknowns that belong to places and only see their neighbours.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "lather/linalg/matrix.hpp"

namespace lather {
class ThreadTeam;
}

namespace lather::linalg {

// An order of elimination with little fill: always the block whose neighbours are fewest, counted by size.
// `neighbours`: pairs of different blocks.
std::vector<std::size_t> elimination_order(std::span<const std::size_t> sizes,
                                           std::span<const std::pair<std::size_t, std::size_t>> neighbours);

class BlockCholesky {
 public:
  // The structure alone: what the factor will cost is known before anything is computed.
  BlockCholesky(std::vector<std::size_t> sizes,
                std::span<const std::pair<std::size_t, std::size_t>> neighbours);
  double bytes() const;
  std::size_t size() const { return total_; }

  // A block off the diagonal (row, column) of a symmetric matrix whose diagonal blocks are (1 + shift) times
  // the identity. Each pair of neighbours occurs once, either way round.
  struct Block {
    std::size_t row, column;
    ConstMatrixView values;
  };
  // False if the matrix is not positive definite in this precision. The bits do not depend on the threads.
  // `poll` is called before every step and may throw to end it.
  bool factor(std::span<const Block> blocks, double shift, ThreadTeam& team,
              const std::function<void()>& poll = {});
  // x = A^{-1} x, block after block in the given order.
  void solve(std::span<double> x) const;

 private:
  // By place in the order of elimination: A = U^T U, and row `step` of U is made of its diagonal block
  // (transposed: lower) and of the blocks of later columns.
  struct Row {
    std::size_t size = 0, begin = 0;   // of its unknowns, in the caller's order
    std::vector<std::size_t> columns;  // later steps, increasing
    std::vector<std::size_t> offsets;  // of their blocks in values_, the diagonal's first
  };
  std::size_t offset_of(std::size_t row, std::size_t column) const;
  MatrixView block(std::size_t row, std::size_t column);
  ConstMatrixView block(std::size_t row, std::size_t column) const;

  std::vector<Row> rows_;
  std::vector<std::size_t> step_of_;
  std::size_t total_ = 0, stored_ = 0;
  std::vector<double> values_;
};

}  // namespace lather::linalg
