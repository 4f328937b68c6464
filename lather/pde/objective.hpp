#pragma once
// The loss of a problem: loss = sum over terms of weight * mean over its points of (point weight *
// residual^2), with its exact gradient. Points are processed in tiles, so memory does not grow with their
// number; threads and ranks share the tiles. The same points, weights and number of shards give the same
// bits.

#include <functional>
#include <memory>

#include "lather/core/device.hpp"
#include "lather/net/initialize.hpp"
#include "lather/optim/objective.hpp"
#include "lather/pde/points.hpp"
#include "lather/pde/problem.hpp"

namespace lather::parallel {
class Communicator;
}

namespace lather::pde {

enum class Precision { float64, float32 };

struct EngineOptions {
  Device device = Device::cpu;
  int threads = 0;  // 0: all cores
  int shards = 0;   // parts that sums over points are split into; 0: as many as threads, one on a GPU
  parallel::Communicator* ranks = nullptr;  // processes that share the points; null: this one alone
  Precision precision = Precision::float64;
  std::size_t tile_rows =
      0;  // points times derivative components per tile; 0: 96 points (CPU), or by memory (CUDA)
  bool overlap = true;  // CUDA: weight gradients in parallel with the rest of the backward pass
};

class Engine;
struct PointPlan;

class PinnObjective final : public optim::Objective {
 public:
  PinnObjective(const Problem& problem, const EngineOptions& options = {});
  ~PinnObjective() override;

  // Network weights and starting values of the unknowns; also fixes frozen weights (random Fourier features).
  std::vector<double> initialize(std::uint64_t seed);
  // Frozen weights as saved; `initialize` sets them too.
  std::span<const double> frozen() const;
  void set_frozen(std::span<const double> values);

  void set_points(int point_set, Points points);
  const Points& points(int point_set) const;
  std::size_t residuals_of(
      int point_set) const;  // for each of its terms: one per point, or per group of points
  // Offers to let the device draw points itself, during runs of steps that an optimizer takes there; returns
  // whether it will. set_step: the number of the next step.
  bool draw_points(const PointPlan& plan);
  void set_step(std::int64_t step);
  void set_term_weight(int term, double weight);
  double term_weight(int term) const;
  // One weight per residual of the term; empty: all 1.
  void set_point_weights(int term, std::vector<double> weights);
  std::span<const double> point_weights(int term) const;  // empty again after set_points

  const optim::ParameterLayout& layout() const override;
  double value(std::span<const double> x) override;
  void values(std::span<const double> xs, std::span<double> values) override;
  double value_and_gradient(std::span<const double> x, std::span<double> gradient) override;
  std::vector<std::string> term_names() const override;
  std::vector<bool> term_is_equation() const override;
  void term_gradients(std::span<const double> x, std::span<double> losses,
                      std::vector<std::vector<double>>& gradients) override;
  std::size_t residual_count() const override;
  void residuals(std::span<const double> x, std::span<double> r) override;
  void residuals_at(std::span<const double> xs, std::span<double> r) override;
  void residual_scales(std::span<double> scales) const override;

  // From the last value or gradient: weight * mean of squares, per term.
  std::span<const double> term_losses() const;
  // The unweighted residual of one term at the points of its set.
  void term_residuals(std::span<const double> x, int term, std::span<double> r);

  // Values of expressions (fields, their derivatives) at any points; `columns` names their data columns.
  std::vector<std::vector<double>> evaluate(std::span<const double> x,
                                            std::span<const symbolic::Expr> expressions, const Points& points,
                                            std::span<const std::string> columns = {});

  // For curvature methods: what one tile of one term's points sends back through
  // the network, point by point, when d loss / d residual_i = seed_i. Points do
  // not mix, so point i's rows give row i of the Jacobian (times seed_i).
  //
  // If residuals are sums over groups of points, "point" means such a group,
  // and its members are further components.
  struct LayerSignals {
    std::size_t block;  // of the layer's weight in layout(); its bias and scale follow in the layout
    int components;     // derivatives carried; rows are component-major: row c * points + p
    int values;         // how many, the first ones, are values, not derivatives: only these feel the bias
    const double* in;   // the layer's input
    std::size_t in_stride;
    const double* out_bar;  // what came back; d residual_p / d W = sum_c in_row^T out_bar_row
    std::size_t out_stride;
  };
  class SignalVisitor {
   public:
    virtual ~SignalVisitor() = default;
    virtual void begin_tile(int thread, std::size_t first_point, std::size_t points) = 0;
    // The term's residuals, without weights and seeds, at the points of the tile.
    virtual void residuals(int /*thread*/, std::span<const double> /*bare*/) {}
    virtual void layer(int thread, const LayerSignals& signals) = 0;
    // d residual_p / d (scalar parameter number `parameter` of the flat array), for the points of the tile
    virtual void scalar(int thread, std::size_t parameter, std::span<const double> per_point) = 0;
    virtual void end_tile(int thread) = 0;
  };
  // Points [first, first + count) of the term's set; seeds (one per point of the range) may be empty: all 1.
  // Tiles are shared among the threads; calls with different `thread` run concurrently. Every rank visits all
  // points.
  void visit_signals(std::span<const double> x, int term, std::size_t first, std::size_t count,
                     std::span<const double> seeds, SignalVisitor& visitor);
  // The same for one number per point of the term, which the visitor writes to `values` (as large as the set,
  // zeroed first): every rank visits its share of the points, and afterwards all ranks have all the numbers.
  void visit_points(std::span<const double> x, int term, std::span<double> values,
                    const std::function<std::unique_ptr<SignalVisitor>()>& make_visitor);

  // From the engine's Jacobian, on the host or the device.
  optim::Residuals& source() override;
  void jacobian_rows(std::span<const double> x, std::size_t first, std::size_t count, double* rows) override;
  double normal_equations(std::span<const double> x, double* JtJ, std::span<double> Jtr) override;
  void normal_diagonal(std::span<const double> x, std::span<double> diagonal) override;
  void residual_gram(std::span<const double> x, double* JJt, std::span<double> r) override;
  void jacobian_times(std::span<const double> x, std::span<const double> v, std::span<double> Jv) override;
  void transposed_jacobian_times(std::span<const double> x, std::span<const double> w,
                                 std::span<double> Jtw) override;
  optim::KroneckerFactors kronecker_factors(std::span<const double> x,
                                            optim::KroneckerFactors::Sharing sharing) override;

  const Problem& problem() const;
  const net::Tape& tape() const;
  int visitors() const;                   // how many values `thread` can take in a SignalVisitor
  parallel::Communicator* ranks() const;  // null: this process alone
  ThreadTeam* team() override;
  std::size_t tile_points(int point_set) const;
  std::size_t workspace_bytes() const;  // all threads' arenas and gradients, or what is held on the GPU
  optim::CudaObjective* cuda_objective() override;

 private:
  std::span<const double> fitting(std::span<const double> x) const;  // throws Error if it is not of size()
  std::unique_ptr<Engine> engine_;
};

}  // namespace lather::pde
