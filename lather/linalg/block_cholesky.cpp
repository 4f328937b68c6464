#include "lather/linalg/block_cholesky.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "lather/core/threads.hpp"
#include "lather/linalg/eigen_maps.hpp"
#include "lather/linalg/factorizations.hpp"

namespace lather::linalg {

namespace {

// Rows of bits: which blocks a block is next to, in the graph that elimination leaves.
class NeighbourSets {
 public:
  NeighbourSets(std::size_t count, std::span<const std::pair<std::size_t, std::size_t>> pairs)
      : words_((count + 63) / 64), bits_(count * words_) {
    for (const auto& [a, b] : pairs) {
      set(a, b);
      set(b, a);
    }
  }
  std::vector<std::size_t> of(std::size_t a) const {
    std::vector<std::size_t> found;
    for (std::size_t w = 0; w < words_; ++w)
      for (std::uint64_t rest = bits_[a * words_ + w]; rest != 0; rest &= rest - 1)
        found.push_back(64 * w + static_cast<std::size_t>(std::countr_zero(rest)));
    return found;
  }
  // The neighbours of `gone` become neighbours of each other.
  void eliminate(std::size_t gone, std::span<const std::size_t> neighbours) {
    for (const std::size_t a : neighbours) {
      for (std::size_t w = 0; w < words_; ++w) bits_[a * words_ + w] |= bits_[gone * words_ + w];
      clear(a, a);
      clear(a, gone);
    }
  }

 private:
  void set(std::size_t a, std::size_t b) { bits_[a * words_ + b / 64] |= std::uint64_t{1} << (b % 64); }
  void clear(std::size_t a, std::size_t b) { bits_[a * words_ + b / 64] &= ~(std::uint64_t{1} << (b % 64)); }

  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace

std::vector<std::size_t> elimination_order(std::span<const std::size_t> sizes,
                                           std::span<const std::pair<std::size_t, std::size_t>> neighbours) {
  const std::size_t count = sizes.size();
  NeighbourSets sets(count, neighbours);
  const auto weight = [&](std::size_t a) {
    std::size_t sum = 0;
    for (const std::size_t b : sets.of(a)) sum += sizes[b];
    return sum;
  };
  std::vector<std::size_t> weights(count), left(count), order;
  for (std::size_t a = 0; a < count; ++a) {
    left[a] = a;
    weights[a] = weight(a);
  }
  while (!left.empty()) {
    const auto next = std::min_element(left.begin(), left.end(), [&](std::size_t a, std::size_t b) {
      return weights[a] != weights[b] ? weights[a] < weights[b] : a < b;
    });
    const std::size_t gone = *next;
    left.erase(next);
    order.push_back(gone);
    const auto around = sets.of(gone);
    sets.eliminate(gone, around);
    for (const std::size_t a : around) weights[a] = weight(a);
  }
  return order;
}

BlockCholesky::BlockCholesky(std::vector<std::size_t> sizes,
                             std::span<const std::pair<std::size_t, std::size_t>> neighbours)
    : rows_(sizes.size()), step_of_(sizes.size()) {
  const auto order = elimination_order(sizes, neighbours);
  std::vector<std::size_t> begins(sizes.size());
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    begins[b] = total_;
    total_ += sizes[b];
  }
  for (std::size_t step = 0; step < order.size(); ++step) step_of_[order[step]] = step;
  for (std::size_t step = 0; step < order.size(); ++step) {
    rows_[step].size = sizes[order[step]];
    rows_[step].begin = begins[order[step]];
  }
  for (const auto& [a, b] : neighbours) {
    const auto [first, second] = std::minmax(step_of_[a], step_of_[b]);
    rows_[first].columns.push_back(second);
  }
  // What a row leaves behind belongs to the first of its columns: the elimination tree.
  for (auto& row : rows_) {
    auto& columns = row.columns;
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    if (columns.empty()) continue;
    auto& next = rows_[columns.front()].columns;
    next.insert(next.end(), columns.begin() + 1, columns.end());
  }
  for (auto& row : rows_) {
    row.offsets.push_back(stored_);
    stored_ += row.size * row.size;
    for (const std::size_t c : row.columns) {
      row.offsets.push_back(stored_);
      stored_ += row.size * rows_[c].size;
    }
  }
}

double BlockCholesky::bytes() const { return static_cast<double>(stored_) * sizeof(double); }

std::size_t BlockCholesky::offset_of(std::size_t row, std::size_t column) const {
  const auto& r = rows_[row];
  if (row == column) return r.offsets[0];
  const auto at = std::lower_bound(r.columns.begin(), r.columns.end(), column) - r.columns.begin();
  return r.offsets[static_cast<std::size_t>(at) + 1];
}

MatrixView BlockCholesky::block(std::size_t row, std::size_t column) {
  return {values_.data() + offset_of(row, column), rows_[row].size, rows_[column].size};
}

ConstMatrixView BlockCholesky::block(std::size_t row, std::size_t column) const {
  return {values_.data() + offset_of(row, column), rows_[row].size, rows_[column].size};
}

bool BlockCholesky::factor(std::span<const Block> blocks, double shift, ThreadTeam& team,
                           const std::function<void()>& poll) {
  values_.assign(stored_, 0.0);
  for (std::size_t step = 0; step < rows_.size(); ++step)
    eigen(block(step, step)).diagonal().setConstant(1 + shift);
  for (const auto& [row, column, values] : blocks) {
    const std::size_t a = step_of_[row], b = step_of_[column];
    if (a < b)
      eigen(block(a, b)) += eigen(values);
    else
      eigen(block(b, a)) += eigen(values).transpose();
  }
  for (std::size_t step = 0; step < rows_.size(); ++step) {
    if (poll) poll();
    const auto& columns = rows_[step].columns;
    if (!cholesky(block(step, step))) return false;
    const auto over = [&](std::size_t count, const auto& work) {
      std::atomic<std::size_t> next = 0;
      team.run([&](int) {
        for (std::size_t i = next++; i < count; i = next++) work(i);
      });
    };
    over(columns.size(), [&](std::size_t i) { solve_lower(block(step, step), block(step, columns[i])); });
    // The largest shares first: those of the last columns.
    over(columns.size(), [&](std::size_t k) {
      const std::size_t i = columns.size() - 1 - k;
      const auto right = eigen(ConstMatrixView(block(step, columns[i])));
      for (std::size_t j = 0; j <= i; ++j)
        eigen(block(columns[j], columns[i])).noalias() -=
            eigen(ConstMatrixView(block(step, columns[j]))).transpose() * right;
    });
  }
  return true;
}

void BlockCholesky::solve(std::span<double> x) const {
  const auto part = [&](std::size_t step) {
    return Eigen::Map<Eigen::VectorXd>(x.data() + rows_[step].begin,
                                       static_cast<Eigen::Index>(rows_[step].size));
  };
  for (std::size_t step = 0; step < rows_.size(); ++step) {
    auto own = part(step);
    eigen(block(step, step)).triangularView<Eigen::Lower>().solveInPlace(own);
    for (const std::size_t c : rows_[step].columns)
      part(c).noalias() -= eigen(block(step, c)).transpose() * own;
  }
  for (std::size_t step = rows_.size(); step-- > 0;) {
    auto own = part(step);
    for (const std::size_t c : rows_[step].columns) own.noalias() -= eigen(block(step, c)) * part(c);
    eigen(block(step, step)).transpose().triangularView<Eigen::Upper>().solveInPlace(own);
  }
}

}  // namespace lather::linalg
