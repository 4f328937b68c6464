#include "lather/optim/least_squares/solvers/normal_matrix.hpp"

#include <algorithm>

#include "lather/core/buffer.hpp"
#include "lather/linalg/factorizations.hpp"
#include "lather/optim/least_squares/solvers/on_team.hpp"

namespace lather::optim {

namespace {

// Matrix and factor share one square array: the matrix above the diagonal, the factor on and below it. The
// matrix's diagonal is kept separately.
class HostNormalMatrix final : public NormalMatrix {
 public:
  HostNormalMatrix(Residuals& residuals, std::size_t dimension)
      : residuals_(residuals), size_(dimension), matrix_(dimension * dimension), diagonal_(dimension) {}

  std::size_t dimension() const override { return size_; }
  std::size_t bytes() const override { return matrix_.size() * sizeof(double); }

  double build_normal(std::span<const double> x, std::span<double> Jtr) override {
    const double value = residuals_.normal_equations(x, matrix_.data(), Jtr);
    keep();
    return value;
  }
  void build_gram(std::span<const double> x, std::span<double> r) override {
    residuals_.residual_gram(x, matrix_.data(), r);
    keep();
  }

  std::vector<double> diagonal() const override { return diagonal_; }
  void copy_lower(std::span<double> matrix) const override {
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < i; ++j) matrix[i * size_ + j] = matrix_[j * size_ + i];
      matrix[i * (size_ + 1)] = diagonal_[i];
    }
  }

  bool factor(double lambda, std::span<const double> D) override {
    over_pairs([](double& below, const double& above) { below = above; });
    for (std::size_t i = 0; i < size_; ++i) matrix_[i * (size_ + 1)] = diagonal_[i] + lambda * D[i];
    return linalg::cholesky({matrix_.data(), size_, size_}, residuals_.team());
  }
  void solve(std::span<double> b) override { linalg::cholesky_solve({matrix_.data(), size_, size_}, b); }
  void solve_transposed(std::span<const double> x, std::span<const double> w, std::span<double> d) override {
    residuals_.transposed_jacobian_times(x, w, d);
    solve(d);
  }

 private:
  void keep() {
    over_pairs([](const double& below, double& above) { above = below; });
    for (std::size_t i = 0; i < size_; ++i) diagonal_[i] = matrix_[i * (size_ + 1)];
  }

  // f(element below the diagonal, its mirror image), by tiles that fit into the cache.
  template <class F>
  void over_pairs(const F& f) {
    constexpr std::size_t kTile = 32;
    on_team(residuals_.team(), (size_ + kTile - 1) / kTile, [&](std::size_t tile) {
      const std::size_t end = std::min(size_, (tile + 1) * kTile);
      for (std::size_t first = 0; first <= tile * kTile; first += kTile)
        for (std::size_t i = tile * kTile; i < end; ++i)
          for (std::size_t j = first; j < std::min(first + kTile, i); ++j)
            f(matrix_[i * size_ + j], matrix_[j * size_ + i]);
    });
  }

  Residuals& residuals_;
  std::size_t size_;
  Buffer<double> matrix_;
  std::vector<double> diagonal_;
};

}  // namespace

std::unique_ptr<NormalMatrix> make_host_normal_matrix(Residuals& residuals, std::size_t dimension) {
  return std::make_unique<HostNormalMatrix>(residuals, dimension);
}

}  // namespace lather::optim
