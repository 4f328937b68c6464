#include "lather/optim/cuda/least_squares/normal_matrix.hpp"

#include <fmt/format.h>

#include "lather/core/error.hpp"
#include "lather/optim/cuda/least_squares/triangles.hpp"

namespace lather::optim {

namespace {

class CudaNormalMatrix final : public NormalMatrix {
 public:
  CudaNormalMatrix(DeviceJacobian& jacobian, std::size_t size) : jacobian_(jacobian), gram_(size, stream_) {}

  std::size_t dimension() const override { return gram_.size(); }
  std::size_t bytes() const override { return gram_.bytes(); }

  double build_normal(std::span<const double> x, std::span<double> Jtr) override {
    if (Jtr.size() != gram_.size())
      throw Error(fmt::format("J^T J of {} parameters in a matrix of {}", Jtr.size(), gram_.size()));
    const double value = jacobian_.normal_matrix(x, gram_.upper(), Jtr);
    gram_.written();
    return value;
  }
  void build_gram(std::span<const double> x, std::span<double> r) override {
    if (r.size() != gram_.size())
      throw Error(fmt::format("J J^T of {} residuals in a matrix of {}", r.size(), gram_.size()));
    jacobian_.gram_matrix(x, gram_.upper(), r);
    gram_.written();
  }

  std::vector<double> diagonal() const override { return gram_.diagonal(); }
  void copy_lower(std::span<double> matrix) const override { gram_.copy_lower(matrix); }

  bool factor(double lambda, std::span<const double> D) override {
    std::vector<double> shift(D.begin(), D.end());
    for (double& value : shift) value *= lambda;
    return gram_.factor(shift);
  }
  void solve(std::span<double> b) override { gram_.solve(b); }

 private:
  DeviceJacobian& jacobian_;
  cuda::Stream stream_;
  DeviceGram gram_;
};

}  // namespace

std::unique_ptr<NormalMatrix> make_device_normal_matrix(DeviceJacobian& jacobian, std::size_t dimension) {
  return std::make_unique<CudaNormalMatrix>(jacobian, dimension);
}

double device_normal_matrix_bytes(std::size_t dimension) {
  return static_cast<double>(dimension + 2) * static_cast<double>(dimension) * sizeof(double);
}

}  // namespace lather::optim
