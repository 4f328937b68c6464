#include "lather/optim/least_squares/solvers/normal_matrix.hpp"

#include <algorithm>

#include "lather/core/buffer.hpp"
#include "lather/linalg/factorizations.hpp"

namespace lather::optim {

namespace {

class HostNormalMatrix final : public NormalMatrix {
 public:
  HostNormalMatrix(Residuals& residuals, std::size_t dimension)
      : residuals_(residuals),
        size_(dimension),
        matrix_(dimension * dimension),
        factor_(dimension * dimension) {}

  std::size_t dimension() const override { return size_; }
  std::size_t bytes() const override { return (matrix_.size() + factor_.size()) * sizeof(double); }

  double build_normal(std::span<const double> x, std::span<double> Jtr) override {
    return residuals_.normal_equations(x, matrix_.data(), Jtr);
  }
  void build_gram(std::span<const double> x, std::span<double> r) override {
    residuals_.residual_gram(x, matrix_.data(), r);
  }

  std::vector<double> diagonal() const override {
    std::vector<double> values(size_);
    for (std::size_t i = 0; i < size_; ++i) values[i] = matrix_[i * (size_ + 1)];
    return values;
  }
  void copy_lower(std::span<double> matrix) const override {
    std::copy_n(matrix_.data(), matrix_.size(), matrix.data());
  }

  bool factor(double lambda, std::span<const double> D) override {
    std::copy_n(matrix_.data(), matrix_.size(), factor_.data());
    for (std::size_t i = 0; i < size_; ++i) factor_[i * (size_ + 1)] += lambda * D[i];
    return linalg::cholesky({factor_.data(), size_, size_}, residuals_.team());
  }
  void solve(std::span<double> b) override { linalg::cholesky_solve({factor_.data(), size_, size_}, b); }

 private:
  Residuals& residuals_;
  std::size_t size_;
  Buffer<double> matrix_, factor_;
};

}  // namespace

std::unique_ptr<NormalMatrix> make_host_normal_matrix(Residuals& residuals, std::size_t dimension) {
  return std::make_unique<HostNormalMatrix>(residuals, dimension);
}

}  // namespace lather::optim
