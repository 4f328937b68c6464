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
  // Includes the sums of normal_equations.
  static constexpr double kNormalMatrixCopies = 1.5;
  double normal_matrix_bytes(std::size_t dimension) const override {
    return kNormalMatrixCopies * EngineResiduals::normal_matrix_bytes(dimension);
  }
  // The same on all ranks, so that they choose the same form.
  double available_bytes() const override;

 private:
  void add_rows_to_gram(std::span<const double> x);
  void gather_rows(int set, std::size_t count);
  void gather_parts();
  void fill_gram(std::span<const double> x, double* JJt);

  // Each rank's part of something dealt to ranks, of_rank(rank), goes to all: packed, and unpacked by the
  // others.
  template <class OfRank, class SizeOf, class Pack, class Unpack>
  void gather_ranges(const OfRank& of_rank, const SizeOf& size_of, const Pack& pack, const Unpack& unpack) {
    parallel::Communicator& ranks = *engine_.options.ranks;
    std::vector<std::size_t> bounds{0};
    for (int p = 0; p < ranks.size(); ++p) bounds.push_back(bounds.back() + size_of(of_rank(p)));
    packed_.resize(bounds.back());
    pack(of_rank(ranks.rank()), packed_.data() + bounds[ranks.rank()]);
    ranks.gather(std::span(packed_), bounds);
    for (int p = 0; p < ranks.size(); ++p)
      if (p != ranks.rank()) unpack(of_rank(p), packed_.data() + bounds[p]);
  }

  TransposedTimes transposed_times_;
  std::unique_ptr<linalg::ColumnGram> gram_;  // of normal_equations, kept between calls because it is large
  std::vector<double> packed_;
};

}  // namespace lather::pde
