#include "lather/optim/residuals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/optim/least_squares/solvers/normal_matrix.hpp"
#include "lather/optim/least_squares/solvers/orthogonal_factor.hpp"
#include "lather/optim/least_squares/solvers/sketched_factor.hpp"
#include "lather/optim/least_squares/solvers/vector_blocks.hpp"

namespace lather::optim {

void require_size(std::string_view name, std::size_t size, std::size_t expected) {
  if (size != expected) throw Error(fmt::format("{}: {} numbers, expected {}", name, size, expected));
}

void Residuals::residuals(std::span<const double>, std::span<double>) {
  throw Error("this objective is not a sum of squared residuals");
}

void Residuals::residuals_at(std::span<const double> xs, std::span<double> r) {
  const std::size_t n = size(), m = residual_count(), count = n > 0 ? xs.size() / n : 0;
  require_size("xs", xs.size(), count * n);
  require_size("r", r.size(), count * m);
  for (; !xs.empty(); xs = xs.subspan(n), r = r.subspan(m)) residuals(xs.first(n), r.first(m));
}

void Residuals::residual_scales(std::span<double> scales) const {
  std::fill(scales.begin(), scales.end(), 1.0);
}

void Residuals::jacobian_rows(std::span<const double>, std::size_t, std::size_t, double*) {
  throw Error("this objective does not give the Jacobian of its residuals");
}

// The rest works row by row: plain, and the specification of faster versions.

double Residuals::normal_equations(std::span<const double> x, double* JtJ, std::span<double> Jtr) {
  const std::size_t n = size();
  require_size("Jtr", Jtr.size(), n);
  std::vector<double> r(residual_count()), row(n);
  residuals(x, r);
  std::fill_n(JtJ, n * n, 0.0);
  std::fill(Jtr.begin(), Jtr.end(), 0.0);
  double value = 0;
  for (std::size_t k = 0; k < r.size(); ++k) {
    jacobian_rows(x, k, 1, row.data());
    for (std::size_t i = 0; i < n; ++i) {
      Jtr[i] += row[i] * r[k];
      for (std::size_t j = 0; j <= i; ++j) JtJ[i * n + j] += row[i] * row[j];
    }
    value += r[k] * r[k];
  }
  return value;
}

void Residuals::normal_diagonal(std::span<const double> x, std::span<double> diagonal) {
  constexpr std::size_t kRows = 256;
  const std::size_t n = size(), m = residual_count();
  require_size("diagonal", diagonal.size(), n);
  std::vector<double> rows(std::min(kRows, m) * n);
  std::fill(diagonal.begin(), diagonal.end(), 0.0);
  for (std::size_t first = 0; first < m; first += kRows) {
    const std::size_t count = std::min(kRows, m - first);
    jacobian_rows(x, first, count, rows.data());
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t i = 0; i < n; ++i) diagonal[i] += rows[k * n + i] * rows[k * n + i];
  }
}

void Residuals::residual_gram(std::span<const double> x, double* JJt, std::span<double> r) {
  const std::size_t m = residual_count(), n = size();
  require_size("r", r.size(), m);
  residuals(x, r);
  std::vector<double> rows(m * n);
  jacobian_rows(x, 0, m, rows.data());
  for (std::size_t k = 0; k < m; ++k)
    for (std::size_t l = 0; l <= k; ++l)
      JJt[k * m + l] = std::inner_product(&rows[k * n], &rows[k * n] + n, &rows[l * n], 0.0);
}

void Residuals::jacobian_times(std::span<const double> x, std::span<const double> v, std::span<double> Jv) {
  require_size("v", v.size(), size());
  require_size("Jv", Jv.size(), residual_count());
  std::vector<double> row(size());
  for (std::size_t k = 0; k < Jv.size(); ++k) {
    jacobian_rows(x, k, 1, row.data());
    Jv[k] = std::inner_product(row.begin(), row.end(), v.begin(), 0.0);
  }
}

void Residuals::transposed_jacobian_times(std::span<const double> x, std::span<const double> w,
                                          std::span<double> Jtw) {
  require_size("w", w.size(), residual_count());
  require_size("Jtw", Jtw.size(), size());
  std::vector<double> row(size());
  std::fill(Jtw.begin(), Jtw.end(), 0.0);
  for (std::size_t k = 0; k < w.size(); ++k) {
    jacobian_rows(x, k, 1, row.data());
    for (std::size_t i = 0; i < row.size(); ++i) Jtw[i] += w[k] * row[i];
  }
}

std::unique_ptr<NormalMatrix> Residuals::make_normal_matrix(std::size_t dimension) {
  return make_host_normal_matrix(*this, dimension);
}

double Residuals::normal_matrix_bytes(std::size_t dimension) const {
  return sizeof(double) * static_cast<double>(dimension) * static_cast<double>(dimension);
}

std::unique_ptr<OrthogonalFactor> Residuals::make_orthogonal_factor() {
  return make_host_orthogonal_factor(*this);
}

double Residuals::orthogonal_factor_bytes() const { return host_orthogonal_factor_bytes(size()); }

std::unique_ptr<OrthogonalFactor> Residuals::make_sketched_factor(const Sketch& sketch) {
  return make_host_sketched_factor(*this, sketch);
}

double Residuals::sketched_factor_bytes(std::size_t columns, std::size_t rows) const {
  return host_sketched_factor_bytes(size(), columns, rows);
}

std::unique_ptr<VectorBlocks> Residuals::make_vector_blocks(std::size_t count) {
  return make_host_vector_blocks(*this, count);
}

double Residuals::available_bytes() const { return available_memory_bytes(); }

}  // namespace lather::optim
