#include "lather/linalg/column_gram.hpp"

#include <atomic>

#include "lather/core/interrupt.hpp"
#include "lather/linalg/gemm.hpp"

namespace lather::linalg {

namespace {
// Panels per block: two blocks of a chunk and their tiles of S (1.1 MB) stay in the second-level cache.
// Measured: 4 panels and 256 rows reach 68 GF/s on a core where blocks of 128 columns and 480 rows reach 50.
constexpr std::size_t kGroup = 4;
constexpr std::size_t kDepth = 96;  // rows at a time: two panels of them stay in the first-level cache
}  // namespace

void ColumnGram::reset(std::size_t columns) {
  if (columns == columns_) {
    sums_.zero();
    chunk_.zero();
    return;
  }
  columns_ = columns;
  panels_ = (columns + kPanel - 1) / kPanel;
  chunk_ = Buffer<double>(panels_ * kChunkRows * kPanel);
  sums_ = Buffer<double>(panels_ * (panels_ + 1) / 2 * kPanel * kPanel);
}

// A part is a pair of blocks of panels: calls f(a, b) for each of its tiles of S.
template <class F>
void ColumnGram::over_tiles(std::size_t part, const F& f) const {
  std::size_t g = 0;  // part = g (g + 1) / 2 + h
  while ((g + 1) * (g + 2) / 2 <= part) ++g;
  const std::size_t h = part - g * (g + 1) / 2;
  for (std::size_t b = h * kGroup; b < std::min(panels_, (h + 1) * kGroup); ++b)
    for (std::size_t a = std::max(b, g * kGroup); a < std::min(panels_, (g + 1) * kGroup); ++a) f(a, b);
}

std::size_t ColumnGram::parts() const {
  const std::size_t groups = (panels_ + kGroup - 1) / kGroup;
  return groups * (groups + 1) / 2;
}

void ColumnGram::add_chunk(std::size_t rows, ThreadTeam& team, IndexRange parts) {
  std::atomic<std::size_t> next = parts.begin;
  team.run([&](int) {
    for (std::size_t part = next++; part < parts.end; part = next++) {
      poll_stop();
      for (std::size_t row = 0; row < rows; row += kDepth) {
        const std::size_t depth = std::min(kDepth, rows - row);
        over_tiles(part, [&](std::size_t a, std::size_t b) {
          add_outer(depth, chunk_.data() + (a * kChunkRows + row) * kPanel, kPanel, kPanel,
                    chunk_.data() + (b * kChunkRows + row) * kPanel, kPanel, kPanel, tile(a, b), kPanel);
        });
      }
    }
  });
}

void ColumnGram::copy_rows(IndexRange rows, double* to) const {
  const std::size_t part = (rows.end - rows.begin) * kPanel;
  for (std::size_t panel = 0; panel < panels_; ++panel)
    std::copy_n(chunk_.data() + (panel * kChunkRows + rows.begin) * kPanel, part, to + panel * part);
}
void ColumnGram::set_rows(IndexRange rows, const double* from) {
  const std::size_t part = (rows.end - rows.begin) * kPanel;
  for (std::size_t panel = 0; panel < panels_; ++panel)
    std::copy_n(from + panel * part, part, chunk_.data() + (panel * kChunkRows + rows.begin) * kPanel);
}

std::size_t ColumnGram::size_of(IndexRange parts) const {
  std::size_t tiles = 0;
  for (std::size_t part = parts.begin; part < parts.end; ++part)
    over_tiles(part, [&](std::size_t, std::size_t) { ++tiles; });
  return tiles * kPanel * kPanel;
}
void ColumnGram::copy_parts(IndexRange parts, double* to) const {
  for (std::size_t part = parts.begin; part < parts.end; ++part)
    over_tiles(part,
               [&](std::size_t a, std::size_t b) { to = std::copy_n(tile(a, b), kPanel * kPanel, to); });
}
void ColumnGram::set_parts(IndexRange parts, const double* from) {
  for (std::size_t part = parts.begin; part < parts.end; ++part)
    over_tiles(part, [&](std::size_t a, std::size_t b) {
      std::copy_n(from, kPanel * kPanel, tile(a, b));
      from += kPanel * kPanel;
    });
}

void ColumnGram::copy_lower(std::size_t n, double* to, ThreadTeam& team) const {
  team.run([&](int t) {
    for (std::size_t a = t; a < panels_; a += team.size())
      for (std::size_t i = a * kPanel; i < std::min(n, (a + 1) * kPanel); ++i)
        for (std::size_t b = 0; b <= a; ++b)
          std::copy_n(tile(a, b) + (i - a * kPanel) * kPanel, std::min(kPanel, i + 1 - b * kPanel),
                      to + i * n + b * kPanel);
  });
}

}  // namespace lather::linalg
