#include "lather/optim/least_squares/solvers/orthogonal_factor.hpp"

#include <algorithm>
#include <cmath>

#include "lather/core/buffer.hpp"
#include "lather/linalg/tall_qr.hpp"
#include "lather/optim/deterministic_sums.hpp"

namespace lather::optim {

namespace {

// Rows of J at a time: for each chunk the triangle is read and written once.
constexpr std::size_t kChunkRows = 512;

// r is one more column of J: that column of the triangle is c.
class HostOrthogonalFactor final : public OrthogonalFactor {
 public:
  explicit HostOrthogonalFactor(Residuals& residuals) : residuals_(residuals), n_(residuals.size()) {}

  std::size_t bytes() const override {
    return R_.bytes() + S_.bytes() + (rows_.size() + chunk_.size()) * sizeof(double);
  }

  double build(std::span<const double> x, std::span<double> Jtr) override {
    const std::size_t m = residuals_.residual_count(), columns = n_ + 1;
    std::vector<double> r(m);
    residuals_.residuals(x, r);
    R_.reset(columns);
    reserve(std::min(kChunkRows, m));
    for (std::size_t first = 0; first < m; first += kChunkRows) {
      const std::size_t count = std::min(kChunkRows, m - first);
      residuals_.jacobian_rows(x, first, count, rows_.data());
      for (std::size_t k = 0; k < count; ++k) {
        std::copy_n(rows_.data() + k * n_, n_, chunk_.data() + k * columns);
        chunk_[k * columns + n_] = r[first + k];
      }
      R_.add_rows({chunk_.data(), count, columns}, residuals_.team());
    }
    const auto R = R_.R();
    std::fill(Jtr.begin(), Jtr.end(), 0.0);  // J^T r = R^T c
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = i; j < n_; ++j) Jtr[j] += R(i, j) * R(i, n_);
    return dot(r, r);
  }

  std::vector<double> diagonal() const override {
    std::vector<double> squares(n_);
    const auto R = R_.R();
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = i; j < n_; ++j) squares[j] += R(i, j) * R(i, j);
    return squares;
  }
  void copy_upper(std::span<double> to) const override {
    for (std::size_t i = 0; i < n_; ++i) std::copy_n(R_.R().data + i * (n_ + 1), n_, to.data() + i * n_);
  }

  bool damp(double lambda, std::span<const double> D) override {
    S_.reset(R_);
    std::vector<double> roots(n_);
    for (std::size_t i = 0; i < n_; ++i) roots[i] = std::sqrt(lambda * D[i]);
    S_.add_diagonal(roots, residuals_.team());
    for (std::size_t i = 0; i < n_; ++i)
      if (const double pivot = S_.R()(i, i); pivot == 0 || !std::isfinite(pivot)) return false;
    return true;
  }

  void solve(std::span<double> d) override {
    for (std::size_t i = 0; i < n_; ++i) d[i] = -S_.R()(i, n_);
    linalg::solve_upper(S_.R(), d);
  }
  void solve_normal(std::span<double> b) override {
    linalg::solve_upper_transposed(S_.R(), b);
    linalg::solve_upper(S_.R(), b);
  }

 private:
  void reserve(std::size_t rows) {
    if (chunk_.size() >= rows * (n_ + 1)) return;
    chunk_ = Buffer<double>(rows * (n_ + 1));
    rows_ = Buffer<double>(rows * n_);
  }
  Residuals& residuals_;
  std::size_t n_;
  linalg::TallQr R_, S_;
  Buffer<double> rows_, chunk_;
};

}  // namespace

std::unique_ptr<OrthogonalFactor> make_host_orthogonal_factor(Residuals& residuals) {
  return std::make_unique<HostOrthogonalFactor>(residuals);
}

double host_orthogonal_factor_bytes(std::size_t parameters) {
  const std::size_t columns = parameters + 1;
  const double rows = static_cast<double>(kChunkRows * columns) * sizeof(double);
  return 2 * (linalg::TallQr::bytes_of(columns, kChunkRows) + rows);
}

}  // namespace lather::optim
