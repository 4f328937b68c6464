#pragma once
// Learning-rate schedules: the factor by which step k (from 0) multiplies the learning rate, a pure function
// of k.

#include <cstdint>
#include <span>
#include <vector>

#include "lather/core/options.hpp"

namespace lather::optim {

double linear_warm_up(std::int64_t step, std::int64_t warmup_steps, double start);  // start … 1
double exponential_decay(std::int64_t step, double rate, std::int64_t every,
                         bool staircase);  // rate^(k / every)
double cosine_decay(std::int64_t step, std::int64_t total_steps,
                    double final_factor);                   // 1 … final_factor, then constant
double cosine_decay(double progress, double final_factor);  // the same, for progress in [0, 1]
// factors[i] from boundaries[i] on, 1 before boundaries[0].
double piecewise_constant(std::int64_t step, std::span<const double> boundaries,
                          std::span<const double> factors);

enum class Decay { constant, exponential, cosine, piecewise };

// A warm-up composed with a decay that starts counting when the warm-up is over; the two factors are
// multiplied.
struct ScheduleOptions {
  std::int64_t warmup_steps = 0;
  double warmup_start = 0;
  Decay decay = Decay::constant;
  double rate = 0.9;
  std::int64_t every = 1000;
  bool staircase = false;
  std::int64_t total_steps = 0;
  double final_factor = 0;
  std::vector<double> boundaries{}, factors{};

  void fields(FieldVisitor& v);
  // A decay as long as the training: the trainer supplies its factors (by steps, or by time).
  bool over_the_whole_run() const { return decay == Decay::cosine && total_steps == 0; }
  void validate() const;  // throws Error if lists do not fit together
};

double schedule_factor(const ScheduleOptions& options, std::int64_t step);

}  // namespace lather::optim
