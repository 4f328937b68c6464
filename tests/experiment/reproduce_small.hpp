#pragma once
// Reproduces small experiments and keeps what is said about their runs.

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "lather/experiment/reproduce.hpp"

namespace lather::experiment {

struct Counted {
  std::vector<ExperimentResult> results;
  std::vector<std::string> lines;
};

inline Counted reproduce_small(const std::vector<Plan>& plans, const std::filesystem::path& out, int jobs,
                               int most_steps = 1 << 30) {
  Counted counted;
  std::atomic<int> asked = 0;
  ReproduceOptions options;
  options.out = out;
  options.jobs = jobs;
  options.say = [&](const std::string& line) { counted.lines.push_back(line); };
  options.interrupted = [&] { return ++asked > most_steps; };
  counted.results = reproduce(plans, options);
  return counted;
}

}  // namespace lather::experiment
