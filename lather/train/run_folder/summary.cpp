#include "lather/train/run_folder/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "lather/core/formats/toml.hpp"
#include "lather/geometry/outline.hpp"
#include "lather/pde/file/physical_coordinates.hpp"
#include "lather/pde/geometry.hpp"

namespace lather::train {

using Json = nlohmann::json;

namespace {

// In a summary, whatever is not finite is NaN.
double number(double value) {
  return std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN();
}

TauSummary tau_summary(const optim::TauCounts& layer) {
  using namespace optim;
  const double steps = layer.counts[kTauSteps];
  const auto share = [&](int k) { return steps > 0 ? layer.counts[k] / steps : 0; };
  TauSummary s{
      static_cast<std::int64_t>(steps), share(kTauAtOne), share(kTauAtLeast), share(kTauNoCurvature), {}};
  for (int k = kTauFirstPart; k < kTauCounts; ++k) s.parts.push_back(share(k));
  return s;
}

void append_array(std::string& out, const std::string& name, const std::vector<double>& values) {
  if (out.back() != '{') out += ",";
  out += "\n" + Json(name).dump() + ": [";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i) out += ",";
    if (std::isfinite(values[i]))
      fmt::format_to(std::back_inserter(out), "{:.9g}", values[i]);
    else
      out += "null";
  }
  out += "]";
}

}  // namespace

void NamedMetrics::fields(FieldVisitor& v) {
  v.integer("step", step, "");
  v.real("residual", residual,
         "square root of the sum over equations of mean square residuals at held-out points");
  v.real("mean_square_residual", mean_square_residual, "its square");
  v.real("validation_loss", validation_loss, "");
  v.real("training_loss", training_loss, "");
  v.by_name("residuals", residuals, "by term");
  v.by_name("l2", l2, "relative error by field");
  v.by_name("h1", h1, "relative error by field");
  if (error_grid > 0) v.integer("error_grid", error_grid, "points along each coordinate");
}

void UnknownSummary::fields(FieldVisitor& v) {
  v.real("value", value, "at the best step");
  v.real("last", last, "at the last step");
  if (known) v.real("known", *known, "");
}

void StageSummary::fields(FieldVisitor& v) {
  v.text("name", name, "");
  v.text("ended", ended, "");
  v.text("solved", solved, "");
  v.integer("steps", steps, "");
  v.real("seconds", seconds, "");
  v.real("residual", residual, "at held-out points, when it ended");
}

void TauSummary::fields(FieldVisitor& v) {
  v.integer("steps", steps, "");
  v.real("at_one", at_one, "");
  v.real("at_least", at_least, "");
  v.real("no_curvature", no_curvature, "");
  v.reals("parts", parts, "");
}

void Summary::fields(FieldVisitor& v) {
  v.text("problem", problem, "");
  v.text("optimizer", optimizer, "");
  v.text("family", family, "");
  v.text("recipe", recipe, "");
  v.text("adapted", adapted, "");
  v.natural("seed", seed, "");
  v.integer("step", step, "");
  v.integer("parameters", parameters, "");
  v.integer("memory_bytes", memory_bytes, "of points and optimizer, as computed");
  v.integer("optimizer_bytes", optimizer_bytes, "of it: what the optimizer holds");
  v.integer("peak_host_bytes", peak_host_bytes, "of the process, as measured");
  v.integer("peak_device_bytes", peak_device_bytes, "on the GPU, as measured");
  v.integer("evaluations", evaluations, "");
  v.integer("basis_updates", basis_updates, "");
  v.integer("matrices", matrices, "");
  v.real("loss", loss, "");
  v.real("starting_loss", starting_loss, "at held-out points, before the first step");
  v.table("final", final, "");
  v.table("best", best, "");
  v.text("reference", reference, "");
  v.by_name("unknowns", unknowns, "");
  if (!tau.empty()) v.by_name("tau", tau, "by layer");
  v.tables("stages", stages, "");
  if (!unsolved.empty()) v.text("unsolved", unsolved, "stages that are not, and what to do");
  if (!held_out_rows.empty()) v.by_name("held_out_rows", held_out_rows, "of data");
  if (!overfitting.empty()) v.text("overfitting", overfitting, "");
  v.text("reason", reason, "");
  v.text("message", message, "");
  v.real("seconds", seconds, "of training");
  v.real("measuring_seconds", measuring_seconds, "");
  v.real("steps_per_second", steps_per_second, "");
}

