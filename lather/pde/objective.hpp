#pragma once
// The loss of a problem: loss = sum over terms of weight * mean over its points of (point weight * residual^2), with its
// exact gradient. Points are processed in tiles, so memory does not grow with their number; threads share the tiles.
// The same points, weights and thread count give the same bits.

#include <functional>
#include <memory>

#include "lather/core/device.hpp"
#include "lather/net/initialize.hpp"
#include "lather/optim/objective.hpp"
#include "lather/pde/points.hpp"
#include "lather/pde/problem.hpp"

namespace lather::pde {

enum class Precision { float64, float32 };

struct EngineOptions {
  Device device = Device::cpu;
  int threads = 0;  // 0: all cores
  Precision precision = Precision::float64;
  std::size_t tile_rows = 0;  // points times derivative components per tile; 0: chosen by width (CPU) or memory (CUDA)
  bool overlap = true;        // CUDA: weight gradients beside the rest of the backward pass
};

class Engine;
class CudaObjective;

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
  void set_term_weight(int term, double weight);
  double term_weight(int term) const;
  // One weight per point of the term's set; empty: all 1.
  void set_point_weights(int term, std::vector<double> weights);

  const optim::ParameterLayout& layout() const override;
  double value(std::span<const double> x) override;
  double value_and_gradient(std::span<const double> x, std::span<double> gradient) override;
  std::vector<std::string> term_names() const override;
  void term_gradients(std::span<const double> x, std::span<double> losses, std::vector<std::vector<double>>& gradients) override;
  std::size_t residual_count() const override;
  void residuals(std::span<const double> x, std::span<double> r) override;

  // Of the last value or gradient: weight * mean of squares, per term.
  std::span<const double> term_losses() const;
  // The bare residual of one term at the points of its set.
  void term_residuals(std::span<const double> x, int term, std::span<double> r);

  // Values of expressions (fields, their derivatives) at any points.
  std::vector<std::vector<double>> evaluate(std::span<const double> x, std::span<const symbolic::Expr> expressions, const Points& points);

  // For curvature methods: for one term and each tile, the inputs of every trainable dense layer and the signals that come
  // back when d(residual_i)/d(residual_i) = 1 at every point at once. Points do not mix, so point i's rows give row i of the
  // Jacobian. `first_point` is the tile's place in the set. Called from one thread at a time, tiles in order.
  struct Signals {
    std::size_t first_point, points;
    int components;
    std::size_t block;  // of the layer's weight in layout()
    const double* in;
    std::size_t in_stride;
    const double* out_bar;
    std::size_t out_stride;
  };
  void visit_signals(std::span<const double> x, int term, const std::function<void(const Signals&)>& visit);

  const Problem& problem() const;
  const net::Tape& tape() const;
  int threads() const;
  std::size_t tile_points(int point_set) const;
  std::size_t workspace_bytes() const;  // all threads' arenas and gradients, or what is held on the GPU
  CudaObjective* cuda_objective();      // null on the CPU

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace lather::pde
