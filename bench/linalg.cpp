// The matrix products and array functions of lather/linalg on one core: multiply-add peak, fraction of it
// reached, Eigen for comparison.

#pragma GCC diagnostic ignored \
    "-Wmaybe-uninitialized"  // false positives of GCC 12 in Eigen's AVX-512 code (GCC bug 105593)

#include <fmt/core.h>

#include <Eigen/Core>
#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

#include "lather/core/buffer.hpp"
#include "lather/core/rng.hpp"
#include "lather/linalg/gemm.hpp"
#include "lather/linalg/simd.hpp"
#include "lather/linalg/vector_math.hpp"

namespace {
using namespace lather;
using namespace lather::linalg;

double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// CPU seconds per call: the best of many short runs, some of which fall into quiet moments of a shared
// machine.
double seconds_per_call(double work, const std::function<void()>& call) {
  constexpr double work_per_trial = 2e7;
  constexpr int trials = 60;
  const int calls = std::max(1, static_cast<int>(work_per_trial / work));
  double best = 1e9;
  for (int trial = 0; trial < trials; ++trial) {
    const double start = thread_seconds();
    for (int i = 0; i < calls; ++i) call();
    best = std::min(best, (thread_seconds() - start) / calls);
  }
  return best;
}

// Independent multiply-add chains in registers: the most the machine can do.
template <class T>
double peak_gflops() {
  constexpr int chains = 12, steps = 4096;
  const double flops = 2.0 * kLanes<T> * chains * steps;
  T start = 1;
  const double seconds = seconds_per_call(flops, [&] {
    asm volatile("" : "+m"(start));
    const Vector<T> factor = Vector<T>{} + T(0.999), term = Vector<T>{} + T(0.001);
    Vector<T> value[chains];
    for (auto& v : value) v = Vector<T>{} + start;
    for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 16
      for (auto& v : value) v = v * factor + term;
    }
    asm volatile("" : : "m"(value));
  });
  return flops / seconds * 1e-9;
}

template <class T>
Buffer<T> random_values(std::size_t size, std::uint64_t stream) {
  Buffer<T> v(size);
  const Random random(1, stream);
  for (std::size_t i = 0; i < size; ++i) v[i] = static_cast<T>(random.uniform(i, -1, 1));
  return v;
}

template <class T>
void bench_products(const char* type) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  fmt::print("{}, {} lanes; GF/s and share of the multiply-add peak measured beside it\n", type, kLanes<T>);
  fmt::print("{:>6} {:>5} {:>6} {:>16} {:>16} {:>16}   {:>12} {:>12}\n", "width", "rows", "peak", "Z = A W",
             "A += Z W^T", "W += A^T Z", "Eigen A W", "Eigen A^T Z");
  for (const std::size_t width : {32, 64, 128, 256})
    for (const std::size_t rows : {48, 96, 192}) {
      const std::size_t ld = padded_width<T>(width);
      const auto a = random_values<T>(rows * ld, 1);
      auto z = random_values<T>(rows * ld, 2), w = random_values<T>(width * ld, 3);
      const auto w_source = random_values<double>(width * width, 4);
      PackedMatrix<T> forward, backward;
      forward.pack(w_source.data(), width, width, false);
      backward.pack(w_source.data(), width, width, true);
      const std::vector<T> bias(width, T(0.5));

      const Matrix A = Matrix::Random(rows, width), W = Matrix::Random(width, width);
      Matrix Z = Matrix::Random(rows, width), G = Matrix::Zero(width, width);

      const double flops = 2.0 * static_cast<double>(rows * width * width);
      const auto gflops = [&](auto&& call) { return flops / seconds_per_call(flops, call) * 1e-9; };
      const double peak = peak_gflops<T>();
      const double nn =
          gflops([&] { multiply(rows, a.data(), ld, forward, z.data(), ld, bias.data(), rows / 4, false); });
      const double nt = gflops([&] {
        multiply(rows, a.data(), ld, backward, z.data(), ld, static_cast<const T*>(nullptr), 0, true);
      });
      const double tn =
          gflops([&] { add_outer(rows, a.data(), ld, width, z.data(), ld, width, w.data(), ld); });
      const double eigen_nn = gflops([&] { Z.noalias() = A * W; });
      const double eigen_tn = gflops([&] { G.noalias() += A.transpose() * Z; });
      fmt::print(
          "{:>6} {:>5} {:>6.1f} {:>9.1f} {:>4.0f} % {:>9.1f} {:>4.0f} % {:>9.1f} {:>4.0f} %   {:>12.1f} "
          "{:>12.1f}\n",
          width, rows, peak, nn, 100 * nn / peak, nt, 100 * nt / peak, tn, 100 * tn / peak, eigen_nn,
          eigen_tn);
    }
}

template <class T>
void bench_functions(const char* type) {
  constexpr std::size_t n = 4096;
  auto in = random_values<T>(n, 5);
  for (std::size_t i = 0; i < n; ++i) in[i] *= T(3);
  Buffer<T> out(n);
  const auto report = [&](const char* name, auto&& function) {
    const double seconds = seconds_per_call(20.0 * n, [&] { function(in.data(), out.data(), n); });
    fmt::print("{:>8} {:<10} {:.2f} ns per element\n", type, name, seconds / n * 1e9);
  };
  report("tanh", vmath::tanh<T>);
  report("sin", vmath::sin<T>);
  report("cos", vmath::cos<T>);
  report("exp", vmath::exp<T>);
  report("sigmoid", vmath::sigmoid<T>);
  report("softplus", vmath::softplus<T>);
}

}  // namespace

int main() {
  bench_products<double>("double");
  bench_products<float>("float");
  bench_functions<double>("double");
  bench_functions<float>("float");
}
