#include "lather/pde/objective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lather/core/error.hpp"
#include "lather/pde/engine/engine_residuals.hpp"

namespace lather::pde {

namespace {

std::vector<net::NetworkOptions> networks_of(const Problem& problem) {
  auto networks = problem.earlier_networks;
  networks.push_back(problem.network);
  return networks;
}

}  // namespace

Engine::Engine(const Problem& given, const EngineOptions& engine_options)
    : problem(given),
      options(engine_options),
      tape(net::build_sum(networks_of(problem), static_cast<int>(problem.network_inputs.size()),
                          problem.outputs())),
      layout(tape.parameters()) {
  for (const auto& unknown : problem.unknowns)
    layout.add_scalar("unknown." + unknown.name, optim::Role::unknown);
  terms_of.resize(problem.point_sets.size());
  for (std::size_t k = 0; k < problem.terms.size(); ++k) {
    auto& terms = terms_of[problem.terms[k].point_set];
    place_in_set.push_back(static_cast<int>(terms.size()));
    terms.push_back(static_cast<int>(k));
    term_weights.push_back(problem.terms[k].weight);
  }
  for (std::size_t s = 0; s < problem.point_sets.size(); ++s) {
    std::vector<symbolic::Expr> residuals;
    for (int k : terms_of[s]) residuals.push_back(problem.terms[k].residual);
    sets.push_back(compile_set(problem, tape, residuals, problem.point_sets[s].columns));
    sets.back().group = problem.point_sets[s].group;
  }
  points.resize(problem.point_sets.size());
  point_weights.resize(problem.terms.size());
  losses.resize(problem.terms.size());
  frozen.resize(tape.frozen().size());
}

void Engine::gather_visited(int point_set, std::size_t count, std::size_t width, double* rows) {
  if (alone()) return;
  std::vector<std::size_t> bounds;
  for (int p = 0; p < options.ranks->size(); ++p)
    bounds.push_back(visited_by(p, point_set, count).begin * width);
  bounds.push_back(count * width);
  options.ranks->gather(std::span(rows, count * width), bounds);
}

double Engine::total_loss() const { return std::accumulate(losses.begin(), losses.end(), 0.0); }

void Engine::values(std::span<const double> xs, std::span<double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    compute(x_at(xs, i), nullptr, nullptr);
    values[i] = total_loss();
  }
}

void Engine::require_points() const {
  for (std::size_t s = 0; s < points.size(); ++s)
    if (points[s].count() == 0 && !terms_of[s].empty())
      throw Error("point set '" + problem.point_sets[s].name + "' has no points");
}

PinnObjective::PinnObjective(const Problem& problem, const EngineOptions& options)
    : engine_(options.device == Device::cuda ? make_cuda_engine(problem, options)
                                             : make_cpu_engine(problem, options)) {}
PinnObjective::~PinnObjective() = default;

std::vector<double> PinnObjective::initialize(std::uint64_t seed) {
  auto weights = net::initialize(engine_->tape, engine_->problem.network, seed);
  engine_->frozen = std::move(weights.frozen);
  std::vector<double> x = std::move(weights.parameters);
  for (const auto& unknown : engine_->problem.unknowns) x.push_back(unknown.initial);
  return x;
}

std::span<const double> PinnObjective::frozen() const { return engine_->frozen; }

void PinnObjective::set_frozen(std::span<const double> values) {
  if (values.size() != engine_->frozen.size())
    throw Error(
        fmt::format("the network has {} frozen weights, got {}", engine_->frozen.size(), values.size()));
  std::copy(values.begin(), values.end(), engine_->frozen.begin());
}

void PinnObjective::set_points(int point_set, Points points) {
  const auto& set = engine_->problem.point_sets.at(point_set);
  if (points.coordinates.size() != engine_->problem.domain.size())
    throw Error(fmt::format("points of '{}' need {} coordinates, got {}", set.name,
                            engine_->problem.domain.size(), points.coordinates.size()));
  const auto& tables = engine_->sets[point_set].tables;
  if (points.columns.size() == set.columns.size() + tables.size()) points.columns.resize(set.columns.size());
  if (points.columns.size() != set.columns.size())
    throw Error(fmt::format("points of '{}' need {} data columns, got {}", set.name, set.columns.size(),
                            points.columns.size()));
  for (const auto* group : {&points.coordinates, &points.columns})
    for (const auto& array : *group)
      if (array.size() != points.count())
        throw Error(fmt::format("points of '{}': coordinates of different lengths", set.name));
  if (points.count() % set.group != 0)
    throw Error(
        fmt::format("points of '{}' come in groups of {}, got {}", set.name, set.group, points.count()));
  fill_tables(engine_->problem, tables, set.columns.size(), points);
  engine_->points[point_set] = std::move(points);
  for (int k : engine_->terms_of[point_set]) engine_->point_weights[k].clear();
  engine_->points_changed(point_set);
}