NamedMetrics named(const Trainer& trainer, const Metrics& metrics) {
  NamedMetrics result;
  result.step = metrics.step;
  result.residual = number(metrics.residual);
  result.mean_square_residual = number(metrics.residual * metrics.residual);
  result.validation_loss = number(metrics.loss);
  result.training_loss = number(metrics.training_loss);
  result.error_grid = metrics.l2.empty() ? 0 : metrics.error_grid;
  const auto terms = trainer.term_names();
  for (std::size_t k = 0; k < terms.size() && k < metrics.term_residuals.size(); ++k)
    result.residuals[terms[k]] = number(metrics.term_residuals[k]);
  const auto& fields = trainer.problem().fields;
  for (std::size_t f = 0; f < metrics.l2.size(); ++f)
    if (!std::isnan(metrics.l2[f])) result.l2[fields[f].name] = number(metrics.l2[f]);
  for (std::size_t f = 0; f < metrics.h1.size(); ++f)
    if (!std::isnan(metrics.h1[f])) result.h1[fields[f].name] = number(metrics.h1[f]);
  return result;
}

namespace {

std::vector<StageSummary> stages_of(const Trainer& trainer, double final_residual) {
  const auto yes_or_no = [](Verdict v) {
    return v == Verdict::solved ? "yes" : v == Verdict::unsolved ? "no" : "";
  };
  std::vector<StageSummary> list;
  for (const auto& stage : trainer.finished_stages())
    list.push_back({trainer.stage_name(static_cast<int>(list.size())), words_of(stage.end),
                    yes_or_no(stage.verdict), stage.steps, stage.seconds, number(stage.residual)});
  const auto& control = trainer.stage_control();
  list.push_back({trainer.stage_name(trainer.stage()), "", yes_or_no(trainer.verdict()),
                  trainer.step() - control.first_step(), trainer.seconds() - control.first_seconds(),
                  number(final_residual)});
  return list;
}

}  // namespace

Summary summarize(Trainer& trainer, bool fine) {
  Measured now{trainer.loss(), trainer.measure(fine), {}};
  const bool last_is_best = trainer.best_step() < 0 || trainer.best_step() == trainer.step();
  now.best = last_is_best ? now.final : trainer.measure(fine, true);
  return summarize(trainer, now);
}

Summary summarize(Trainer& trainer, const Measured& measured) {
  const auto& config = trainer.config();
  Summary s;
  s.problem = config.problem.name;
  s.optimizer = config.optimizer.name;
  s.family = name_of(config.optimizer.entry().family);
  s.recipe = config.recipe;
  s.adapted = config.adapted;
  s.seed = config.seed;
  s.step = trainer.step();
  s.parameters = static_cast<std::int64_t>(trainer.parameters().size());
  s.optimizer_bytes = static_cast<std::int64_t>(trainer.optimizer_bytes());
  s.memory_bytes = static_cast<std::int64_t>(trainer.engine_bytes()) + s.optimizer_bytes;
  s.evaluations = trainer.evaluations();
  s.basis_updates = trainer.basis_updates();
  if (const auto* log = trainer.basis_log())
    for (const auto& layer : log->tau) s.tau[std::string(layer.block)] = tau_summary(layer);
  const auto& blocks = trainer.objective().layout().blocks();
  s.matrices = std::count_if(blocks.begin(), blocks.end(), [](const auto& block) { return block.matrix; });
  s.loss = number(measured.loss);
  s.starting_loss = number(trainer.starting_loss());
  s.final = named(trainer, measured.final);
  s.reference = trainer.reference_note();
  s.best = named(trainer, measured.best);
  const auto& unknowns = trainer.problem().unknowns;
  for (std::size_t k = 0; k < unknowns.size(); ++k)
    s.unknowns[unknowns[k].name] = {number(trainer.unknowns(true)[k]), number(trainer.unknowns()[k]),
                                    unknowns[k].known_value};
  const auto& sets = trainer.objective().problem().point_sets;
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (!sets[i].file.empty())
      s.held_out_rows[sets[i].name] = static_cast<std::int64_t>(trainer.held_out_rows(static_cast<int>(i)));
  if (trainer.stages() > 1) s.stages = stages_of(trainer, s.final.residual);
  s.unsolved = trainer.unsolved_stages();
  return s;
}

