#include "lather/optim/wrappers/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lather/core/error.hpp"

namespace lather::optim {

double linear_warm_up(std::int64_t step, std::int64_t warmup_steps, double start) {
  if (step >= warmup_steps) return 1;
  return start + (1 - start) * static_cast<double>(step + 1) / static_cast<double>(warmup_steps + 1);
}

double exponential_decay(std::int64_t step, double rate, std::int64_t every, bool staircase) {
  const double periods =
      staircase ? static_cast<double>(step / every) : static_cast<double>(step) / static_cast<double>(every);
  return std::pow(rate, periods);
}

double cosine_decay(std::int64_t step, std::int64_t total_steps, double final_factor) {
  return cosine_decay(std::min(1.0, static_cast<double>(step) / static_cast<double>(total_steps)),
                      final_factor);
}

double cosine_decay(double progress, double final_factor) {
  return final_factor + (1 - final_factor) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

double piecewise_constant(std::int64_t step, std::span<const double> boundaries,
                          std::span<const double> factors) {
  double factor = 1;
  for (std::size_t i = 0; i < boundaries.size(); ++i)
    if (static_cast<double>(step) >= boundaries[i]) factor = factors[i];
  return factor;
}

void ScheduleOptions::fields(FieldVisitor& v) {
  v.integer("warmup_steps", warmup_steps, "steps of linear warm-up", non_negative());
  v.real("warmup_start", warmup_start, "factor before the first step of the warm-up", between(0, 1));
  v.choice("decay", decay, "what follows the warm-up",
           {{"constant", Decay::constant},
            {"exponential", Decay::exponential},
            {"cosine", Decay::cosine},
            {"piecewise", Decay::piecewise}});
  v.real("rate", rate, "exponential: factor per period", unit_open_left());
  v.integer("every", every, "exponential: steps per period", at_least(1));
  v.boolean("staircase", staircase, "exponential: change only at the end of a period");
  v.integer("total_steps", total_steps,
            "cosine: steps until final_factor; 0: all of the training, by steps or by time", non_negative());
  v.real("final_factor", final_factor, "cosine: factor at the end", between(0, 1));
  v.reals("boundaries", boundaries, "piecewise: steps at which the factor changes, ascending");
  v.reals("factors", factors, "piecewise: factor from the boundary of the same number on");
}

void ScheduleOptions::validate() const {
  if (boundaries.size() != factors.size())
    throw Error(fmt::format("schedule: {} boundaries but {} factors", boundaries.size(), factors.size()));
  if (!std::is_sorted(boundaries.begin(), boundaries.end()))
    throw Error("schedule.boundaries: expected ascending steps");
  for (const double factor : factors)
    if (!(factor >= 0) || !std::isfinite(factor))
      throw Error(fmt::format("schedule.factors: expected values in [0, inf), got {}", factor));
}

double schedule_factor(const ScheduleOptions& o, std::int64_t step) {
  const double warm_up = linear_warm_up(step, o.warmup_steps, o.warmup_start);
  const std::int64_t k = std::max<std::int64_t>(0, step - o.warmup_steps);
  switch (o.decay) {
    case Decay::exponential: return warm_up * exponential_decay(k, o.rate, o.every, o.staircase);
    case Decay::cosine:
      return o.over_the_whole_run() ? warm_up : warm_up * cosine_decay(k, o.total_steps, o.final_factor);
    case Decay::piecewise: return warm_up * piecewise_constant(k, o.boundaries, o.factors);
    case Decay::constant: break;
  }
  return warm_up;
}

}  // namespace lather::optim
