#include "lather/train/trainer.hpp"

#include <algorithm>
#include <cmath>

#include "lather/optim/composed.hpp"

namespace lather::train {

Trainer::Trainer(const Config& config) : config_(config), plan_(config) { enter_stage(0); }

void Trainer::enter_stage(int index) {
  stage_ = plan_.make_stage(index, finished_);
  stage_index_ = index;
  if (index == 0) {
    parameters_ = stage_->objective().initialize(config_.seed);
    optimizer_ = optim::make_composed(stage_->objective().layout(), config_.optimizer);
  } else {
    stage_->objective().set_frozen(frozen_);
  }
  frozen_.assign(stage_->objective().frozen().begin(), stage_->objective().frozen().end());
  best_step_ = -1;  // figures of another problem do not compare
  stage_->update(step_, parameters_);
}

optim::StepReport Trainer::advance() {
  if (!last_stage() && step_ >= plan_.end_of(stage_index_)) next_stage();
  auto report = optimizer_->step(stage_->objective(), parameters_);
  ++step_;
  evaluations_ += report.evaluations;
  for (const auto& d : optimizer_->diagnostics())
    if (d.quantity == "basis_changed") basis_updates_ += d.value != 0;
  if (stage_->update(step_, parameters_)) optimizer_->objective_changed();
  return report;
}

void Trainer::next_stage() {
  finished_.push_back(parameters_);
  enter_stage(stage_index_ + 1);
  optimizer_->objective_changed();
}

double Trainer::loss() { return stage_->objective().value(parameters_); }

Figures Trainer::measure() {
  Figures figures = stage_->measure(parameters_);
  figures.step = step_;
  return figures;
}

Figures Trainer::validate() {
  Figures figures = measure();
  if (best_step_ < 0 || figures.residual < best_.residual) {
    best_ = figures;
    best_step_ = step_;
    best_parameters_ = parameters_;
  }
  return figures;
}

std::span<const double> Trainer::unknowns() const { return std::span(parameters_).last(problem().unknowns.size()); }

bool Trainer::objective_will_change() const { return !last_stage() || stage_->changes(); }

Solution Trainer::solution(bool best) {
  return plan_.solution(finished_, stage_index_, best && best_step_ >= 0 ? best_parameters_ : parameters_, frozen_);
}

void Trainer::state(StateVisitor& v) {
  v.integer("step", step_);
  std::int64_t stage = stage_index_, finished = static_cast<std::int64_t>(finished_.size());
  v.integer("stage", stage);
  v.integer("finished", finished);
  finished_.resize(static_cast<std::size_t>(finished));
  for (auto& parameters : finished_) v.array("finished_parameters", parameters);
  if (v.reading() && stage != stage_index_) enter_stage(static_cast<int>(stage));
  v.array("parameters", std::span<double>(parameters_));
  v.array("best_parameters", best_parameters_);
  v.array("frozen", std::span<double>(frozen_));
  v.integer("best_step", best_step_);
  best_.state(v);
  v.integer("basis_updates", basis_updates_);
  v.integer("evaluations", evaluations_);
  optimizer_->state(v);
  stage_->state(v);
  if (v.reading()) {
    stage_->objective().set_frozen(frozen_);
    stage_->install(step_, parameters_);
  }
}

}  // namespace lather::train
