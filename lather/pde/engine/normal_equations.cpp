// J^T J, J^T r and r^T r in one pass over the points: the residuals are one more column of J.

#include "lather/linalg/column_gram.hpp"
#include "lather/pde/engine/host_jacobian.hpp"
#include "lather/pde/engine/row_writer.hpp"

namespace lather::pde {

namespace {

// A chunk of rows, from point `first` of a term on.
struct GramRows {
  linalg::ColumnGram& gram;
  std::span<const double> root_weights;  // of the term's points
  std::size_t first, residual_column;
  void write(std::size_t point, std::size_t column, const double* values, std::size_t count) {
    gram.write(point - first, column, values, count);
  }
  void residual(std::size_t point, double bare) {
    const double r = root_weights[point] * bare;
    gram.write(point - first, residual_column, &r, 1);
  }
};

}  // namespace

double HostJacobian::normal_equations(std::span<const double> x, double* JtJ, std::span<double> Jtr) {
  if (!gram_) gram_ = std::make_unique<linalg::ColumnGram>();
  auto& team = engine_.team();
  const std::size_t n = size();
  gram_->reset(n + 1);
  for (std::size_t k = 0; k < engine_.problem.terms.size(); ++k) {
    const auto seeds = root_weights(engine_, static_cast<int>(k));
    if (k > 0) gram_->clear_chunk();  // this term may leave columns alone that the last one wrote
    for (std::size_t begin = 0; begin < seeds.size(); begin += linalg::ColumnGram::kChunkRows) {
      const std::size_t count = std::min(linalg::ColumnGram::kChunkRows, seeds.size() - begin);
      GramRows target{*gram_, seeds, begin, n};
      RowWriter writer(engine_, x, target);
      engine_.visit_signals(x, static_cast<int>(k), begin, count, std::span(seeds).subspan(begin, count),
                            writer);
      gram_->add_chunk(count, team);
    }
  }
  gram_->copy_lower(n, JtJ, team);
  for (std::size_t i = 0; i < n; ++i) Jtr[i] = (*gram_)(n, i);
  return (*gram_)(n, n);
}

}  // namespace lather::pde
