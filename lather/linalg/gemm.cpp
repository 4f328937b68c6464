// One micro-kernel serves both products: a tile of C (R rows x V vectors) stays in registers while it adds
//     C[r][v] += sum_p a(r, p) * b(p, v),
// reading V vectors of b and R scalars of a (broadcast) for R * V multiply-adds.
//   multiply:  C = tile of Z, a(r, p) = A[r][p], b = a packed panel of W;
//   add_outer: C = tile of W, a(r, p) = A[p][r], b = a strip of columns of G.

#include "lather/linalg/gemm.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "lather/linalg/simd.hpp"

namespace lather::linalg {
namespace {

// Tile shapes: R * V accumulators, V vectors of b and one broadcast must fit the registers (32 with AVX-512,
// else 16), and R * V >= 8 hides the latency of the multiply-add units.
#if defined(__AVX512F__)
constexpr std::size_t kTileRows = 12, kTileVectors = 2;
#elif defined(__AVX__)
constexpr std::size_t kTileRows = 6, kTileVectors = 2;
#else
constexpr std::size_t kTileRows = 5, kTileVectors = 2;
#endif
constexpr std::size_t kDepthBlock = 256;  // summed indices per pass of multiply: a panel of W stays in L1
constexpr std::size_t kRowBlock = 96;     // summed rows per pass of add_outer: a strip of G stays in L1

template <class T>
constexpr std::size_t kPanelColumns = kTileVectors* kLanes<T>;

enum class Left { by_rows, transposed };  // a(r, p) = A[r][p] or A[p][r]

// Initial value of a tile of C: 0 or its memory, plus the bias (V vectors) in its first bias_rows rows.
template <class T>
struct Start {
  bool from_memory = true;
  const T* bias = nullptr;
  std::size_t bias_rows = 0;
  Sums sums = Sums::in_chain;  // apart: from 0, and its memory is added at the end
};

template <class T>
struct Operands {
  const T* a;
  std::size_t lda;
  const T* b;
  std::size_t ldb;
  T* c;
  std::size_t ldc;
};

// UndefinedBehaviorSanitizer's checks of the unrolled tile take minutes to compile and see only constant
// indices; AddressSanitizer watches the memory.
template <class T, Left left, std::size_t V, std::size_t R>
__attribute__((no_sanitize("undefined"))) void tile(std::size_t depth, const Operands<T>& at,
                                                    const Start<T>& start) {
  Vector<T> sum[R][V];
#pragma GCC unroll 16
  for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (std::size_t v = 0; v < V; ++v) {
      sum[r][v] = start.from_memory && start.sums == Sums::in_chain ? load(at.c + r * at.ldc + v * kLanes<T>)
                                                                    : Vector<T>{};
      if (r < start.bias_rows) sum[r][v] += load(start.bias + v * kLanes<T>);
    }

  const std::size_t row_stride = left == Left::by_rows ? at.lda : 1,
                    depth_stride = left == Left::by_rows ? 1 : at.lda;
  const T* a = at.a;
  const T* b = at.b;
  for (std::size_t p = 0; p < depth; ++p, a += depth_stride, b += at.ldb) {
    Vector<T> bp[V];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < V; ++v) bp[v] = load(b + v * kLanes<T>);
#pragma GCC unroll 16
    for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (std::size_t v = 0; v < V; ++v) sum[r][v] += a[r * row_stride] * bp[v];
  }

  const bool add = start.from_memory && start.sums == Sums::apart;
#pragma GCC unroll 16
  for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (std::size_t v = 0; v < V; ++v) {
      T* const c = at.c + r * at.ldc + v * kLanes<T>;
      store(c, add ? load(c) + sum[r][v] : sum[r][v]);
    }
}

// Rows of the next tile. What is left after the full tiles is shared by the last two, since a tile of a row
// or two cannot keep the multiply-add units busy.
constexpr std::size_t next_tile_rows(std::size_t remaining) {
  if (remaining >= 2 * kTileRows) return kTileRows;
  return remaining > kTileRows ? (remaining + 1) / 2 : remaining;
}

// V vectors of columns of C, all its rows.
template <class T, Left left, std::size_t V>
void strip(std::size_t rows, std::size_t depth, Operands<T> at, Start<T> start) {
  while (rows > 0) {
    const std::size_t R = next_tile_rows(rows);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((R == I + 1 ? tile<T, left, V, I + 1>(depth, at, start) : void()), ...);
    }
    (std::make_index_sequence<kTileRows>());
    at.a += left == Left::by_rows ? R * at.lda : R;
    at.c += R * at.ldc;
    start.bias_rows -= std::min(start.bias_rows, R);
    rows -= R;
  }
}