const Points& PinnObjective::points(int point_set) const { return engine_->points.at(point_set); }
std::size_t PinnObjective::residuals_of(int point_set) const { return engine_->residuals_of(point_set); }
void PinnObjective::set_term_weight(int term, double weight) { engine_->term_weights.at(term) = weight; }
double PinnObjective::term_weight(int term) const { return engine_->term_weights.at(term); }

void PinnObjective::set_point_weights(int term, std::vector<double> weights) {
  const auto& t = engine_->problem.terms.at(term);
  const std::size_t count = engine_->residuals_of(t.point_set);
  if (!weights.empty() && weights.size() != count)
    throw Error(fmt::format("term '{}' has {} points, got {} weights", t.name, count, weights.size()));
  engine_->point_weights[term] = std::move(weights);
  engine_->point_weights_changed(term);
}

std::span<const double> PinnObjective::point_weights(int term) const {
  return engine_->point_weights.at(term);
}

const optim::ParameterLayout& PinnObjective::layout() const { return engine_->layout; }

std::span<const double> PinnObjective::fitting(std::span<const double> x) const {
  optim::require_size("x", x.size(), engine_->layout.size());
  return x;
}

double PinnObjective::value(std::span<const double> x) {
  engine_->compute(fitting(x), nullptr, nullptr);
  return engine_->total_loss();
}

void PinnObjective::values(std::span<const double> xs, std::span<double> values) {
  optim::require_size("xs", xs.size(), values.size() * size());
  for (std::size_t n = 0; !values.empty(); values = values.subspan(n), xs = xs.subspan(n * size())) {
    n = std::min(values.size(), Engine::kMostTrials);
    engine_->values(xs.first(n * size()), values.first(n));
  }
}

double PinnObjective::value_and_gradient(std::span<const double> x, std::span<double> gradient) {
  optim::require_size("gradient", gradient.size(), size());
  engine_->compute(fitting(x), gradient.data(), nullptr);
  return engine_->total_loss();
}

std::vector<std::string> PinnObjective::term_names() const {
  std::vector<std::string> names;
  for (const auto& term : engine_->problem.terms) names.push_back(term.name);
  return names;
}

std::vector<bool> PinnObjective::term_is_equation() const {
  const Problem& problem = engine_->problem;
  std::vector<bool> result;
  for (const auto& term : problem.terms)
    result.push_back(problem.point_sets[term.point_set].kind == PointSet::Kind::interior);
  return result;
}

void PinnObjective::term_gradients(std::span<const double> x, std::span<double> losses,
                                   std::vector<std::vector<double>>& gradients) {
  const std::size_t terms = engine_->problem.terms.size();
  optim::require_size("losses", losses.size(), terms);
  gradients.resize(terms);
  for (auto& g : gradients) g.resize(size());
  engine_->compute(fitting(x), nullptr, &gradients);
  std::copy(engine_->losses.begin(), engine_->losses.end(), losses.begin());
}

// Residuals, unlike their derivatives, are available in single precision too.
std::size_t PinnObjective::residual_count() const { return EngineResiduals(*engine_).residual_count(); }
void PinnObjective::residuals(std::span<const double> x, std::span<double> r) {
  EngineResiduals(*engine_).residuals(fitting(x), r);
}
void PinnObjective::residuals_at(std::span<const double> xs, std::span<double> r) {
  EngineResiduals(*engine_).residuals_at(xs, r);
}
void PinnObjective::residual_scales(std::span<double> scales) const {
  EngineResiduals(*engine_).residual_scales(scales);
}

