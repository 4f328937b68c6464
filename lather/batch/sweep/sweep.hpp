#pragma once
// A sweep file: one problem, values of settings to try, how to search among them.
//
//   problem = "burgers"
//   metric = "l2"                    # ranked by it, at the best step
//   search = "halving"               # grid, random
//   samples = 12                     # points of each optimizer
//   seeds = 2
//   steps = 600
//
//   [axes]                           # of all runs, paths as of `lather train --set`
//   network.width = [16, 32]
//
//   [[optimizer]]
//   name = "adam"
//   axes.optimizer.learning_rate = {low = 1e-4, high = 1e-2, scale = "log"}
//
// docs/sweeps.md lists every key. A typo is an error that names the place and the nearest key.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lather/batch/run_curve.hpp"
#include "lather/batch/run_store.hpp"
#include "lather/batch/training_request.hpp"
#include "lather/core/formats/toml.hpp"

namespace lather::batch {

enum class Search { grid, random, halving };
std::string_view name_of(Search search);

// A setting that is varied: listed values, or a range.
struct SweepAxis {
  std::string path;
  std::vector<std::string> values;  // of a range: those that a grid uses
  bool range = false, logarithmic = false, whole = false;
  double low = 0, high = 0;
};

struct SweepOptimizer {
  std::string label, name;  // empty name: the recipe's
  Settings settings;
  std::vector<SweepAxis> axes;
};

struct Sweep {
  std::string name, problem, recipe = "quick";
  std::string problem_text;  // `problem` is then only its name in messages
  Quantity metric = Quantity::residual;
  Search search = Search::grid;
  std::vector<std::uint64_t> seeds{0};
  std::int64_t steps = 0;  // 0: the recipe's
  double seconds = 0;      // of each run; without `steps`, the only limit
  std::int64_t samples = 0, factor = 3, rounds = 3;
  std::uint64_t draw_seed = 0;
  Keep keep = Keep::all;
  Settings settings;
  std::vector<SweepAxis> axes;
  std::vector<SweepOptimizer> optimizers;
};

// Throws Error with the location of the mistake. `problem`: what the caller sweeps over; the file then need
// not name one.
struct GivenProblem {
  std::string file, text;
};
Sweep read_sweep(const TomlValue& root, const std::string& name, const GivenProblem* problem = nullptr);
Sweep read_sweep_file(const std::filesystem::path& file);

// What is tried: an optimizer and values of its axes.
struct SweepPoint {
  std::size_t optimizer = 0;
  Settings values;
  std::string label;  // "adam, learning_rate 0.001"
};
// All points of the grid, or those drawn from it: a pure function of the file.
std::vector<SweepPoint> sweep_points(const Sweep& sweep);

train::Config sweep_run(const Sweep& sweep, const SweepPoint& point, std::uint64_t seed, Device device);

}  // namespace lather::batch