// The strip of C that starts `columns` before its end: one tile wide, or narrower at the end.
template <class T, Left left>
void strip_of(std::size_t columns, std::size_t rows, std::size_t depth, const Operands<T>& at,
              const Start<T>& start) {
  static_assert(kTileVectors == 2);
  if (columns > kLanes<T>)
    strip<T, left, 2>(rows, depth, at, start);
  else
    strip<T, left, 1>(rows, depth, at, start);
}

template <class T>
std::size_t panel_columns(std::size_t columns_left) {
  return columns_left > kLanes<T> ? kPanelColumns<T> : kLanes<T>;
}

}  // namespace

template <class T>
std::size_t padded_columns(std::size_t n) {
  return (n + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

template <class T>
std::size_t padded_width(std::size_t n) {
  const std::size_t width = padded_columns<T>(n);
  return width > 0 && width * sizeof(T) % 512 == 0 ? width + kLanes<T> : width;
}

template <class T>
void PackedMatrix<T>::pack(const double* source, std::size_t rows, std::size_t cols, bool transpose) {
  rows_ = transpose ? cols : rows;
  cols_ = transpose ? rows : cols;
  const std::size_t size = rows_ * ((cols_ + kPanelColumns<T> - 1) / kPanelColumns<T> * kPanelColumns<T>);
  if (size > data_.size()) data_ = Buffer<T>(size);
  const std::size_t row_stride = transpose ? 1 : cols, column_stride = transpose ? cols : 1;
  T* to = data_.data();
  for (std::size_t j = 0; j < cols_; j += kPanelColumns<T>) {
    const std::size_t width = panel_columns<T>(cols_ - j), filled = std::min(width, cols_ - j);
    for (std::size_t p = 0; p < rows_; ++p, to += width) {
      const double* from = source + p * row_stride + j * column_stride;
      for (std::size_t c = 0; c < filled; ++c) to[c] = static_cast<T>(from[c * column_stride]);
      std::fill(to + filled, to + width, T(0));
    }
  }
}

template <class T>
void multiply(std::size_t rows, const T* A, std::size_t lda, const PackedMatrix<T>& W, T* Z, std::size_t ldz,
              const T* bias, std::size_t bias_rows, bool accumulate, Sums sums) {
  const std::size_t k = W.rows(), n = W.cols();
  assert(lda >= k && ldz >= padded_columns<T>(n));
  if (!bias) bias_rows = 0;
  for (std::size_t p = 0; p == 0 || p < k; p += kDepthBlock) {
    for (std::size_t j = 0; j < n; j += kPanelColumns<T>) {
      const std::size_t columns = n - j, ldb = panel_columns<T>(columns);
      T padded_bias[kPanelColumns<T>] = {};
      Start<T> start{.from_memory = accumulate || p > 0, .sums = sums};
      if (bias_rows > 0 && p == 0) {
        std::copy_n(bias + j, std::min(columns, ldb), padded_bias);
        start.bias = padded_bias;
        start.bias_rows = std::min(bias_rows, rows);
      }
      strip_of<T, Left::by_rows>(columns, rows, std::min(kDepthBlock, k - p),
                                 {A + p, lda, W.data() + j * k + p * ldb, ldb, Z + j, ldz}, start);
    }
  }
}

template <class T>
void add_outer(std::size_t rows, const T* A, std::size_t lda, std::size_t k, const T* G, std::size_t ldg,
               std::size_t n, T* W, std::size_t ldw, Sums sums) {
  assert(lda >= k && ldg >= padded_columns<T>(n) && ldw >= padded_columns<T>(n));
  for (std::size_t i = 0; i < rows; i += kRowBlock)
    for (std::size_t j = 0; j < n; j += kPanelColumns<T>)
      strip_of<T, Left::transposed>(n - j, k, std::min(kRowBlock, rows - i),
                                    {A + i * lda, lda, G + i * ldg + j, ldg, W + j, ldw}, {.sums = sums});
}

template <class T>
void add_column_sums(std::size_t rows, const T* G, std::size_t ldg, std::size_t n, T* b) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < n; ++j) b[j] += G[i * ldg + j];
}

#define LATHER_INSTANTIATE(T)                                                                         \
  template std::size_t padded_columns<T>(std::size_t);                                                \
  template std::size_t padded_width<T>(std::size_t);                                                  \
  template class PackedMatrix<T>;                                                                     \
  template void multiply(std::size_t, const T*, std::size_t, const PackedMatrix<T>&, T*, std::size_t, \
                         const T*, std::size_t, bool, Sums);                                          \
  template void add_outer(std::size_t, const T*, std::size_t, std::size_t, const T*, std::size_t,     \
                          std::size_t, T*, std::size_t, Sums);                                        \
  template void add_column_sums(std::size_t, const T*, std::size_t, std::size_t, T*);
LATHER_INSTANTIATE(double)
LATHER_INSTANTIATE(float)
#undef LATHER_INSTANTIATE

}  // namespace lather::linalg