optim::Residuals& PinnObjective::source() { return engine_->jacobian(); }
void PinnObjective::jacobian_rows(std::span<const double> x, std::size_t first, std::size_t count,
                                  double* rows) {
  source().jacobian_rows(fitting(x), first, count, rows);
}
double PinnObjective::normal_equations(std::span<const double> x, double* JtJ, std::span<double> Jtr) {
  optim::require_size("Jtr", Jtr.size(), size());
  return source().normal_equations(fitting(x), JtJ, Jtr);
}
void PinnObjective::normal_diagonal(std::span<const double> x, std::span<double> diagonal) {
  optim::require_size("diagonal", diagonal.size(), size());
  source().normal_diagonal(fitting(x), diagonal);
}
void PinnObjective::residual_gram(std::span<const double> x, double* JJt, std::span<double> r) {
  optim::require_size("r", r.size(), residual_count());
  source().residual_gram(fitting(x), JJt, r);
}
void PinnObjective::jacobian_times(std::span<const double> x, std::span<const double> v,
                                   std::span<double> Jv) {
  optim::require_size("v", v.size(), size());
  optim::require_size("Jv", Jv.size(), residual_count());
  source().jacobian_times(fitting(x), v, Jv);
}
void PinnObjective::transposed_jacobian_times(std::span<const double> x, std::span<const double> w,
                                              std::span<double> Jtw) {
  optim::require_size("w", w.size(), residual_count());
  optim::require_size("Jtw", Jtw.size(), size());
  source().transposed_jacobian_times(fitting(x), w, Jtw);
}

std::span<const double> PinnObjective::term_losses() const { return engine_->losses; }

void PinnObjective::term_residuals(std::span<const double> x, int term, std::span<double> r) {
  std::vector<double*> parts(engine_->problem.terms.size());
  parts.at(term) = r.data();
  optim::require_size("r", r.size(), engine_->residuals_of(engine_->problem.terms[term].point_set));
  engine_->residuals(fitting(x), parts);
}

std::vector<std::vector<double>> PinnObjective::evaluate(std::span<const double> x,
                                                         std::span<const symbolic::Expr> expressions,
                                                         const Points& points,
                                                         std::span<const std::string> columns) {
  fitting(x);
  std::vector<OutputSymbols::TableDerivative> tables;
  for (const auto& [s, d] : engine_->problem.symbols->tables_in(expressions)) tables.push_back(d);
  if (tables.empty()) return engine_->evaluate(x, expressions, points, columns);
  Points with_tables = points;
  fill_tables(engine_->problem, tables, columns.size(), with_tables);
  return engine_->evaluate(x, expressions, with_tables, columns);
}

void PinnObjective::visit_signals(std::span<const double> x, int term, std::size_t first, std::size_t count,
                                  std::span<const double> seeds, SignalVisitor& visitor) {
  engine_->visit_signals(fitting(x), term, first, count, seeds, visitor, Reach::all_points);
}

void PinnObjective::visit_points(std::span<const double> x, int term, std::span<double> values,
                                 const std::function<std::unique_ptr<SignalVisitor>()>& make_visitor) {
  fitting(x);
  engine_->with_ranks([&] {
    std::fill(values.begin(), values.end(), 0.0);
    const auto visitor = make_visitor();
    engine_->visit_signals(x, term, 0, values.size(), {}, *visitor, Reach::own_share);
    engine_->gather_visited(engine_->problem.terms[term].point_set, values.size(), 1, values.data());
  });
}

const Problem& PinnObjective::problem() const { return engine_->problem; }
const net::Tape& PinnObjective::tape() const { return engine_->tape; }
ThreadTeam* PinnObjective::team() { return &engine_->team(); }
int PinnObjective::visitors() const { return engine_->shards(); }
parallel::Communicator* PinnObjective::ranks() const { return engine_->options.ranks; }
std::size_t PinnObjective::tile_points(int point_set) const { return engine_->tile_points(point_set); }
std::size_t PinnObjective::workspace_bytes() const { return engine_->workspace_bytes(); }
bool PinnObjective::draw_points(const PointPlan& plan) {
  const bool uses_tables = std::any_of(engine_->sets.begin(), engine_->sets.end(),
                                       [](const CompiledPointSet& set) { return !set.tables.empty(); });
  return !uses_tables && engine_->draw_points(plan);  // tables are read on the host
}
void PinnObjective::set_step(std::int64_t step) { engine_->set_step(step); }
optim::CudaObjective* PinnObjective::cuda_objective() { return engine_->cuda_objective(); }

}  // namespace lather::pde
