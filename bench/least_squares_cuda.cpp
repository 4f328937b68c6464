// One iteration of lm on the GPU, part by part, compared with J^T J and its Cholesky factor alone.
//   bench_least_squares_cuda [WIDTH DEPTH POINTS]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "burgers.hpp"
#include "device_time.hpp"
#include "lather/core/rng.hpp"
#include "lather/optim/cuda/least_squares/cholesky.hpp"
#include "lather/optim/least_squares/levenberg_marquardt.hpp"
#include "lather/optim/least_squares/linearization.hpp"
#include "lather/pde/objective.hpp"

namespace {

using namespace lather;

using bench::milliseconds;

// What no iteration can do without: J^T J of m × n numbers, and its Cholesky factor.
double floor_milliseconds(int n, int m, int repeats) {
  const cuda::Stream stream;
  const cuda::Blas blas(stream);
  const std::size_t stride = cuda::row_stride(static_cast<std::size_t>(n));
  const int ld = static_cast<int>(stride);
  optim::DeviceCholesky cholesky(static_cast<std::size_t>(n), blas, stream);
  const cuda::Memory<double> J = bench::random_rows(m, stride);
  cuda::Memory<double> JtJ(static_cast<std::size_t>(n) * stride);
  cuda::Memory<double> diagonal(static_cast<std::size_t>(n)), shift(static_cast<std::size_t>(n));
  cuda::Memory<int> failed(1);
  diagonal.upload(std::vector<double>(static_cast<std::size_t>(n), m));  // at least that of J^T J
  const double square =
      milliseconds(repeats, [&] { blas.square({.n = n, .k = m}, J.data(), ld, JtJ.data(), ld); });
  const double both = milliseconds(repeats, [&] {
    blas.square({.n = n, .k = m}, J.data(), ld, JtJ.data(), ld);
    cholesky.enqueue(JtJ.data(), diagonal.data(), shift.data(), failed.data());
  });
  cuda::Memory<double> r(static_cast<std::size_t>(m)), Jtr(static_cast<std::size_t>(n));
  const double product = milliseconds(repeats, [&] {
    blas.multiply<double>({.m = n, .n = 1, .k = m, .transpose_a = true}, J.data(), ld, r.data(), 1,
                          Jtr.data(), 1);
  });
  const double vector = milliseconds(repeats, [&] {
    blas.multiply_vector({.rows = m, .cols = n, .stride = ld, .transpose = true}, J.data(), r.data(),
                         Jtr.data());
  });
  int not_positive = 0;
  failed.download(std::span(&not_positive, 1));
  if (not_positive != 0) fmt::print("  the matrix was not positive definite\n");
  fmt::print("  {:44} {:9.2f} ms  ({:.1f} TFLOP/s)\n", "J^T J alone", square,
             1e-9 * n * (n + 1.0) * m / square);
  fmt::print("  {:44} {:9.2f} ms\n", "Cholesky alone", both - square);
  fmt::print("  {:44} {:9.2f} ms, {:.2f} as a vector's\n", "J^T r alone, as a matrix product", product,
             vector);
  return both;
}

void measure(int width, int depth, std::size_t points) {
  pde::PinnObjective objective(bench::burgers(width, depth), {.device = Device::cuda});
  pde::Points drawn;
  for (int i = 0; i < 2; ++i) {
    auto& array = drawn.coordinates.emplace_back(points);
    for (std::size_t k = 0; k < points; ++k)
      array[k] = i == 0 ? 2 * Random(1, i).uniform(k) - 1 : Random(1, i).uniform(k);
  }
  objective.set_points(0, std::move(drawn));
  auto x = objective.initialize(1);
  const int n = static_cast<int>(x.size()), m = static_cast<int>(points);
  const int repeats = bench::repeats_for(n);
  fmt::print("\nburgers, mlp {}x{}: {} parameters, {} points\n", depth, width, n, m);
  const double least = floor_milliseconds(n, m, repeats);

  std::vector<double> d(x.size()), r(points);
  const auto line = [&](const char* name, double ms) { fmt::print("  {:44} {:9.2f} ms\n", name, ms); };
  {
    const auto linear = optim::make_linearization(objective, {});
    auto y = x;
    line("rows of J, J^T J, J^T r", milliseconds(repeats, [&] {
           y[0] += 1e-9;  // the rows at another x
           linear->build(y);
         }));
    line("Cholesky", milliseconds(repeats, [&] { linear->damp(1e-3); }));
    line("direction", milliseconds(repeats, [&] { linear->solve(d); }));
    line("direction for other residuals", milliseconds(repeats, [&] { linear->solve_for(r, d); }));
  }
  {
    const auto linear = optim::make_linearization(
        objective, {.form = optim::LeastSquaresForm::orthogonal, .damping = optim::DampingMatrix::marquardt});
    auto y = x;
    line("rows of J, orthogonal factor", milliseconds(repeats, [&] {
           y[0] += 1e-9;
           linear->build(y);
         }));
    line("the same, damped by 1e-3", milliseconds(repeats, [&] { linear->damp(1e-3); }));
    line("damped by 1e-30", milliseconds(repeats, [&] { linear->damp(1e-30); }));
  }
  line("residuals", milliseconds(repeats, [&] { objective.residuals(x, r); }));
  line("value", milliseconds(repeats, [&] { objective.value(x); }));
  std::vector<double> trials(x), values(2), residuals(3 * points);
  trials.insert(trials.end(), x.begin(), x.end());
  line("two values in one batch", milliseconds(repeats, [&] { objective.values(trials, values); }));
  trials.insert(trials.end(), x.begin(), x.end());
  line("three residuals in one batch",
       milliseconds(repeats, [&] { objective.residuals_at(trials, residuals); }));
  optim::LevenbergMarquardt lm(objective.layout(), {});
  double evaluations = 0;
  int steps = 0;
  const double step = milliseconds(repeats, [&] {
    evaluations += static_cast<double>(lm.step(objective, x).evaluations);
    ++steps;
  });
  fmt::print("  {:44} {:9.2f} ms  ({:.1f} evaluations, {:.2f} of J^T J + Cholesky)\n", "a whole iteration",
             step, evaluations / steps, step / least);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const auto report = cuda_report();
  fmt::print("{}\n", report.text);
  if (!report.usable) return 0;
  if (argc == 4) {
    measure(std::atoi(argv[1]), std::atoi(argv[2]), static_cast<std::size_t>(std::atoll(argv[3])));
    return 0;
  }
  measure(32, 5, 12000);
  measure(64, 5, 20000);
  measure(64, 9, 40000);
}
