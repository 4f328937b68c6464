// J^T J, J^T r and r^T r in one pass over the points: the residuals are one more column of J.

#include "lather/linalg/column_gram.hpp"
#include "lather/pde/engine/host_jacobian.hpp"
#include "lather/pde/engine/row_writer.hpp"

namespace lather::pde {

namespace {

// A chunk of rows, starting at point `first` of a term.
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

// Ranks share the computation of rows and the parts of the sum; every chunk of rows is sent to all of them.
// Every element is then the same chain of additions on any number of ranks, at the price of sending J once
// instead of J^T J.
double HostJacobian::normal_equations(std::span<const double> x, double* JtJ, std::span<double> Jtr) {
  if (!gram_) gram_ = std::make_unique<linalg::ColumnGram>();
  engine_.with_ranks([&] { add_rows_to_gram(x); });
  const std::size_t n = size();
  gram_->copy_lower(n, JtJ, engine_.team());
  for (std::size_t i = 0; i < n; ++i) Jtr[i] = (*gram_)(n, i);
  return (*gram_)(n, n);
}

void HostJacobian::add_rows_to_gram(std::span<const double> x) {
  auto& team = engine_.team();
  const std::size_t n = size();
  gram_->reset(n + 1);
  const IndexRange parts = engine_.alone() ? IndexRange{0, gram_->parts()}
                                           : share_of(gram_->parts(), engine_.options.ranks->rank(),
                                                      engine_.options.ranks->size());
  for (std::size_t k = 0; k < engine_.problem.terms.size(); ++k) {
    const auto seeds = root_weights(engine_, static_cast<int>(k));
    if (k > 0) gram_->clear_chunk();  // this term might not write every column that the last one did
    for (std::size_t begin = 0; begin < seeds.size(); begin += linalg::ColumnGram::kChunkRows) {
      const std::size_t count = std::min(linalg::ColumnGram::kChunkRows, seeds.size() - begin);
      GramRows target{*gram_, seeds, begin, n};
      RowWriter writer(engine_, x, target);
      engine_.visit_signals(x, static_cast<int>(k), begin, count, std::span(seeds).subspan(begin, count),
                            writer, Reach::own_share);
      if (!engine_.alone()) gather_rows(engine_.problem.terms[k].point_set, count);
      gram_->add_chunk(count, team, parts);
    }
  }
  if (!engine_.alone()) gather_parts();
}

// Sends the rows of the chunk made by each rank to all.
void HostJacobian::gather_rows(int set, std::size_t count) {
  gather_ranges([&](int rank) { return engine_.visited_by(rank, set, count); },
                [&](IndexRange rows) { return (rows.end - rows.begin) * gram_->row_size(); },
                [&](IndexRange rows, double* to) { gram_->copy_rows(rows, to); },
                [&](IndexRange rows, const double* from) { gram_->set_rows(rows, from); });
}

void HostJacobian::gather_parts() {
  gather_ranges([&](int rank) { return share_of(gram_->parts(), rank, engine_.options.ranks->size()); },
                [&](IndexRange parts) { return gram_->size_of(parts); },
                [&](IndexRange parts, double* to) { gram_->copy_parts(parts, to); },
                [&](IndexRange parts, const double* from) { gram_->set_parts(parts, from); });
}

}  // namespace lather::pde
