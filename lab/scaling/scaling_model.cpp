#include "scaling/scaling_model.hpp"

#include <algorithm>
#include <cmath>

namespace lather::lab {

namespace {

// ---- Fitted to docs/performance.md, float64. Products reach 52 TFLOP/s for wide matrices; half of that at
// width 90.
double product_rate(double width) { return 52e12 * width * width / (width * width + 90 * 90); }
constexpr double kSyrkRate = 46e12;
// Measured: 10.8 TFLOP/s at dimension 4,353, 38.9 at 16,897, 43.3 at 33,537.
double cholesky_rate(double n) { return 46e12 * n * n / (n * n + 8e3 * 8e3); }
constexpr double kSolution = 160e-9;  // seconds per unknown of a triangular system
constexpr double kMemory = 4e12;      // bytes per second
constexpr double kLaunches = 30e-6;   // kernels of a graph, one after another
// Bytes of activations and adjoints that one evaluation moves per row and unit of width: nine units for four
// layers, and as much again for the operands of products, which overlap in part.
constexpr double kTrafficPerWidth = 8 * 18;

// The busiest rank's share of all shards.
double largest_share(const Workload& w, int ranks) {
  const double shards = std::max(w.shards, static_cast<double>(ranks));
  return std::ceil(shards / ranks) / shards;
}

// One round in which every rank sends `bytes` in total to the others.
double round_time(const Cluster& cluster, int ranks, double bytes) {
  if (ranks == 1) return 0;
  const Link& slowest = ranks > cluster.ranks_per_machine ? cluster.between : cluster.inside;
  return slowest.latency * std::ceil(std::log2(ranks)) + bytes / slowest.bandwidth;
}

}  // namespace

double gradient_bytes(const Workload& w, int ranks) {
  if (ranks == 1) return 0;
  const double others = (ranks - 1.0) / ranks;
  // Parts of all ranks' sums to the one that adds them, and its result to all; and the sums of losses.
  return 8 * w.parameters * (others + others) + 8 * w.terms * w.shards * others;
}

double normal_matrix_bytes(const Workload& w, const Cluster& cluster, int ranks) {
  if (ranks == 1) return 0;
  const double n = w.parameters, others = (ranks - 1.0) / ranks;
  if (!cluster.sends_rows) return 2 * 4 * n * n * others;
  return (8 * w.residuals * n + 4 * n * n) * others;
}

StepTime predict(const Workload& w, const RankModel& rank, const Cluster& cluster, int ranks) {
  const double share = largest_share(w, ranks), p = w.points * share, m = w.residuals * share;
  StepTime t;
  t.shared = w.gradients_per_step * rank.gradient(w, p) + w.values_per_step * rank.value(w, p);
  if (w.least_squares) t.shared += rank.normal_matrix(w, m, ranks);
  t.replicated = rank.replicated(w);
  if (ranks == 1) return t;
  const double gradient = gradient_bytes(w, ranks), value = 8 * w.terms * w.shards * (ranks - 1.0) / ranks;
  t.bytes = w.gradients_per_step * gradient + w.values_per_step * value + 16 * (ranks - 1);
  t.exchange =
      w.gradients_per_step * (round_time(cluster, ranks, gradient) + 2 * round_time(cluster, ranks, 0)) +
      w.values_per_step * round_time(cluster, ranks, value) + round_time(cluster, ranks, 16);
  if (w.least_squares) {
    const double matrix = normal_matrix_bytes(w, cluster, ranks);
    t.bytes += matrix;
    const double rounds = cluster.sends_rows ? std::ceil(w.residuals / 256) + 1 : 2;
    t.exchange += round_time(cluster, ranks, matrix) + (rounds - 1) * round_time(cluster, ranks, 0);
  }
  return t;
}

double H200::gradient(const Workload& w, double points) const {
  const double rows = points * w.components;
  return 6 * rows * w.matrix_parameters / product_rate(w.width) +
         rows * w.width * kTrafficPerWidth / kMemory + kLaunches;
}
double H200::value(const Workload& w, double points) const {
  return (gradient(w, points) - kLaunches) / 3 + kLaunches;
}
double H200::normal_matrix(const Workload& w, double residuals, int) const {
  const double n = w.parameters;
  return residuals * n * n / kSyrkRate + 2 * 8 * residuals * n / kMemory;
}
double H200::replicated(const Workload& w) const {
  const double n = w.parameters;
  if (!w.least_squares) return 6 * 8 * n / kMemory + kLaunches;  // moments, parameters, gradient
  return n * n * n / 3 / cholesky_rate(n) + 4 * 8 * n * n / kMemory +
         2 * n * kSolution;  // the step and its acceleration
}

// NVLink 4: 450 GB/s each way; InfiniBand NDR: 400 Gb/s. Latencies of an NCCL round, as commonly
// reported.
Cluster h200_cluster() { return {{8e-6, 450e9}, {12e-6, 50e9}, 8, false}; }

}  // namespace lather::lab
