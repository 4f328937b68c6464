#include "lather/optim/least_squares/solvers/sketch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "lather/core/rng.hpp"

namespace lather::optim {

namespace {

constexpr std::uint64_t kColumnSeed = 0x5ce7c401, kRowSeed = 0x5ce7c402;

double random_sign(std::uint64_t bits) { return bits >> 63 ? 1 : -1; }

}  // namespace

void Sketch::draw(std::uint64_t stream) {
  const std::size_t n = size_.parameters, s = size_.columns;
  ++draws_;
  const Random columns(kColumnSeed, stream), rows(kRowSeed, stream);
  members_.resize(n);
  std::iota(members_.begin(), members_.end(), 0u);
  for (std::size_t i = n; i > 1; --i) std::swap(members_[i - 1], members_[columns.bits(i) % i]);
  starts_.resize(s + 1);
  entries_.resize(n);
  for (std::size_t j = 0; j <= s; ++j) starts_[j] = static_cast<std::uint32_t>(n * j / s);
  for (std::size_t j = 0; j < s; ++j) {
    const double length = 1 / std::sqrt(static_cast<double>(starts_[j + 1] - starts_[j]));
    for (std::size_t q = starts_[j]; q < starts_[j + 1]; ++q)
      entries_[q] = length * random_sign(columns.bits(n + 1 + q));
  }
  if (size_.rows == 0) return;
  // Every hash has rows of its own, so that no residual is added to the same row twice.
  row_bins_.resize(kHashes * size_.residuals);
  row_entries_.resize(row_bins_.size());
  for (std::size_t q = 0; q < row_bins_.size(); ++q) {
    const std::size_t h = q % kHashes, begin = size_.rows * h / kHashes, end = size_.rows * (h + 1) / kHashes;
    const std::uint64_t bits = rows.bits(q);
    row_bins_[q] = static_cast<std::uint32_t>(begin + (bits >> 1) % (end - begin));
    row_entries_[q] = random_sign(bits << 63) / std::sqrt(static_cast<double>(kHashes));
  }
}

void Sketch::fold(std::span<const double> from, std::span<double> to) const {
  for (std::size_t j = 0; j < size_.columns; ++j) {
    double sum = 0;
    for (std::size_t q = starts_[j]; q < starts_[j + 1]; ++q) sum += entries_[q] * from[members_[q]];
    to[j] = sum;
  }
}

void Sketch::lift(std::span<const double> y, std::span<double> d) const {
  for (std::size_t j = 0; j < size_.columns; ++j)
    for (std::size_t q = starts_[j]; q < starts_[j + 1]; ++q) d[members_[q]] = entries_[q] * y[j];
}

void Sketch::hash(std::span<const double> r, std::span<double> to) const {
  std::fill(to.begin(), to.end(), 0.0);
  for (std::size_t q = 0; q < row_bins_.size(); ++q) to[row_bins_[q]] += row_entries_[q] * r[q / kHashes];
}

std::vector<double> Sketch::fold_diagonal(std::span<const double> D) const {
  std::vector<double> folded(size_.columns);
  for (std::size_t j = 0; j < size_.columns; ++j)
    for (std::size_t q = starts_[j]; q < starts_[j + 1]; ++q)
      folded[j] += entries_[q] * entries_[q] * D[members_[q]];
  return folded;
}

}  // namespace lather::optim
