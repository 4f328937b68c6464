#pragma once
// Runs a sweep: several trainings side by side, going on where it stopped. Successive halving trains all points for
// a share of their steps, then the best of them for more, and so on; a run that goes on is resumed, not repeated,
// and computes what it would have computed in one go. Neither prints nor exits.

#include <functional>
#include <string>
#include <vector>

#include "lather/experiment/results.hpp"
#include "lather/experiment/sweep/sweep.hpp"

namespace lather::experiment {

struct SweepOptions {
  std::filesystem::path out;
  int jobs = 0;  // trainings at a time; 0: one per core
  Device device = Device::cpu;
  std::function<void(const std::string&)> say = [](const std::string&) {};
  std::function<bool()> interrupted = [] { return false; };
};

struct PointResult {
  SweepPoint point;
  std::vector<RunRecord> runs;    // by seed
  std::vector<CurvePoint> curve;  // of the metric, of the first seed
  std::vector<double> values;     // of the metric, by seed: at the best step, or where a round has ended
  double score = 0;               // geometric mean over the seeds; infinite where one has none
  std::int64_t round = 0;         // the last it took part in, from 0
  bool finished = false;          // all of its runs have come to the end of that round
};

struct SweepResult {
  std::vector<PointResult> points;  // best first
  std::int64_t rounds = 1;
  bool complete = false;
};

// `chosen`, or runs/sweep-NAME where it is empty. An earlier sweep may go on in its folder;
// beside other files nothing is written: throws Error.
std::filesystem::path sweep_folder(const std::string& chosen, const Sweep& sweep);

// Throws Error where it wants a GPU and there is none.
SweepResult run_sweep(const Sweep& sweep, const SweepOptions& options);
// What is there, without running anything.
SweepResult collect_sweep(const Sweep& sweep, const std::filesystem::path& out, Device device);

// The share of its steps, or of its time, that a run has done at the end of a round: 1/9, 1/3, 1.
double share_of_round(const Sweep& sweep, std::int64_t round);

}  // namespace lather::experiment
