#include "lather/train/stages/stage_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace lather::train {

namespace {
constexpr double kProgress = 0.95;  // a held-out loss this much below the best counts as progress
// Signs of a stage that is not solved.
constexpr double kAboveOthers = 10, kOfResidual = 1e-4, kOfLoss = 0.01, kLastPart = 0.2, kFall = 10;
}  // namespace

void StageControl::begin(const Budget& spent, double weight) {
  *this = StageControl(options_);
  first_ = share_from_ = spent;
  weight_ = weight;
}

void StageControl::prolong(const Budget& spent) {
  share_from_ = spent;
  ++prolonged_;
  looks_since_best_ = 0;
  look_steps_ = {static_cast<double>(spent.steps)};
  look_losses_ = {best_loss_};
}

void StageControl::began(double loss, const Nothing& nothing) {
  nothing_ = nothing;
  look_steps_ = {static_cast<double>(first_.steps)};
  look_losses_ = {loss};
}

void StageControl::looked(std::int64_t step, double residual, double loss) {
  looked_at_ = step;
  residual_ = residual;
  look_steps_.push_back(static_cast<double>(step));
  look_losses_.push_back(loss);
  if (!has_best_ || loss < kProgress * best_loss_) {
    best_loss_ = loss;
    has_best_ = true;
    looks_since_best_ = 0;
  } else {
    ++looks_since_best_;
  }
}

Judgement StageControl::judge(StageEnd end, double least, bool annealed) const {
  if (solved()) return {Verdict::solved, ""};
  if (options_.target > 0) return {Verdict::unsolved, fmt::format("target {:g}", options_.target)};
  if (!share_is_used_up(end) || look_losses_.empty()) return {};
  if (look_steps_.back() == look_steps_.front())
    return {Verdict::unsolved,
            looked_at_ > first_.steps ? "no step was left to prolong it" : "it had no step"};
  if (least > 0 && residual_ > std::max(kAboveOthers * least, kOfResidual * nothing_.residual))
    return {Verdict::unsolved, fmt::format("an earlier stage has {:.2e}", least)};
  const double loss = *std::min_element(look_losses_.begin(), look_losses_.end());
  if (loss > kOfLoss * nothing_.loss && nothing_.loss > 0)
    return {Verdict::unsolved,
            fmt::format("its loss is {:.2g} times that of a network that is zero", loss / nothing_.loss)};
  const double last_part = look_steps_.back() - kLastPart * (look_steps_.back() - look_steps_.front());
  double before = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < look_steps_.size() && look_steps_[i] <= last_part; ++i)
    before = std::min(before, look_losses_[i]);
  if (!annealed && std::isfinite(before) && before > kFall * loss)
    return {Verdict::unsolved,
            fmt::format("its loss was still falling, from {:.1e} to {:.1e} at the end", before, loss)};
  return {};
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
  v.real("loss_of_nothing", nothing_.loss);
  v.real("residual_of_nothing", nothing_.residual);
  v.array("look_steps", look_steps_);
  v.array("look_losses", look_losses_);
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
