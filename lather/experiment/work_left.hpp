#pragma once
// How much longer a reproduction will take, judging by its runs so far: seconds per step, by experiment.

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lather/experiment/plan.hpp"

namespace lather::experiment {

enum class RunKind { tuning, training };

std::string rough_time(double seconds);  // "40 s", "12 min"

class WorkLeft {
 public:
  // `jobs` at a time, less what runs alone.
  WorkLeft(std::span<const Plan> plans, int jobs);

  // One run of this plan has ended and took `seconds`; none: it existed before.
  void ended(std::size_t plan, RunKind kind, std::optional<double> seconds);

  std::size_t runs() const { return runs_; }
  std::size_t runs_ended() const;
  // No value until a run has ended here.
  std::optional<double> seconds() const;

 private:
  struct Part {
    std::int64_t tuning_steps = 0, steps = 0;  // of one run
    std::int64_t tunings = 0, trainings = 0;   // left
    int tunings_at_a_time = 1, trainings_at_a_time = 1;
    double seconds_taken = 0, steps_taken = 0;
  };

  std::size_t runs_ = 0, ended_ = 0;
  mutable std::mutex mutex_;
  std::vector<Part> parts_;  // by plan
};

}  // namespace lather::experiment
