#pragma once
// The Jacobian of the weighted residuals on the GPU: its rows from the layers' signals, as
// pde/engine/row_writer.hpp makes them on the host, and products with them. J stays in memory where it fits,
// for as long as x, points and weights are the same; where it does not fit, its rows are made in chunks
// whenever they are needed.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lather/optim/cuda/normal_matrix.hpp"
#include "lather/pde/cuda/pass.hpp"
#include "lather/pde/engine/engine_residuals.hpp"

namespace lather::pde {

class CudaJacobian final : public EngineResiduals, private optim::DeviceJacobian {
 public:
  // Of the engine's problem and points, at the parameters and frozen weights of `addresses`; `upload` brings
  // them there.
  CudaJacobian(Engine& engine, const CudaAddresses& addresses,
               std::function<void(std::span<const double>)> upload);

  void points_changed(int set);
  std::size_t bytes() const;

  void jacobian_rows(std::span<const double> x, std::size_t first, std::size_t count, double* rows) override;
  double normal_equations(std::span<const double> x, double* JtJ, std::span<double> Jtr) override;
  void residual_gram(std::span<const double> x, double* JJt, std::span<double> r) override;
  void normal_diagonal(std::span<const double> x, std::span<double> diagonal) override;
  void jacobian_times(std::span<const double> x, std::span<const double> v, std::span<double> Jv) override;
  void transposed_jacobian_times(std::span<const double> x, std::span<const double> w,
                                 std::span<double> Jtw) override;
  std::unique_ptr<optim::NormalMatrix> make_normal_matrix(std::size_t dimension) override;
  double normal_matrix_bytes(std::size_t dimension) const override;
  std::unique_ptr<optim::OrthogonalFactor> make_orthogonal_factor() override;
  double orthogonal_factor_bytes() const override;
  double available_bytes() const override;

  // Engine::visit_signals
  void visit(std::span<const double> x, int term, std::size_t first, std::size_t count,
             std::span<const double> seeds, PinnObjective::SignalVisitor& visitor);

 private:
  // What the rows depend on besides the points.
  struct Key {
    std::vector<double> x, frozen, root_weights;
    bool operator==(const Key&) const = default;
  };
  struct Range {
    std::size_t begin, end;
  };

  double normal_matrix(std::span<const double> x, double* JtJ, std::span<double> Jtr) override;
  void gram_matrix(std::span<const double> x, double* JJt, std::span<double> r) override;
  void visit_rows(std::span<const double> x, const RowVisitor& visit) override;
  void make_room();

  CudaPass<double>& pass_of(int set);
  Range part_of_term(int term, std::size_t first, std::size_t count) const;
  // Makes x, weights and memory ready; true if J is in memory already.
  bool prepare(std::span<const double> x);
  void choose_chunks(std::size_t residuals);
  bool whole() const { return chunk_ == residuals_; }
  void write(std::size_t first, std::size_t count, double* rows);
  void write_term(const CudaPass<double>& pass, int term, Range window, Range part, double* rows);
  // f(rows on the device, first, count), chunk after chunk.
  template <class F>
  void for_chunks(std::span<const double> x, const F& f);

  CudaAddresses addresses_;
  std::function<void(std::span<const double>)> upload_;
  std::vector<std::unique_ptr<CudaPass<double>>> passes_;  // per point set; null: not needed yet
  std::vector<bool> stale_;                                // per point set: the pass has other points
  std::vector<std::size_t> first_row_;                     // per term
  Key key_;
  bool kept_ = false;  // rows_ holds all of J at key_
  std::size_t residuals_ = 0, chunk_ = 0;
  cuda::Memory<double> rows_, root_weights_, r_, w_, v_;  // J or a chunk of it; per residual; per parameter
  cuda::KernelModule module_;
  cudaKernel_t layer_kernel_, scalar_kernel_, squares_kernel_;
  cuda::Stream stream_;
  cuda::Blas blas_;
};

}  // namespace lather::pde
