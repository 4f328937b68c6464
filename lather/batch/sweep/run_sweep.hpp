#pragma once
// Runs a sweep: several trainings at a time, resuming where it stopped. Successive halving trains all points
// for a fraction of their steps, then the best of them for more, and so on; a run that continues is resumed,
// not repeated, and computes what it would have computed in one go. Neither prints nor exits.

#include <functional>
#include <string>
#include <vector>

#include "lather/batch/sweep/sweep.hpp"

namespace lather::batch {

struct SweepOptions {
  std::filesystem::path out;
  int jobs = 0;  // trainings at a time; 0: one per core
  Device device = Device::cpu;
  std::function<void(const std::string&)> say = [](const std::string&) {};
  std::function<bool()> interrupted = [] { return false; };
  Stop* stop = nullptr;  // breaks off steps of the runs, which are then saved
};

struct PointResult {
  SweepPoint point;
  std::vector<RunRecord> runs;    // by seed
  std::vector<CurvePoint> curve;  // of the metric, of the first seed
  std::vector<double> values;     // of the metric, by seed: at the best step, or at the end of a round
  double score = 0;               // geometric mean over the seeds; infinite if one has none
  std::int64_t round = 0;         // the last one it took part in, from 0
  bool finished = false;          // all of its runs have reached the end of that round
};

struct SweepResult {
  std::vector<PointResult> points;  // best first
  std::int64_t rounds = 1;
  bool complete = false;
};

// `chosen`, or runs/sweep-NAME if it is empty. An earlier sweep may be continued in its folder. Throws Error,
// and writes nothing, if the folder holds other files.
std::filesystem::path sweep_folder(const std::string& chosen, const Sweep& sweep);

// Throws Error if it wants a GPU and there is none.
SweepResult run_sweep(const Sweep& sweep, const SweepOptions& options);
// The results so far, without running anything.
SweepResult collect_sweep(const Sweep& sweep, const std::filesystem::path& out, Device device);

// The fraction of its steps, or of its time, that a run has completed at the end of a round: 1/9, 1/3, 1.
double share_of_round(const Sweep& sweep, std::int64_t round);

}  // namespace lather::batch
