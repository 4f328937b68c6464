// J = Q R by Cholesky factorizations in passes (shifted CholeskyQR, Fukaya et al. 2020): each is a SYRK, a
// Cholesky factorization and a triangular solve for blocks of rows, all at the speed of matrix products.
//
//   G = Q^T Q + s I with Q = J L^{-T}   L = R^T so far (the first pass: Q = J), s as small as Cholesky allows
//   C C^T = G,  L <- L C                every pass multiplies the condition number of Q by about sqrt(s)
//
// The last pass needs no shift: its G is near the identity, and c = C^{-1} Q^T r is as good as Householder's.

#include "lather/optim/cuda/least_squares/normal_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lather/optim/cuda/least_squares/triangles.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/least_squares/solvers/orthogonal_factor.hpp"

namespace lather::optim {

namespace {

constexpr std::size_t kBlockRows = 4096;
constexpr int kPasses = 4;

class CudaOrthogonalFactor final : public OrthogonalFactor {
 public:
  CudaOrthogonalFactor(DeviceJacobian& jacobian, std::size_t size)
      : jacobian_(jacobian),
        n_(size),
        stride_(cuda::row_stride(size)),
        blas_(stream_),
        gram_(size, blas_, stream_),
        L_(size * stride_),
        S_(size * stride_),
        X_(size * stride_),
        Y_(size * stride_),
        block_(kBlockRows * stride_),
        c_(size),
        g_(size) {}

  std::size_t bytes() const override {
    return gram_.bytes() + L_.bytes() + S_.bytes() + X_.bytes() + Y_.bytes() + block_.bytes();
  }

  double build(std::span<const double> x, std::span<double> Jtr) override {
    const int n = size(), s = stride();
    std::vector<double> r;
    for (int pass = 0; pass < kPasses; ++pass) {
      bool first = true;
      jacobian_.visit_rows(x, [&](const double* rows, const double* weighted, std::size_t count) {
        for (std::size_t begin = 0; begin < count; begin += kBlockRows) {
          const int k = static_cast<int>(std::min(kBlockRows, count - begin));
          copy(block_.data(), rows + begin * stride_, k * stride_);
          if (pass > 0)  // B L^{-T}
            blas_.solve_lower({.n = n, .k = k, .transpose = true}, L_.data(), s, block_.data(), s);
          const double beta = first ? 0 : 1;
          first = false;
          blas_.square({.n = n, .k = k, .beta = beta}, block_.data(), s, gram_.upper(), s);
          blas_.multiply<double>({.m = n, .n = 1, .k = k, .transpose_a = true, .beta = beta}, block_.data(),
                                 s, weighted + begin, 1, g_.data(), 1);
        }
        stream_.synchronize();
        if (pass == 0) fetch(weighted, count, r);
      });
      gram_.written();
      if (pass == 0) diagonal_ = gram_.diagonal();
      const bool last = factor_gram(std::vector<double>(n_)) || pass == kPasses - 1;
      multiply_by_factor(L_, pass == 0);
      if (last) break;
    }
    if (!factored_) {  // J is not finite
      std::fill(Jtr.begin(), Jtr.end(), std::numeric_limits<double>::quiet_NaN());
      return dot(r, r);
    }
    // c = C^{-1} g, J^T r = R^T c = L c
    copy(c_.data(), g_.data(), n_);
    blas_.solve_lower({.n = n, .k = 1, .transpose = true}, gram_.factor(), s, c_.data(), s);
    blas_.multiply<double>({.m = n, .n = 1, .k = n}, L_.data(), s, c_.data(), 1, g_.data(), 1);
    stream_.synchronize();
    g_.download(Jtr);
    return dot(r, r);
  }

  std::vector<double> diagonal() const override { return diagonal_; }
  void copy_upper(std::span<double> R) const override {
    download_rows(L_.data(), n_, n_, R.data());
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < i; ++j) std::swap(R[i * n_ + j], R[j * n_ + i]);
  }

  // The same passes for the rows of R = L^T and of sqrt(lambda D), held as columns: X = S^{-1} L, Y = S^{-1}
  // sqrt(lambda D). Weak damping changes R little, and S = L is nearly orthogonal from the start.
  bool damp(double lambda, std::span<const double> D) override {
    const int n = size(), s = stride();
    std::vector<double> shift(n_);
    for (std::size_t i = 0; i < n_; ++i) shift[i] = lambda * D[i];
    const bool weak = start_from_factor(shift);
    if (!weak) {
      copy(X_.data(), L_.data(), n_ * stride_);
      gram_.write_roots(shift, Y_.data());
      blas_.square({.n = n, .k = n, .of_rows = true}, X_.data(), s, gram_.upper(), s);
      gram_.written();
    }
    for (int pass = 0; pass < kPasses; ++pass) {
      if (pass > 0) {
        for (auto* columns : {&X_, &Y_})
          blas_.solve_lower({.n = n, .k = n, .left = true}, gram_.factor(), s, columns->data(), s);
        blas_.square({.n = n, .k = n, .of_rows = true}, X_.data(), s, gram_.upper(), s);
        blas_.square({.n = n, .k = n, .of_rows = true, .beta = 1}, Y_.data(), s, gram_.upper(), s);
        gram_.written();
      }
      const double of_identity = weak && pass == 0 ? 1 : 0;
      const bool last = factor_gram(pass == 0 && !weak ? shift : std::vector<double>(n_, of_identity)) ||
                        pass == kPasses - 1;
      if (!factored_) return false;
      multiply_by_factor(S_, pass == 0 && !weak);
      if (last) break;
    }
    // What becomes of c: C^{-1} X c
    blas_.multiply<double>({.m = n, .n = 1, .k = n}, X_.data(), s, c_.data(), 1, g_.data(), 1);
    blas_.solve_lower({.n = n, .k = 1, .transpose = true}, gram_.factor(), s, g_.data(), s);
    stream_.synchronize();
    return true;
  }

