#include "lather/train/run_folder/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace lather::train {

using Json = nlohmann::json;

namespace {

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

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

Json to_json(const Trainer& trainer, const Figures& figures) {
  Json json = {{"step", figures.step},
               {"residual", number(figures.residual)},
               {"validation_loss", number(figures.loss)}};
  const auto terms = trainer.term_names();
  for (std::size_t k = 0; k < terms.size() && k < figures.term_residuals.size(); ++k)
    json["residuals"][terms[k]] = number(figures.term_residuals[k]);
  const auto& fields = trainer.problem().fields;
  for (std::size_t f = 0; f < figures.l2.size(); ++f)
    if (!std::isnan(figures.l2[f])) json["l2"][fields[f].name] = number(figures.l2[f]);
  for (std::size_t f = 0; f < figures.h1.size(); ++f)
    if (!std::isnan(figures.h1[f])) json["h1"][fields[f].name] = number(figures.h1[f]);
  return json;
}

Json summarize(Trainer& trainer, bool fine) {
  const auto& config = trainer.config();
  Json json = {{"problem", config.problem_name},
               {"optimizer", config.optimizer["name"]},
               {"size", config.size},
               {"seed", config.seed},
               {"step", trainer.step()},
               {"parameters", trainer.parameters().size()},
               {"memory_bytes", trainer.engine_bytes() + trainer.optimizer_bytes()},
               {"evaluations", trainer.evaluations()},
               {"basis_updates", trainer.basis_updates()}};
  const double loss = trainer.loss();
  json["loss"] = number(loss);
  json["final"] = to_json(trainer, trainer.measure(fine));
  json["reference"] = trainer.reference_note();
  json["best"] = trainer.best_step() < 0 ? json["final"] : to_json(trainer, trainer.best());
  const auto& unknowns = trainer.problem().unknowns;
  for (std::size_t k = 0; k < unknowns.size(); ++k) {
    auto& entry = json["unknowns"][unknowns[k].name];
    entry["value"] = number(trainer.unknowns()[k]);
    if (unknowns[k].known_value) entry["known"] = *unknowns[k].known_value;
  }
  return json;
}

std::string fields_text(Trainer& trainer) {
  const Solution solution = trainer.solution(true);
  const pde::Problem& problem = solution.problem();
  const Grid grid = picture_grid(problem);
  const pde::Points points = grid.points();
  const auto values = solution.evaluate(field_values(problem), points);
  const auto truth = trainer.reference_values(points);
  const auto residuals = solution.residuals(points);

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
    std::vector<double> error(values[f].size());
    for (std::size_t i = 0; i < error.size(); ++i) error[i] = values[f][i] - truth[f][i];
    append_array(out, name + ".error", error);
  }
  for (const auto& [name, array] : residuals) append_array(out, "residual." + name, array);
  return out + "}}\n";
}

}  // namespace lather::train
