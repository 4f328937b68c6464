#pragma once
// What a device must be able to do for PinnObjective.
// Everything that does not depend on the device is held here.

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "lather/core/threads.hpp"
#include "lather/parallel/communicator.hpp"
#include "lather/pde/engine/compiled_point_set.hpp"
#include "lather/pde/objective.hpp"
#include "lather/pde/sampling/point_plan.hpp"

namespace lather::pde {

// Which points a rank visits.
enum class Reach { all_points, own_share };

class Engine {
 public:
  static constexpr std::size_t kMostTrials = 8;  // the most x per call of values and residuals

  Engine(const Problem& problem, const EngineOptions& options);
  virtual ~Engine() = default;

  // Fills losses and, if given, the gradient of the sum, or the gradient of every term.
  virtual void compute(std::span<const double> x, double* gradient,
                       std::vector<std::vector<double>>* term_gradients) = 0;
  // The sum of losses at several x, one after another in memory; losses are those of the last. This version
  // evaluates them one by one; faster ones give the same bits.
  virtual void values(std::span<const double> xs, std::span<double> values);
  // residual_i at all points of every term, likewise at one x or several: r[index of x * terms + term]. Null:
  // the term is not wanted, at any x.
  virtual void residuals(std::span<const double> xs, std::span<double* const> r) = 0;
  virtual std::vector<std::vector<double>> evaluate(std::span<const double> x,
                                                    std::span<const symbolic::Expr> expressions,
                                                    const Points& points,
                                                    std::span<const std::string> columns) = 0;
  // The weighted residuals and products with their Jacobian, formed on the device. Not for single precision:
  // throws Error, on some devices only when derivatives are asked for.
  virtual optim::Residuals& jacobian() = 0;
  virtual void visit_signals(std::span<const double> x, int term, std::size_t first, std::size_t count,
                             std::span<const double> seeds, PinnObjective::SignalVisitor& visitor,
                             Reach reach) = 0;
  // Among `count` points of a set, those that visit_signals visits on a rank.
  virtual IndexRange visited_by(int /*rank*/, int /*point_set*/, std::size_t count) const {
    return {0, count};
  }
  // Parts that sums over points are split into.
  virtual int shards() { return team().size(); }
  virtual ThreadTeam& team() = 0;
  virtual void points_changed(int point_set) = 0;
  virtual void point_weights_changed(int /*term*/) {}
  virtual optim::CudaObjective* cuda_objective() { return nullptr; }  // for optimizers on the device
  virtual bool draw_points(const PointPlan& /*plan*/) { return false; }
  virtual void set_step(std::int64_t /*step*/) {}
  virtual std::size_t workspace_bytes() const = 0;
  virtual std::size_t tile_points(int point_set) const = 0;

  bool alone() const { return !options.ranks || options.ranks->alone(); }
  // See parallel/communicator.hpp.
  template <class Operation>
  void with_ranks(const Operation& operation) {
    if (alone())
      operation();
    else
      parallel::with_ranks(options.ranks, operation);
  }
  // Sends rows of `width` numbers per visited point from all ranks to all ranks.
  void gather_visited(int point_set, std::size_t count, std::size_t width, double* rows);

  std::size_t group_of(int set) const { return problem.point_sets[set].group; }
  std::size_t residuals_of(int set) const { return points.at(set).count() / group_of(set); }
  double total_loss() const;

  Problem problem;
  EngineOptions options;
  net::Tape tape;
  optim::ParameterLayout layout;           // the network's blocks, then the unknowns
  std::vector<std::vector<int>> terms_of;  // point set -> its terms, in the order of the set's expressions
  std::vector<int> place_in_set;           // term -> which expression of its set
  std::vector<CompiledPointSet> sets;
  std::vector<Points> points;
  std::vector<double> term_weights;
  std::vector<std::vector<double>> point_weights;
  std::vector<double> frozen;
  std::vector<double> losses;  // per term, weighted, of the last evaluation

 protected:
  std::span<const double> x_at(std::span<const double> xs, std::size_t i) const {
    return xs.subspan(i * layout.size(), layout.size());
  }
  void require_points() const;  // throws Error if a term has none
  std::span<const double> unknowns_of(std::span<const double> x) const {
    return x.subspan(tape.parameters().size());
  }
};

// Threads that an engine starts; of more that are asked for, each still has its shard, so that sums are the same
// bits on a machine with fewer cores.
int most_threads();
std::unique_ptr<Engine> make_cpu_engine(const Problem& problem, const EngineOptions& options);
// Throws Error, saying what is missing, if no GPU can be used.
std::unique_ptr<Engine> make_cuda_engine(const Problem& problem, const EngineOptions& options);

}  // namespace lather::pde