namespace {

// The points under the problem's map; nothing without one.
std::vector<std::pair<std::string, std::vector<double>>> mapped(const ProblemSource& source,
                                                                const Solution& solution,
                                                                const pde::Points& points) {
  TomlValue root = source.tree();
  for (const auto& [path, value, where] : source.overrides) set_toml(root, path, value, where);
  return pde::physical_coordinates(root, std::filesystem::path(source.file).parent_path(), source.data_folder,
                                   solution.unknowns(), points);
}

}  // namespace

std::string fields_text(Trainer& trainer) {
  const Solution solution = trainer.solution(true);
  const pde::Problem& problem = solution.problem();
  const Grid grid = picture_grid(problem);
  const pde::Points points = grid.points();
  auto values = solution.evaluate(field_values(problem), points);
  auto truth =
      trainer.has_reference() ? trainer.reference_values(points) : std::vector<std::vector<double>>();
  auto residuals = solution.residuals(points);
  if (problem.geometry) {  // outside the domain there is nothing to show
    const auto inside = pde::in_closed_domain(problem.geometry.get(), points);
    const auto mask = [&](std::vector<double>& array) {
      for (std::size_t i = 0; i < array.size(); ++i)
        if (!inside[i]) array[i] = std::numeric_limits<double>::quiet_NaN();
    };
    for (auto& array : values) mask(array);
    for (auto& array : truth) mask(array);
    for (auto& [name, array] : residuals) mask(array);
  }

  std::string out = fmt::format("{{\"step\": {}, \"coordinates\": {}, \"axes\": [",
                                trainer.best_step() < 0 ? trainer.step() : trainer.best_step(),
                                Json(problem.symbols->coordinate_names()).dump());
  for (std::size_t i = 0; i < grid.axes.size(); ++i)
    fmt::format_to(std::back_inserter(out), "{}[{}]", i ? ", " : "", fmt::join(grid.axes[i], ","));
  out += "], \"arrays\": {";
  for (std::size_t f = 0; f < problem.fields.size(); ++f) {
    const auto& name = problem.fields[f].name;
    append_array(out, name, values[f]);
    if (f >= truth.size() || truth[f].empty()) continue;
    append_array(out, name + ".reference", truth[f]);
    append_array(out, name + ".error", pointwise_error(problem, f, values[f], truth[f]));
  }
  for (const auto& [name, array] : residuals) append_array(out, "residual." + name, array);
  out += "}";
  if (const auto physical = mapped(trainer.config().problem, solution, points); !physical.empty()) {
    out += ", \"physical\": {";
    for (const auto& [name, array] : physical) append_array(out, name, array);
    out += "}";
  }
  if (problem.geometry && problem.geometry->coordinates == std::vector<int>{0, 1}) {
    out += ", \"outline\": [";
    const char* separator = "";
    for (const auto& line : geometry::outline(*problem.geometry->domain)) {
      out += std::exchange(separator, ", ");
      out += "[";
      for (std::size_t i = 0; i < line.size(); ++i)
        fmt::format_to(std::back_inserter(out), "{}[{:.6g},{:.6g}]", i ? "," : "", line[i][0], line[i][1]);
      out += "]";
    }
    out += "]";
  }
  return out + "}\n";
}

}  // namespace lather::train
