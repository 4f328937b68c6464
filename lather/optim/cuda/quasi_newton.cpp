// The memory of quasi-Newton methods on the GPU: a dense inverse Hessian, or the pairs of L-BFGS. Vectors
// come from the host and return to it; what is large stays on the GPU.

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/cuda/runtime.hpp"
#include "lather/optim/cuda/kernels/arguments.cuh"
#include "lather/optim/quasi_newton/inverse_hessian.hpp"
#include "lather/optim/quasi_newton/secant_history.hpp"

namespace lather::optim {

namespace {

class DeviceMatrix final : public InverseHessian {
 public:
  explicit DeviceMatrix(std::size_t n)
      : n_(n),
        module_("#include \"lather/optim/cuda/kernels/inverse_hessian.cuh\"\n"),
        blas_(stream_),
        H_(n * n),
        vectors_(3 * n),
        result_(n) {}

  void set_to_identity(double scale) override { run("set_to_identity", scale, 0); }

  void multiply(std::span<const double> x, std::span<double> result) override {
    vectors_.upload(x);
    const int n = static_cast<int>(n_);
    blas_.multiply<double>({.m = n, .n = 1, .k = n}, H_.data(), n, vectors_.data(), 1, result_.data(), 1);
    stream_.synchronize();
    result_.download(result);
  }

  void correct(const Correction& c) override {
    vectors_.upload(c.p);
    vectors_.upload(c.q, n_);
    vectors_.upload(c.r, 2 * n_);
    run("correct", c.scale, c.sign);
  }

  void state(StateVisitor& visitor) override {
    std::vector<double> H(n_ * n_);
    if (!visitor.reading()) H_.download(H);
    visitor.array("inverse_hessian", std::span<double>(H));
    if (visitor.reading()) H_.upload(H);
  }

 private:
  void run(const char* kernel, double scale, double sign) {
    const InverseHessianKernelArgs work{
        H_.data(), vectors_.data(),           vectors_.data() + n_, vectors_.data() + 2 * n_, scale,
        sign,      static_cast<long long>(n_)};
    cuda::launch(module_.kernel(kernel), {dim3(static_cast<unsigned>(n_)), dim3(256)},
                 cuda::Parameter().add(work), stream_);
    stream_.synchronize();
  }

  std::size_t n_;
  cuda::KernelModule module_;
  cuda::Stream stream_;
  cuda::Blas blas_;
  cuda::Memory<double> H_, vectors_, result_;
};

// Rows 0 ... m - 1 hold s, rows m ... 2m - 1 hold y; the pairs cycle through the rows.
class Secants final : public DeviceSecants {
 public:
  Secants(std::size_t capacity, std::size_t n)
      : m_(capacity),
        n_(n),
        blas_(stream_),
        rows_(2 * capacity * n),
        vector_(2 * n),
        products_(4 * capacity),
        SY_(capacity * capacity),
        YY_(capacity * capacity),
        rho_(capacity) {}

  void clear() override { count_ = first_ = 0; }
  std::size_t bytes() const override { return rows_.bytes() + vector_.bytes() + products_.bytes(); }

  void push(std::span<const double> s, std::span<const double> y, double rho) override {
    if (count_ == m_) {
      first_ = (first_ + 1) % m_;
      --count_;
    }
    const std::size_t row = (first_ + count_++) % m_;
    rows_.upload(s, row * n_);
    rows_.upload(y, (m_ + row) * n_);
    rho_[row] = rho;
    const auto with_s = products(s), with_y = products(y);  // [S; Y] s and [S; Y] y
    for (std::size_t i = 0; i < m_; ++i) {
      SY_[i * m_ + row] = with_y[i];
      SY_[row * m_ + i] = with_s[m_ + i];
      YY_[i * m_ + row] = YY_[row * m_ + i] = with_y[m_ + i];
    }
  }

  // The two loops of SecantHistory::descend on the coefficients of q = -g - sum alpha_j y_j and r = gamma q +
  // sum delta_j s_j.
  void descend(std::span<const double> g, std::span<double> direction) override {
    const auto with_g = products(g);
    std::vector<double> alpha(m_), coefficients(2 * m_);
    for (std::size_t k = count_; k-- > 0;) {
      const std::size_t i = (first_ + k) % m_;
      double sq = -with_g[i];
      for (std::size_t l = k + 1; l < count_; ++l)
        sq -= alpha[(first_ + l) % m_] * SY_[i * m_ + (first_ + l) % m_];
      alpha[i] = rho_[i] * sq;
    }
    const std::size_t newest = (first_ + count_ - 1) % m_;
    const double gamma = 1 / rho_[newest] / YY_[newest * m_ + newest];
    for (std::size_t k = 0; k < count_; ++k) {
      const std::size_t i = (first_ + k) % m_;
      double yq = -with_g[m_ + i], yr = 0;
      for (std::size_t l = 0; l < count_; ++l)
        yq -= alpha[(first_ + l) % m_] * YY_[i * m_ + (first_ + l) % m_];
      for (std::size_t l = 0; l < k; ++l)
        yr += coefficients[(first_ + l) % m_] * SY_[((first_ + l) % m_) * m_ + i];
      coefficients[i] = alpha[i] - rho_[i] * (gamma * yq + yr);
      coefficients[m_ + i] = -gamma * alpha[i];
    }
    products_.upload(coefficients);
    const int n = static_cast<int>(n_), rows = static_cast<int>(2 * m_);
    blas_.multiply<double>({.m = 1, .n = n, .k = rows}, products_.data(), rows, rows_.data(), n,
                           vector_.data(), n);
    stream_.synchronize();
    vector_.download(direction);
    for (std::size_t i = 0; i < n_; ++i) direction[i] -= gamma * g[i];
  }

 private:
  std::vector<double> products(std::span<const double> x) {
    vector_.upload(x, n_);
    const int n = static_cast<int>(n_), rows = static_cast<int>(2 * m_);
    blas_.multiply<double>({.m = rows, .n = 1, .k = n}, rows_.data(), n, vector_.data() + n_, 1,
                           products_.data() + rows, 1);
    stream_.synchronize();
    std::vector<double> result(2 * m_);
    products_.download(result, 2 * m_);
    return result;
  }

  std::size_t m_, n_, count_ = 0, first_ = 0;
  cuda::Stream stream_;
  cuda::Blas blas_;
  cuda::Memory<double> rows_, vector_, products_;
  std::vector<double> SY_, YY_, rho_;  // s_i . y_j, y_i . y_j, 1 / y_i . s_i
};

}  // namespace

std::size_t device_memory_bytes() {
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total));
  return total;
}

std::unique_ptr<InverseHessian> make_device_inverse_hessian(std::size_t n) {
  return std::make_unique<DeviceMatrix>(n);
}

std::unique_ptr<DeviceSecants> make_device_secants(std::size_t capacity, std::size_t n) {
  return std::make_unique<Secants>(capacity, n);
}

}  // namespace lather::optim
