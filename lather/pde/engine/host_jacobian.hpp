#pragma once
// The Jacobian of the weighted residuals on the host, from the layers' inputs and back-propagated signals.

#include <functional>
#include <memory>

#include "lather/linalg/column_gram.hpp"
#include "lather/pde/engine/engine_residuals.hpp"

namespace lather::pde {

class HostJacobian final : public EngineResiduals {
 public:
  // d (sum_i seed_i residual_i) / d x, seeds given for every term and point.
  using TransposedTimes = std::function<void(
      std::span<const double> x, const std::vector<std::vector<double>>& seeds, double* gradient)>;
  HostJacobian(Engine& engine, TransposedTimes transposed_times)
      : EngineResiduals(engine), transposed_times_(std::move(transposed_times)) {}

  void jacobian_rows(std::span<const double> x, std::size_t first, std::size_t count, double* rows) override;
  double normal_equations(std::span<const double> x, double* JtJ, std::span<double> Jtr) override;
  void residual_gram(std::span<const double> x, double* JJt, std::span<double> r) override;
  void jacobian_times(std::span<const double> x, std::span<const double> v, std::span<double> Jv) override;
  void transposed_jacobian_times(std::span<const double> x, std::span<const double> w,
                                 std::span<double> Jtw) override;
  // With the sums of normal_equations.
  double normal_matrix_bytes(std::size_t dimension) const override {
    return 1.25 * EngineResiduals::normal_matrix_bytes(dimension);
  }

 private:
  TransposedTimes transposed_times_;
  std::unique_ptr<linalg::ColumnGram> gram_;  // of normal_equations, kept between calls: it is large
};

}  // namespace lather::pde
