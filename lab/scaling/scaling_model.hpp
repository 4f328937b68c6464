#pragma once
// How long a step takes on many ranks, by counting: operations over rates, bytes over bandwidths, messages
// times latencies. docs/scaling.md compares its predictions with measurements.
//
//   n, w     parameters; those of them in matrices that points are multiplied with
//   p, c     points, all sets together; rows (points times derivative components carried) per point
//   m        residuals
//   R        ranks
//
//   loss and gradient   6 p c w operations (forward 2, back 4), shared by the ranks
//   J^T J               m n^2, shared; rows of J: 8 m n bytes to all; parts of J^T J: 4 n^2 bytes to all
//   Cholesky            n^3 / 3, on every rank

#include <string>

namespace lather::lab {

struct Workload {
  double parameters = 0, matrix_parameters = 0, width = 0;
  double points = 0, components = 1, residuals = 0, terms = 1, shards = 16;
  bool least_squares = false;
  double gradients_per_step = 1;  // evaluations of loss and gradient in a step
  double values_per_step = 0;     // and of the loss, or of residuals, alone
};

struct Link {
  double latency = 0, bandwidth = 1;  // seconds per message; bytes per second, each way
};

// One rank: times as functions of sizes.
class RankModel {
 public:
  virtual ~RankModel() = default;
  virtual std::string name() const = 0;
  virtual double gradient(const Workload& w, double points) const = 0;  // seconds for so many points
  virtual double value(const Workload& w, double points) const = 0;
  virtual double normal_matrix(const Workload& w, double residuals, int ranks) const = 0;
  virtual double replicated(const Workload& w) const = 0;  // what every rank repeats in a step
};

struct Cluster {
  Link inside, between;  // ranks of one machine, and machines
  int ranks_per_machine = 8;
  bool sends_rows = true;  // of J, as Lather does on CPUs; false: J^T J is reduced
};

struct StepTime {
  double shared = 0, replicated = 0, exchange = 0, bytes = 0;  // bytes that a rank sends
  double total() const { return shared + replicated + exchange; }
};

// Bytes that a rank sends to all others together.
double gradient_bytes(const Workload& w, int ranks);
double normal_matrix_bytes(const Workload& w, const Cluster& cluster, int ranks);

StepTime predict(const Workload& w, const RankModel& rank, const Cluster& cluster, int ranks);

// An H200: rates fitted to the measurements on one in docs/performance.md.
class H200 final : public RankModel {
 public:
  std::string name() const override { return "H200"; }
  double gradient(const Workload& w, double points) const override;
  double value(const Workload& w, double points) const override;
  double normal_matrix(const Workload& w, double residuals, int ranks) const override;
  double replicated(const Workload& w) const override;
};
Cluster h200_cluster();  // machines of eight, NVLink inside, InfiniBand between: published figures

// A rank as timed: a share of the points takes the same share of the time.
struct TimedRank final : RankModel {
  std::string label;
  double gradient_seconds = 0, value_seconds = 0, normal_seconds = 0, replicated_seconds = 0, points = 1,
         residuals = 1;
  std::string name() const override { return label; }
  double gradient(const Workload&, double p) const override { return gradient_seconds * p / points; }
  double value(const Workload&, double p) const override { return value_seconds * p / points; }
  double normal_matrix(const Workload&, double m, int) const override {
    return normal_seconds * m / residuals;
  }
  double replicated(const Workload&) const override { return replicated_seconds; }
};

}  // namespace lather::lab
