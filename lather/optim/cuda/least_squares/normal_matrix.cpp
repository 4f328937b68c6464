#include "lather/optim/cuda/least_squares/normal_matrix.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "lather/core/error.hpp"
#include "lather/optim/cuda/least_squares/path.hpp"
#include "lather/optim/cuda/least_squares/triangles.hpp"

namespace lather::optim {

namespace {

class CudaNormalMatrix final : public NormalMatrix {
 public:
  CudaNormalMatrix(DeviceJacobian& jacobian, std::size_t size)
      : jacobian_(jacobian), blas_(stream_), gram_(size, blas_, stream_) {}

  std::size_t dimension() const override { return gram_.size(); }
  std::size_t bytes() const override { return gram_.bytes(); }

  double build_normal(std::span<const double> x, std::span<double> Jtr) override {
    require_parameters(Jtr.size());
    return jacobian_.normal_matrix(x, gram_.upper(), Jtr,
                                   [&](cudaStream_t stream) { gram_.enqueue_written(stream); });
  }
  bool build_along_path(std::span<const double> x, const PathRequest& request, std::span<double> Jtr,
                        double& value, Path& path) override {
    require_parameters(Jtr.size());
    DevicePathWork* const work = jacobian_.path_work();
    if (!work) return false;
    const auto normal =
        work->enqueue_normal_matrix(x, gram_.upper(), [&](cudaStream_t s) { gram_.enqueue_written(s); });
    if (!normal) return false;
    if (!path_) path_.emplace(gram_.size(), stream_);
    path_->start(x);
    cuda::enqueue_behind(normal->stream, stream_, ready_);
    path_->write_shift(gram_.device_diagonal(), request.lambda, request.marquardt, gram_.device_shift());
    path_->negated(normal->vector, gram_.device_right_side());
    gram_.enqueue_factor();
    gram_.enqueue_solution(path_->d());

    path_->write_points(std::array{request.h, -request.h, 0.0}, DevicePath::Bent::no, work->bend_points());
    const auto bend = work->enqueue_bend(request.h, stream_);
    cuda::enqueue_behind(bend.stream, stream_, ready_);
    gram_.enqueue_solve(path_->negated(bend.vector, path_->a()));
    path_->limit_bend();

    path_->write_points(std::array{1.0, 0.5}, DevicePath::Bent::yes, work->value_points());
    path_->enqueue_download();
    value = work->finish(stream_, Jtr, path.values);
    path.lambda = request.lambda;
    path.positive_definite = gram_.was_positive();
    path.d = path_->host_d();
    path.a = path_->host_a();
    return true;
  }
  void build_gram(std::span<const double> x, std::span<double> r) override {
    if (r.size() != gram_.size())
      throw Error(fmt::format("J J^T of {} residuals in a matrix of {}", r.size(), gram_.size()));
    jacobian_.gram_matrix(x, gram_.upper(), r);
    gram_.written();
  }

  std::vector<double> diagonal() const override { return gram_.diagonal(); }
  void copy_lower(std::span<double> matrix) const override { gram_.copy_lower(matrix); }

  bool factor(double lambda, std::span<const double> D) override { return gram_.factor(shift(lambda, D)); }
  void solve(std::span<double> b) override { gram_.solve(b); }
  bool factor_and_solve(double lambda, std::span<const double> D, std::span<double> b) override {
    return gram_.factor_and_solve(shift(lambda, D), b);
  }
  void solve_transposed(std::span<const double> x, std::span<const double> w, std::span<double> d) override {
    const auto Jtw = jacobian_.enqueue_transposed_times(x, w);
    gram_.solve(Jtw.vector, Jtw.stream, d);
  }

 private:
  void require_parameters(std::size_t count) const {
    if (count != gram_.size())
      throw Error(fmt::format("J^T J of {} parameters in a matrix of {}", count, gram_.size()));
  }
  static std::vector<double> shift(double lambda, std::span<const double> D) {
    std::vector<double> values(D.begin(), D.end());
    for (double& value : values) value *= lambda;
    return values;
  }
  DeviceJacobian& jacobian_;
  cuda::Stream stream_;
  cuda::Blas blas_;
  DeviceGram gram_;
  std::optional<DevicePath> path_;
  cuda::Event ready_;  // the result of another stream
};

}  // namespace

std::unique_ptr<NormalMatrix> make_device_normal_matrix(DeviceJacobian& jacobian, std::size_t dimension) {
  return std::make_unique<CudaNormalMatrix>(jacobian, dimension);
}

double device_normal_matrix_bytes(std::size_t dimension) {
  return DeviceGram::bytes_of(static_cast<double>(dimension));
}

}  // namespace lather::optim
