// Steps within a random subspace, d = C y, from the orthogonal factor of the sketch B = R J C
// (solvers/sketch.hpp):
//
//   min over y of |r + J C y|^2 + lambda y^T C^T D C y    R left out: y from B = Q T and Q^T r
//   (B^T B + lambda C^T D C) y = -C^T J^T r               with R: the matrix is sketched, the gradient is
//                                                         not, so that steps vanish where the gradient does

#include <fmt/format.h>

#include <numeric>

#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/least_squares/forms.hpp"
#include "lather/optim/least_squares/least_squares.hpp"
#include "lather/optim/least_squares/solvers/orthogonal_factor.hpp"
#include "lather/optim/least_squares/solvers/sketch.hpp"

namespace lather::optim {

namespace {

class SketchForm final : public Linearization {
 public:
  SketchForm(Residuals& residuals, const LinearizationOptions& options)
      : Linearization(residuals, options),
        sketch_({n_, m_, options.sketch_columns, options.sketch_rows}),
        factor_(residuals.make_sketched_factor(sketch_)),
        y_(options.sketch_columns) {}

  bool damp(double lambda) override {
    lambda_ = lambda;
    return factor_->damp(lambda, sketch_.fold_diagonal(D_));
  }
  void solve(std::span<double> d) override {
    if (sketch_.size().rows > 0) {
      negate(Jtr_, d);
      return solve_normal(d);
    }
    factor_->solve(y_);
    sketch_.lift(y_, d);
  }
  std::string description() const override {
    const SketchSize& s = sketch_.size();
    return fmt::format("sketch form: QR of a {} × {} sketch of the {} × {} Jacobian, {:.2f} GiB",
                       s.rows > 0 ? s.rows : m_, s.columns, m_, n_,
                       gibibytes(static_cast<double>(bytes()) / sizeof(double)));
  }
  std::size_t bytes() const override { return factor_->bytes(); }

 private:
  // Without damping=marquardt only the sum matters, and its estimate from the sketch will do.
  std::vector<double> linearize() override {
    sketch_.draw(static_cast<std::uint64_t>(draw_));
    std::vector<double> r(m_), folded(sketch_.size().columns);
    factor_->build(x_, folded);
    residuals_.residuals(x_, r);
    value_ = dot(r, r);
    residuals_.transposed_jacobian_times(x_, r, Jtr_);
    std::vector<double> diagonal(n_);
    if (options_.damping == DampingMatrix::marquardt) {
      residuals_.normal_diagonal(x_, diagonal);
    } else {
      const auto squares = factor_->diagonal();
      const double mean =
          std::accumulate(squares.begin(), squares.end(), 0.0) / static_cast<double>(squares.size());
      std::fill(diagonal.begin(), diagonal.end(), mean);
    }
    return diagonal;
  }
  void solve_normal(std::span<double> b) override {
    sketch_.fold(b, y_);
    factor_->solve_normal(y_);
    sketch_.lift(y_, b);
  }

  Sketch sketch_;
  std::unique_ptr<OrthogonalFactor> factor_;
  std::vector<double> y_;
};

}  // namespace

std::unique_ptr<Linearization> make_sketch_form(Residuals& residuals, const LinearizationOptions& options) {
  return std::make_unique<SketchForm>(residuals, options);
}

}  // namespace lather::optim
