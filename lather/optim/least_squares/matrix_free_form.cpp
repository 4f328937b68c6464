// No matrix: conjugate gradients with products J v and J^T w, preconditioned by the diagonal of J^T J +
// lambda D, or by a Nyström approximation of J^T J, which serves every lambda. With damping=marquardt it
// approximates S J^T J S, S = D^{-1/2}: in these coordinates the damping is lambda I.

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/least_squares/forms.hpp"
#include "lather/optim/least_squares/least_squares.hpp"
#include "lather/optim/least_squares/solvers/conjugate_gradients.hpp"
#include "lather/optim/least_squares/solvers/nystrom.hpp"

namespace lather::optim {

namespace {

constexpr std::uint64_t kNystromSeed = 0x4e795374;

class MatrixFreeForm final : public Linearization {
 public:
  MatrixFreeForm(Residuals& residuals, const LinearizationOptions& options)
      : Linearization(residuals, options), normal_diagonal_(n_) {
    if (options.preconditioner == Preconditioner::nystrom)
      nystrom_.emplace(residuals.make_vector_blocks(options.rank));
  }

  bool damp(double lambda) override {
    lambda_ = lambda;
    return true;
  }
  void solve(std::span<double> d) override {
    negate(Jtr_, d);
    solve_normal(d);
  }
  std::string description() const override {
    const std::string by = nystrom_
                               ? fmt::format("a Nyström approximation of rank {}, {:.2f} GiB", options_.rank,
                                             gibibytes(static_cast<double>(bytes()) / sizeof(double)))
                               : "the diagonal";
    return fmt::format(
        "conjugate gradients without a matrix ({} parameters, {} residuals), preconditioned by {}", n_, m_,
        by);
  }
  std::size_t bytes() const override { return nystrom_ ? nystrom_->blocks_bytes() : 0; }
  std::int64_t most_cg_iterations() const override { return iterations_; }
  bool has_preconditioner() const override { return !nystrom_ || preconditioned_; }

  void precondition(std::span<const double> x, std::int64_t draw) override {
    if (!nystrom_) return;
    scale_.clear();
    if (options_.damping == DampingMatrix::marquardt) {
      std::vector<double> diagonal(n_);
      residuals_.normal_diagonal(x, diagonal);
      scale_ = damping_matrix(diagonal);
      for (double& value : scale_) value = 1 / std::sqrt(value);
    }
    nystrom_->build(kNystromSeed, static_cast<std::uint64_t>(draw),
                    [&](VectorBlocks& blocks) { blocks.multiply_normal(x, scale_); });
    preconditioned_ = true;
  }

 private:
  std::vector<double> linearize() override {
    iterations_ = 0;
    std::vector<double> r(m_);
    residuals_.residuals(x_, r);
    residuals_.normal_diagonal(x_, normal_diagonal_);
    value_ = dot(r, r);
    residuals_.transposed_jacobian_times(x_, r, Jtr_);
    return normal_diagonal_;
  }

  void solve_normal(std::span<double> d) override {
    const std::vector<double> b(d.begin(), d.end());
    std::vector<double> Jp(m_);
    std::fill(d.begin(), d.end(), 0.0);
    const auto product = [&](std::span<const double> p, std::span<double> Ap) {
      residuals_.jacobian_times(x_, p, Jp);
      residuals_.transposed_jacobian_times(x_, Jp, Ap);
      for (std::size_t i = 0; i < n_; ++i) Ap[i] += lambda_ * D_[i] * p[i];
    };
    const auto inverse = [&](std::span<const double> residual, std::span<double> z) {
      if (nystrom_)
        by_nystrom(residual, z);
      else
        for (std::size_t i = 0; i < n_; ++i) z[i] = residual[i] / (normal_diagonal_[i] + lambda_ * D_[i]);
    };
    const auto result =
        conjugate_gradients(product, inverse, b, d, {options_.cg_tolerance, options_.cg_iterations});
    iterations_ = std::max(iterations_, result.iterations);
  }

  void by_nystrom(std::span<const double> residual, std::span<double> z) {
    if (scale_.empty()) return nystrom_->precondition(lambda_ * mean_diagonal_, residual, z);
    std::vector<double> scaled(residual.begin(), residual.end());
    for (std::size_t i = 0; i < n_; ++i) scaled[i] *= scale_[i];
    nystrom_->precondition(lambda_, scaled, z);
    for (std::size_t i = 0; i < n_; ++i) z[i] *= scale_[i];
  }

  std::vector<double> normal_diagonal_;
  std::optional<Nystrom> nystrom_;
  bool preconditioned_ = false;
  std::vector<double> scale_;  // S of the preconditioner; empty: I
  std::int64_t iterations_ = 0;
};

}  // namespace

std::unique_ptr<Linearization> make_matrix_free_form(Residuals& residuals,
                                                     const LinearizationOptions& options) {
  return std::make_unique<MatrixFreeForm>(residuals, options);
}

}  // namespace lather::optim
