// R of tall matrices and R with a diagonal below it, on one thread and on several, beside products alone on one.
//   bench_tall_qr [THREADS]
#include <fmt/core.h>

#include <cstdlib>
#include <vector>

#include "best_seconds.hpp"
#include "lather/core/rng.hpp"
#include "lather/core/threads.hpp"
#include "lather/linalg/gemm.hpp"
#include "lather/linalg/tall_qr.hpp"

namespace {

using namespace lather;

double product_gflops() {
  constexpr std::size_t kRows = 96, kWidth = 256, kRepeats = 400;
  const std::vector<double> a(kRows * kWidth, 0.5), w(kWidth * kWidth, 0.25);
  const std::size_t ld = linalg::padded_width<double>(kWidth);
  Buffer<double> z(kRows * ld);
  linalg::PackedMatrix<double> packed;
  packed.pack(w.data(), kWidth, kWidth, false);
  const double seconds = bench::best_seconds(5, [&] {
    for (std::size_t i = 0; i < kRepeats; ++i)
      linalg::multiply<double>(kRows, a.data(), kWidth, packed, z.data(), ld, nullptr, 0, false);
  });
  return 2e-9 * kRows * kWidth * kWidth * kRepeats / seconds;
}

void measure(std::size_t columns, int threads) {
  constexpr std::size_t kChunk = 512, kChunks = 8;
  std::vector<double> rows(kChunk * columns);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = Random(1, 2).uniform(i) - 0.5;
  const std::vector<double> diagonal(columns - 1, 1e-6);
  ThreadTeam team(threads);
  linalg::TallQr qr, damped;
  const double whole = bench::best_seconds(5, [&] {
    qr.reset(columns);
    for (std::size_t i = 0; i < kChunks; ++i) qr.add_rows({rows.data(), kChunk, columns}, &team);
  });
  const double below = bench::best_seconds(5, [&] {
    damped.reset(qr);
    damped.add_diagonal(diagonal, &team);
  });
  const auto n = static_cast<double>(columns);
  fmt::print("{:>8} {:>8} {:>10.3f} s {:>8.1f} GF/s {:>10.3f} s\n", columns, threads, whole,
             2e-9 * kChunk * kChunks * n * n / whole, below);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  fmt::print("products alone, 96 x 256 x 256, one thread: {:.1f} GF/s\n", product_gflops());
  fmt::print("{:>8} {:>8} {:>12} {:>13} {:>12}\n", "columns", "threads", "4,096 rows", "", "a diagonal");
  for (const std::size_t columns : {601, 1601, 2501})
    for (const int t : {1, threads}) measure(columns, t);
}
