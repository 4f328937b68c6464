#include "lather/experiment/work_left.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lather::experiment {

std::string rough_time(double seconds) {
  return seconds < 90 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

WorkLeft::WorkLeft(std::span<const Plan> plans, int jobs) {
  for (const auto& plan : plans) {
    Part part;
    part.tuning_steps = plan.budget->tuning_steps;
    part.steps = plan.budget->steps;
    part.tunings_at_a_time = plan.tunes_alone() ? 1 : std::max(1, jobs);
    part.trainings_at_a_time = plan.trains_alone() ? 1 : std::max(1, jobs);
    for (const auto& cell : plan.cells) {
      part.tunings += static_cast<std::int64_t>(plan.tunings(cell));
      part.trainings += plan.budget->seeds;
    }
    runs_ += static_cast<std::size_t>(part.tunings + part.trainings);
    parts_.push_back(part);
  }
}

void WorkLeft::ended(std::size_t plan, RunKind kind, std::optional<double> seconds) {
  const std::lock_guard lock(mutex_);
  Part& part = parts_.at(plan);
  const bool tuning = kind == RunKind::tuning;
  std::int64_t& left = tuning ? part.tunings : part.trainings;
  if (left == 0) return;
  --left;
  ++ended_;
  if (!seconds) return;
  part.seconds_taken += *seconds;
  part.steps_taken += static_cast<double>(tuning ? part.tuning_steps : part.steps);
}

std::size_t WorkLeft::runs_ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

std::optional<double> WorkLeft::seconds() const {
  const std::lock_guard lock(mutex_);
  double seconds_taken = 0, steps_taken = 0;
  for (const auto& part : parts_) seconds_taken += part.seconds_taken, steps_taken += part.steps_taken;
  if (!(steps_taken > 0)) return {};
  double left = 0;
  for (const auto& part : parts_) {
    const double a_step =
        part.steps_taken > 0 ? part.seconds_taken / part.steps_taken : seconds_taken / steps_taken;
    const auto tuning = static_cast<double>(part.tunings * part.tuning_steps),
               training = static_cast<double>(part.trainings * part.steps);
    left += a_step * (tuning / part.tunings_at_a_time + training / part.trainings_at_a_time);
  }
  return left;
}

}  // namespace lather::experiment
