#include "lather/train/stages/stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "lather/core/cache_folder.hpp"
#include "lather/core/error.hpp"
#include "lather/parallel/communicator.hpp"
#include "lather/parallel/in_turn.hpp"
#include "lather/symbolic/evaluate.hpp"

namespace lather::train {

using pde::PointSet;

namespace {

double largest(const std::vector<double>& values) {
  double largest = std::numeric_limits<double>::quiet_NaN();
  for (const double v : values)
    if (!(v <= largest)) largest = std::isnan(v) ? largest : v;
  return largest;
}

pde::EngineOptions engine_options(const Config& config) {
  if (config.ranks && config.ranks->reduction() != parallel::Reduction::host && config.device == Device::cpu)
    throw Error(
        "--reduction: NCCL adds up on GPUs, and this run is on the CPU; use --reduction host, or --device "
        "cuda for a new run");
  pde::EngineOptions options;
  options.threads = static_cast<int>(config.threads);
  options.shards = static_cast<int>(config.shards);
  options.ranks = config.ranks;
  // A run started without ranks keeps its sums.
  if (config.ranks && config.shards == 0 && config.device == Device::cpu) {
    options.shards = options.threads;
    options.threads = std::min(options.threads, parallel::threads_of(config.ranks));
  }
  options.precision = config.precision;
  options.device = config.device;
  return options;
}

// For a problem whose conditions may have become data or belong to other windows: only sets that are drawn
// have point counts and boxes.
pde::PointOptions points_for(const pde::Problem& problem, pde::PointOptions options) {
  const auto is_drawn = [&](const std::string& name) {
    return std::any_of(problem.point_sets.begin(), problem.point_sets.end(), [&](const PointSet& set) {
      return set.name == name && set.kind != PointSet::Kind::data;
    });
  };
  std::erase_if(options.points, [&](const auto& entry) { return !is_drawn(entry.first); });
  const auto& names = problem.symbols->coordinate_names();
  const auto is_elsewhere = [&](const pde::FocusOptions& focus) {
    for (std::size_t k = 0; k < names.size(); ++k)
      if (const auto ends = focus.intervals.find(names[k]); ends != focus.intervals.end())
        if (ends->second.front() >= problem.domain[k].high || ends->second.back() <= problem.domain[k].low)
          return true;
    return false;
  };
  std::erase_if(options.focus, [&](const auto& focus) {
    return (!focus.points.empty() && !is_drawn(focus.points)) || is_elsewhere(focus);
  });
  return options;
}

}  // namespace

double Metrics::worst_l2() const { return largest(l2); }
double Metrics::worst_h1() const { return largest(h1); }

void Metrics::state(StateVisitor& v) {
  v.integer("metrics_step", step);
  v.real("residual", residual);
  v.real("validation_loss", loss);
  v.real("training_loss", training_loss);
  v.array("term_residuals", term_residuals);
  v.array("l2", l2);
  v.array("h1", h1);
  v.integer("error_grid", error_grid);
}

Stage::Stage(const pde::Problem& problem, const Config& config)
    : objective_(std::make_shared<pde::PinnObjective>(problem, engine_options(config))),
      points_(problem, pde::sampling_settings(points_for(problem, config.training.points), problem),
              config.seed),
      weighting_(make_weighting(config.training.weighting, config.training.causal, problem)) {}

bool Stage::update(std::int64_t step, std::span<const double> x) {
  const bool moved = points_.update(step, *objective_, x);
  return weighting_->update(step, *objective_, x) || moved;
}

Metrics Stage::measure(std::span<const double> x) {
  const pde::Problem& problem = objective_->problem();
  const auto residuals = validation_residuals(*objective_, x, points_);
  Metrics metrics;
  const auto is_equation = [&](const pde::Term& term) {
    return problem.point_sets[term.point_set].kind == PointSet::Kind::interior;
  };
  const bool none = std::none_of(problem.terms.begin(), problem.terms.end(), is_equation);
  double equations = 0;
  for (std::size_t k = 0; k < residuals.size(); ++k) {
    const double square = residuals[k].mean_square;
    metrics.term_residuals.push_back(std::sqrt(square));
    metrics.loss += problem.terms[k].weight * square;
    if (none || is_equation(problem.terms[k])) equations += square;
  }
  metrics.residual = std::sqrt(equations);
  objective_->value(x);
  for (std::size_t k = 0; k < problem.terms.size(); ++k)
    if (const double weight = objective_->term_weight(static_cast<int>(k)); weight != 0)
      metrics.training_loss += problem.terms[k].weight / weight * objective_->term_losses()[k];
  return metrics;
}

void Stage::state(StateVisitor& v) {
  points_.state(v);
  weighting_->state(v);
}

namespace {

std::optional<Continuation> continuation_of(const Config& config) {
  const auto& options = config.training.continuation;
  if (!options) return {};
  return Continuation(*options, [source = config.problem, parameter = options->parameter](double value) {
    return source.read({parameter_override(parameter, value)});
  });
}

// Whether two readings of one file have the same solutions: residuals that agree, as functions of what is
// solved for, up to a factor, such as a position-dependent weight. Tested with three random fields at one
// random position; where points are taken does not matter.
bool same_equations(const pde::Problem& a, const pde::Problem& b) {
  if (a.terms.size() != b.terms.size()) return false;
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<double> uniform(0.25, 1);
  std::map<std::string, double> values;
  const auto evaluate = [&](const pde::Problem& problem, const symbolic::Expr residual, int field) {
    symbolic::ExprMap<double> at;
    for (const auto s : symbolic::symbols_of(std::span(&residual, 1))) {
      const std::string& name = s.node().name;
      const bool solved_for =
          problem.symbols->find(s) ||
          std::ranges::find(problem.unknowns, name, &pde::Unknown::name) != problem.unknowns.end();
      const auto [value, fresh] =
          values.try_emplace(solved_for ? fmt::format("{} of field {}", name, field) : name, 0);
      if (fresh) value->second = uniform(generator);
      at[s] = value->second;
    }
    return symbolic::evaluate(residual, at);
  };
  constexpr double kRounding = 1e-9;
  for (std::size_t k = 0; k < a.terms.size(); ++k) {
    const symbolic::Expr in_a = a.terms[k].residual, in_b = b.terms[k].residual;
    const double first_a = evaluate(a, in_a, 0), first_b = evaluate(b, in_b, 0);
    if ((first_a == 0) != (first_b == 0)) return false;
    for (const int field : {1, 2}) {
      const double one = evaluate(a, in_a, field) * first_b, other = evaluate(b, in_b, field) * first_a;
      if (!(std::abs(one - other) <= kRounding * (std::abs(one) + std::abs(other)))) return false;
    }
  }
  return true;
}

}  // namespace

StagePlan::StagePlan(const Config& config)
    : config_(config),
      continuation_(continuation_of(config)),
      problem_(continuation_ ? continuation_->problem(continuation_->count() - 1) : config.problem.read()),
      windows_(problem_, config.training.time_windows) {
  if (continuation_ && in_windows())
    throw Error("training: time_windows and continuation cannot be combined");
}

int StagePlan::count() const {
  if (continuation_) return continuation_->count();
  return in_windows() ? windows_.count() : 1 + static_cast<int>(config_.training.corrections.count);
}

double StagePlan::weight(int stage) const {
  double rest = 0;
  const auto share = [&](int i) {
    return continuation_ ? continuation_->share(i) : in_windows() ? windows_.share(i) : 1.0;
  };
  for (int i = stage; i < count(); ++i) rest += share(i);
  return share(stage) / rest;
}

std::string StagePlan::name(int stage) const {
  if (continuation_)
    return fmt::format("{} = {:g}", continuation_->options().parameter, continuation_->value(stage));
  if (corrects(stage)) return fmt::format("correction {}", stage);
  if (!in_windows()) return problem_.name;
  const auto [low, high] = windows_.interval(stage);
  return fmt::format("{} in [{:g}, {:g}]", windows_.options().coordinate, low, high);
}

double StagePlan::warm_noise() const {
  return continuation_ ? continuation_->options().warm_noise : windows_.options().warm_noise;
}

void StagePlan::halve(int stage) {
  if (continuation_)
    continuation_->halve(stage);
  else
    windows_.halve(stage);
}

bool StagePlan::is_between(int stage) const {
  if (!continuation_) return false;
  const auto& given = config_.training.continuation->values;
  return std::find(given.begin(), given.end(), continuation_->value(stage)) == given.end();
}

void StagePlan::state(StateVisitor& v) {
  if (continuation_) continuation_->state(v);
  windows_.state(v);
}

void FinishedStage::state(StateVisitor& v) {
  v.array("finished_parameters", parameters);
  v.array("finished_frozen", frozen);
  auto how = static_cast<std::int64_t>(end);
  v.integer("finished_end", how);
  end = static_cast<StageEnd>(how);
  auto judged = static_cast<std::int64_t>(verdict);
  v.integer("finished_verdict", judged);
  verdict = static_cast<Verdict>(judged);
  v.real("finished_residual", residual);
  v.integer("finished_step", last_step);
  v.integer("finished_steps", steps);
  v.real("finished_seconds", seconds);
}

bool StagePlan::fresh_weights(int stage) const {
  return stage == 0 || corrects(stage) || (in_windows() && !windows_.options().warm_start);
}

std::unique_ptr<Stage> StagePlan::make_stage(int index, const std::vector<FinishedStage>& finished) const {
  if (continuation_) return std::make_unique<Stage>(continuation_->problem(index), config_);
  if (index == 0) return std::make_unique<Stage>(windows_.first(), config_);
  if (corrects(index))
    return std::make_unique<Stage>(corrected(problem_, config_.training.corrections, index), config_);
  const auto previous = window_objective(index - 1, finished);
  const auto points = pde::sampling_settings(config_.training.points, problem_);
  return std::make_unique<Stage>(
      windows_.next(index, *previous, finished[index - 1].parameters, points, config_.seed), config_);
}

void StagePlan::hand_over(const std::vector<FinishedStage>& finished, pde::PinnObjective& objective,
                          std::span<double> x) const {
  std::vector<TrainedNetwork> networks;
  for (const auto& stage : finished) networks.push_back({stage.parameters, stage.frozen});
  freeze_networks(objective, networks, x);
}

// Settings of [reference] that are expressions follow the parameters automatically. A parameter that the
// equations contain and no setting follows is passed to the solver under its own name; if the solver does not
// know it, the reference would be for other equations.
std::unique_ptr<TrueSolution> StagePlan::true_fields() const {
  const auto cache = default_cache_folder();
  if (!problem_.exact.empty() || problem_.reference.solver.empty()) return true_solution(problem_, cache);
  const pde::Problem as_written =
      pde::read_problem(config_.problem.tree(), std::filesystem::path(config_.problem.file).parent_path());
  const auto changed = [&](const pde::ReferenceRequest& now, const pde::ReferenceRequest& then) {
    return now.solver != then.solver || now.options.to_json() != then.options.to_json();
  };
  if (changed(problem_.reference, as_written.reference) || same_equations(as_written, problem_))
    return true_solution(problem_, cache);
  const std::string& solver = problem_.reference.solver;
  const auto options = reference::reference_options(solver);
  pde::Problem told = problem_;
  for (const auto& [name, value, where] : changed_parameters()) {
    if (std::none_of(options.begin(), options.end(),
                     [&, &name = name](const FieldDescription& o) { return o.name == name; }))
      throw Error(fmt::format(
          "the parameter '{}' was changed, but the reference solver '{}' has no option of that name", name,
          solver));
    set_toml(told.reference.options, name, value);
  }
  return true_solution(told, cache);
}

// As {name, value}; the last change of each counts.
std::vector<pde::Override> StagePlan::changed_parameters() const {
  constexpr std::string_view kPrefix = "parameters.";
  std::vector<pde::Override> changed;
  for (const auto& [path, value, where] : config_.problem.overrides)
    if (path.starts_with(kPrefix)) changed.push_back({path.substr(kPrefix.size()), value});
  if (continuation_) {
    const auto& options = continuation_->options();
    changed.push_back(
        {options.parameter, parameter_override(options.parameter, options.values.back()).value});
  }
  return changed;
}

// An objective of a finished window, for evaluating its fields: what was handed over to it does not matter.
std::shared_ptr<pde::PinnObjective> StagePlan::window_objective(
    int window, const std::vector<FinishedStage>& finished) const {
  pde::Problem problem = windows_.first();
  if (window > 0) {
    const std::vector<std::vector<std::vector<double>>> nothing(problem_.point_sets.size());
    problem = windows_.restored(window, nothing);
  }
  auto objective = std::make_shared<pde::PinnObjective>(problem, engine_options(config_));
  objective->set_frozen(finished[window].frozen);
  return objective;
}

Solution StagePlan::solution(const std::vector<FinishedStage>& finished,
                             std::shared_ptr<pde::PinnObjective> objective,
                             std::vector<double> parameters) const {
  std::vector<Solution::Piece> pieces;
  const int current = static_cast<int>(finished.size());
  if (in_windows())
    for (int w = 0; w < current; ++w)
      pieces.push_back({window_objective(w, finished), finished[w].parameters, windows_.interval(w).high});
  pieces.push_back({std::move(objective), std::move(parameters), 0});
  return {in_windows() ? problem_ : pieces.back().objective->problem(), std::move(pieces),
          in_windows() ? windows_.coordinate() : -1};
}

}  // namespace lather::train
