// One chunk B below the triangle R (the "triangle on top of a rectangle" QR of LAPACK's tpqrt). Reflector j
// acts on row j of R and on all rows of B: H_j = I - tau_j [e_j; v_j] [e_j; v_j]^T. A panel of reflectors is
// I - [E; V] T [E; V]^T with T upper triangular.
//
// B is stored in blocks of kBlockColumns columns, each row-major on its own, the last one padded with zeros,
// so that the products are those of gemm.hpp. All panels before a block are applied to it while it stays in
// the cache; then it becomes panels itself. Threads take blocks in order and wait for panels still being
// made by others.

#include "lather/linalg/tall_qr.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "lather/core/interrupt.hpp"
#include "lather/core/threads.hpp"
#include "lather/linalg/eigen_maps.hpp"
#include "lather/linalg/gemm.hpp"
#include "lather/linalg/products.hpp"
#include "lather/linalg/simd.hpp"

namespace lather::linalg {

namespace {

constexpr std::size_t kPanelColumns = 32, kBlockColumns = 96;  // whole vectors; a block is a row of panels
constexpr std::size_t kPanelVectors = kPanelColumns / kLanes<double>;
constexpr std::size_t kTriangle = kPanelColumns * kPanelColumns;

using PanelRow = double[kPanelColumns];

// Columns of R, from the first one's row down, and V: the `rows` rows below them, later their reflectors.
struct Panel {
  double* R;
  std::size_t stride, width;
  double* V;
  std::size_t rows;
  double* minus_T;
};

// In every row of V: v_j is divided by `divisor`, then subtracted change_c times from column c; change_j is
// 0. Products of the updated column `next` with all columns go to `products`: two passes over V in one. (A
// row is read before v_j is written: reading a vector right after writing part of it would stall.) Sums are
// taken over sums of few rows: a reflector is as orthogonal as its length is exact.
void reflect(const Panel& p, std::size_t j, double divisor, const PanelRow& change, std::size_t next,
             PanelRow& products) {
  constexpr std::size_t kFew = 16;
  Vector<double> by[kPanelVectors], sums[kPanelVectors] = {};
  for (std::size_t v = 0; v < kPanelVectors; ++v) by[v] = load(change + v * kLanes<double>);
  for (std::size_t first = 0; first < p.rows; first += kFew) {
    Vector<double> some[kPanelVectors] = {};
    for (std::size_t i = first; i < std::min(first + kFew, p.rows); ++i) {
      double* const row = p.V + i * kPanelColumns;
      const double own = row[j] / divisor;
      Vector<double> values[kPanelVectors];
      for (std::size_t v = 0; v < kPanelVectors; ++v) {
        values[v] = load(row + v * kLanes<double>) - own * by[v];
        store(row + v * kLanes<double>, values[v]);
      }
      const double x = row[next];
      row[j] = own;
      for (std::size_t v = 0; v < kPanelVectors; ++v) some[v] += x * values[v];
    }
    for (std::size_t v = 0; v < kPanelVectors; ++v) sums[v] += some[v];
  }
  for (std::size_t v = 0; v < kPanelVectors; ++v) store(products + v * kLanes<double>, sums[v]);
  products[j] /= divisor;
}

// Computes the reflectors of the columns, applies them to the columns and to R, and keeps them in V.
void factor(const Panel& p) {
  alignas(64) PanelRow products, change = {};
  double* const T = p.minus_T;
  std::fill_n(T, kTriangle, 0.0);
  reflect(p, 0, 1, change, 0, products);  // products of column 0
  for (std::size_t j = 0; j < p.width; ++j) {
    double* const R = p.R + j * p.stride;
    const double below = std::sqrt(products[j]), corner = R[j];
    std::fill(std::begin(change), std::end(change), 0.0);
    double divisor = 1;
    if (below != 0) {  // else there is nothing to reflect
      const double length = std::hypot(corner, below), alpha = corner > 0 ? -length : length;
      const double first = corner - alpha, tau = -first / alpha;
      divisor = first;
      R[j] = alpha;
      for (std::size_t c = j + 1; c < p.width; ++c) {
        change[c] = tau * (R[c] + products[c] / first);
        R[c] -= change[c];
      }
      for (std::size_t i = 0; i < j; ++i) {  // column j of T: tau [-T V^T v; 1]
        double sum = 0;
        for (std::size_t c = i; c < j; ++c) sum += T[i * kPanelColumns + c] * products[c];
        T[i * kPanelColumns + j] = -tau * sum / first;
      }
      T[j * kPanelColumns + j] = -tau;
    }
    reflect(p, j, divisor, change, std::min(j + 1, p.width - 1), products);
  }
}

// Columns to the right of a panel, in its rows of R and below them.
struct Right {
  double* R;
  double* B;
  std::size_t count, in_R;  // with and without the zeros that pad a block
};

// [R; B] -= [E; V] T^T ([E; V]^T [R; B])
void update(const Panel& p, const Right& right, PackedMatrix<double>& packed) {
  alignas(64) double sums[kPanelColumns * kBlockColumns] = {}, change[kPanelColumns * kBlockColumns] = {};
  const std::size_t n = right.count;
  add_outer(p.rows, p.V, kPanelColumns, kPanelColumns, right.B, kBlockColumns, n, sums, n, Sums::apart);
  for (std::size_t i = 0; i < p.width; ++i)
    for (std::size_t c = 0; c < right.in_R; ++c) sums[i * n + c] += right.R[i * p.stride + c];
  add_outer(kPanelColumns, p.minus_T, kPanelColumns, kPanelColumns, sums, n, n, change, n);
  for (std::size_t i = 0; i < p.width; ++i)
    for (std::size_t c = 0; c < right.in_R; ++c) right.R[i * p.stride + c] += change[i * n + c];
  packed.pack(change, kPanelColumns, n, false);
  multiply<double>(p.rows, p.V, kPanelColumns, packed, right.B, kBlockColumns, nullptr, 0, true, Sums::apart);
}

std::size_t blocks_of(std::size_t columns) { return (columns + kBlockColumns - 1) / kBlockColumns; }

}  // namespace

void TallQr::reset(std::size_t columns) {
  if (columns == columns_) return R_.zero();
  columns_ = columns;
  R_ = Buffer<double>(columns * columns);
}

void TallQr::reset(const TallQr& other) {
  reset(other.columns_);
  std::copy_n(other.R_.data(), R_.size(), R_.data());
}

void TallQr::reserve(std::size_t rows) {
  const std::size_t size = blocks_of(columns_) * kBlockColumns;
  if (chunk_.size() < rows * size) chunk_ = Buffer<double>(rows * size);
  if (V_.size() < rows * size) V_ = Buffer<double>(rows * size);
  if (minus_T_.size() < size * kPanelColumns) minus_T_ = Buffer<double>(size * kPanelColumns);
}

double TallQr::bytes_of(std::size_t columns, std::size_t rows) {
  const auto n = static_cast<double>(columns), chunk = static_cast<double>(rows);
  return n * (n + 2 * chunk + static_cast<double>(kPanelColumns)) * sizeof(double);
}

double* TallQr::block(std::size_t b, std::size_t rows) { return chunk_.data() + b * rows * kBlockColumns; }

void TallQr::add_rows(ConstMatrixView rows, ThreadTeam* team) {
  assert(rows.cols == columns_);
  reserve(rows.rows);
  rotate(rows.rows, {0, false}, team, [&](std::size_t b) {
    const std::size_t from = b * kBlockColumns, count = std::min(kBlockColumns, columns_ - from);
    for (std::size_t i = 0; i < rows.rows; ++i) {
      double* const to = block(b, rows.rows) + i * kBlockColumns;
      std::fill(std::copy_n(rows.data + i * columns_ + from, count, to), to + kBlockColumns, 0.0);
    }
  });
}

void TallQr::add_diagonal(std::span<const double> values, ThreadTeam* team) {
  assert(values.size() <= columns_);
  reserve(std::min(kDiagonalRows, values.size()));
  for (std::size_t first = 0; first < values.size(); first += kDiagonalRows) {
    const std::size_t count = std::min(kDiagonalRows, values.size() - first);
    rotate(count, {first, true}, team, [&](std::size_t b) {
      std::fill_n(block(b, count), count * kBlockColumns, 0.0);
      const std::size_t from = b * kBlockColumns;
      for (std::size_t k = std::max(first, from); k < std::min(first + count, from + kBlockColumns); ++k)
        block(b, count)[(k - first) * kBlockColumns + k - from] = values[k];
    });
  }
}

template <class Fill>
void TallQr::rotate(std::size_t rows, Shape shape, ThreadTeam* team, const Fill& fill) {
  ++work_count().factorizations;
  const std::size_t n = columns_, blocks = blocks_of(n);
  const auto panel = [&](std::size_t k) {
    const std::size_t reached =
        shape.diagonal ? k + kPanelColumns - shape.first : rows;  // the others are zero
    return Panel{R_.data() + k * n + k,          n,
                 std::min(kPanelColumns, n - k), V_.data() + k * rows,
                 std::min(rows, reached),        minus_T_.data() + k * kPanelColumns};
  };
  const std::size_t begin = shape.first / kPanelColumns * kPanelColumns;
  std::atomic<std::size_t> next = begin / kBlockColumns, done = begin;  // block; columns that are panels
  // Allocated here: a thread that failed to allocate would leave the others waiting.
  std::vector<PackedMatrix<double>> packed_of(team ? static_cast<std::size_t>(team->size()) : 1);
  for (auto& packed : packed_of)
    packed.pack(std::vector<double>(kPanelColumns * kBlockColumns).data(), kPanelColumns, kBlockColumns,
                false);
  // No thread throws while others wait for its panels.
  std::atomic<bool> broken_off = false;
  const auto ends = [&] {
    if (!broken_off && stop_is_due()) broken_off = true;
    return broken_off.load();
  };
  const auto work = [&](int thread) {
    PackedMatrix<double>& packed = packed_of[static_cast<std::size_t>(thread)];
    for (std::size_t b = next++; b < blocks && !ends(); b = next++) {
      const std::size_t from = b * kBlockColumns, end = std::min(n, from + kBlockColumns);
      fill(b);
      const auto meet = [&](std::size_t k, std::size_t first) {
        update(panel(k),
               {R_.data() + k * n + first, block(b, rows) + first - from, from + kBlockColumns - first,
                end - first},
               packed);
      };
      for (std::size_t k = begin; k < from; k += kPanelColumns) {
        while (done.load(std::memory_order_acquire) <= k && !broken_off) std::this_thread::yield();
        if (ends()) return;
        meet(k, from);
      }
      for (std::size_t k = std::max(begin, from); k < end; k += kPanelColumns) {
        const Panel p = panel(k);
        for (std::size_t i = 0; i < p.rows; ++i)
          std::copy_n(block(b, rows) + i * kBlockColumns + k - from, kPanelColumns, p.V + i * kPanelColumns);
        factor(p);
        if (k + kPanelColumns < end) meet(k, k + kPanelColumns);
        done.store(k + kPanelColumns, std::memory_order_release);
      }
    }
  };
  if (team)
    team->run(work);
  else
    work(0);
  if (broken_off) throw Interrupted();
}

namespace {
auto leading(ConstMatrixView R, std::size_t size) {
  const auto n = static_cast<Eigen::Index>(size);
  return eigen(R).topLeftCorner(n, n);
}
}  // namespace

void solve_upper(ConstMatrixView R, std::span<double> b) {
  Eigen::Map<Eigen::VectorXd> x(b.data(), static_cast<Eigen::Index>(b.size()));
  leading(R, b.size()).triangularView<Eigen::Upper>().solveInPlace(x);
}

void solve_upper_transposed(ConstMatrixView R, std::span<double> b) {
  Eigen::Map<Eigen::VectorXd> x(b.data(), static_cast<Eigen::Index>(b.size()));
  leading(R, b.size()).transpose().triangularView<Eigen::Lower>().solveInPlace(x);
}

}  // namespace lather::linalg
