#include "lather/train/stages/stage_control.hpp"

#include <algorithm>
#include <cmath>

namespace lather::train {

namespace {
constexpr double kProgress = 0.95;  // a held-out loss this much below the best counts as progress
}

void StageControl::begin(const Budget& spent, double weight) {
  *this = StageControl(options_);
  first_ = share_from_ = spent;
  weight_ = weight;
}

void StageControl::prolong(const Budget& spent) {
  share_from_ = spent;
  ++prolonged_;
  looks_since_best_ = 0;
}

void StageControl::looked(std::int64_t step, double residual, double loss) {
  looked_at_ = step;
  residual_ = residual;
  if (!has_best_ || loss < kProgress * best_loss_) {
    best_loss_ = loss;
    has_best_ = true;
    looks_since_best_ = 0;
  } else {
    ++looks_since_best_;
  }
}

std::int64_t StageControl::end_step(const Budget& limit) const {
  const auto left = static_cast<double>(limit.steps - share_from_.steps);
  return share_from_.steps + static_cast<std::int64_t>(std::floor(left * weight_ + 1e-9));
}

StageEnd StageControl::end(const Budget& spent, const Budget& limit) const {
  if (solved()) return StageEnd::solved;
  if (stalled_) return StageEnd::stalled;
  if (options_.plateau > 0 && looks_since_best_ >= options_.plateau) return StageEnd::plateau;
  if (spent.steps >= end_step(limit)) return StageEnd::steps;
  const double seconds = share_from_.seconds + (limit.seconds - share_from_.seconds) * weight_;
  if (limit.seconds > 0 && spent.seconds >= seconds) return StageEnd::time;
  return StageEnd::none;
}

double StageControl::progress(const Budget& spent, const Budget& limit) const {
  const auto used = [&](double from, double now, double end) {
    return end > from ? std::clamp((now - from) / ((end - from) * weight_), 0.0, 1.0) : 1.0;
  };
  const double by_steps = used(static_cast<double>(share_from_.steps), static_cast<double>(spent.steps),
                               static_cast<double>(limit.steps));
  return limit.seconds > 0 ? std::max(by_steps, used(share_from_.seconds, spent.seconds, limit.seconds))
                           : by_steps;
}

void StageControl::state(StateVisitor& v) {
  v.integer("stage_first_step", first_.steps);
  v.real("stage_first_seconds", first_.seconds);
  v.integer("share_from_step", share_from_.steps);
  v.real("share_from_seconds", share_from_.seconds);
  v.real("share", weight_);
  v.real("stage_residual", residual_);
  v.real("stage_best_loss", best_loss_);
  v.integer("stage_prolonged", prolonged_);
  v.integer("stage_looked_at", looked_at_);
  v.integer("looks_since_best", looks_since_best_);
  v.boolean("stage_has_best", has_best_);
  v.boolean("stage_stalled", stalled_);
}

std::string words_of(StageEnd end) {
  switch (end) {
    case StageEnd::none: return "";
    case StageEnd::solved: return "solved";
    case StageEnd::stalled: return "the optimizer has converged or stalled";
    case StageEnd::plateau: return "the held-out loss no longer falls";
    case StageEnd::steps: return "its share of the steps is used up";
    case StageEnd::time: return "its share of the time is used up";
  }
  return "";
}

}  // namespace lather::train