  void solve(std::span<double> d) override {  // d = -S^{-T} (what became of c)
    copy(block_.data(), g_.data(), n_);
    blas_.solve_lower({.n = size(), .k = 1}, S_.data(), stride(), block_.data(), stride());
    fetch_front(d);
    for (double& value : d) value = -value;
  }
  void solve_normal(std::span<double> b) override {
    block_.upload(b);
    for (const bool transpose : {true, false})
      blas_.solve_lower({.n = size(), .k = 1, .transpose = transpose}, S_.data(), stride(), block_.data(),
                        stride());
    fetch_front(b);
  }

 private:
  int size() const { return static_cast<int>(n_); }
  int stride() const { return static_cast<int>(stride_); }
  void copy(double* to, const double* from, std::size_t count) {
    cuda::check(cudaMemcpyAsync(to, from, count * sizeof(double), cudaMemcpyDeviceToDevice, stream_));
  }
  static void fetch(const double* from, std::size_t count, std::vector<double>& to) {
    const std::size_t before = to.size();
    to.resize(before + count);
    cuda::check(cudaMemcpy(to.data() + before, from, count * sizeof(double), cudaMemcpyDeviceToHost));
  }
  void fetch_front(std::span<double> to) {
    stream_.synchronize();
    block_.download(to);
  }

  // If damping is weak: S = L, X = I, Y = L^{-1} sqrt(lambda D), and Y Y^T goes to the Gram matrix, to which
  // I is still to be added. False if damping is strong compared to the weakest directions of J.
  bool start_from_factor(std::span<const double> shift) {
    constexpr double kStrong = 1e10;
    const auto pivots = gram_.diagonal_of(L_.data());
    for (std::size_t i = 0; i < n_; ++i)
      if (!(shift[i] < kStrong * pivots[i] * pivots[i])) return false;
    gram_.write_roots(shift, Y_.data());
    const int n = size(), s = stride();
    blas_.solve_lower({.n = n, .k = n, .left = true}, L_.data(), s, Y_.data(), s);
    blas_.square({.n = n, .k = n, .of_rows = true}, Y_.data(), s, gram_.upper(), s);
    gram_.written();
    if (!(std::ranges::max(gram_.diagonal()) < kStrong)) return false;
    gram_.write_roots(std::vector<double>(n_, 1), X_.data());
    copy(S_.data(), L_.data(), n_ * stride_);
    return true;
  }

  // Factors G + diag(shift) + s I. True if s = 0 was enough and the factor is well-conditioned: no further
  // pass is needed.
  bool factor_gram(std::vector<double> shift) {
    const auto on_diagonal = gram_.diagonal();
    const double trace = std::accumulate(on_diagonal.begin(), on_diagonal.end(), 0.0);
    double s = 0,
           next = 4 * std::numeric_limits<double>::epsilon() * trace / std::sqrt(static_cast<double>(n_));
    factored_ = gram_.factor(shift);
    for (int tries = 0; !factored_ && tries < 12 && std::isfinite(trace); ++tries, next *= 10) {
      for (double& value : shift) value += next - s;
      s = next;
      factored_ = gram_.factor(shift);
    }
    if (!factored_ || s > 0) return false;
    const auto pivots = gram_.factor_diagonal();
    const auto [smallest, largest] = std::ranges::minmax(pivots);
    return largest < 10 * smallest;
  }

  // L <- L C, or L <- C at first.
  void multiply_by_factor(const cuda::Memory<double>& L, bool first) {
    if (first) return gram_.copy_factor(L.data());
    for (std::size_t begin = 0; begin < n_; begin += kBlockRows) {
      const std::size_t rows = std::min(kBlockRows, n_ - begin);
      double* of_L = L.data() + begin * stride_;
      blas_.multiply_by_lower(size(), static_cast<int>(rows), stride(), of_L, gram_.factor(), block_.data());
      copy(of_L, block_.data(), rows * stride_);
    }
  }

  DeviceJacobian& jacobian_;
  std::size_t n_, stride_;
  cuda::Stream stream_;
  cuda::Blas blas_;
  DeviceGram gram_;
  cuda::Memory<double> L_, S_;  // R^T of J, and of the damped problem
  cuda::Memory<double> X_, Y_;  // of damp()
  cuda::Memory<double> block_;  // rows of Q, or of a product
  cuda::Memory<double> c_, g_;
  std::vector<double> diagonal_;  // of J^T J
  bool factored_ = false;         // by the last factor_gram
};

}  // namespace

std::unique_ptr<OrthogonalFactor> make_device_orthogonal_factor(DeviceJacobian& jacobian,
                                                                std::size_t parameters) {
  return std::make_unique<CudaOrthogonalFactor>(jacobian, parameters);
}

double device_orthogonal_factor_bytes(std::size_t parameters) {
  const auto n = static_cast<double>(parameters), stride = static_cast<double>(cuda::row_stride(parameters));
  return (4 * n + static_cast<double>(kBlockRows)) * stride * sizeof(double) + DeviceGram::bytes_of(n);
}

}  // namespace lather::optim
