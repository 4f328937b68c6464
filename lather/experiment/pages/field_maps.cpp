#include "lather/experiment/pages/field_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/experiment/results.hpp"
#include "lather/report/draw/figure.hpp"
#include "lather/train/saved_run.hpp"

namespace lather::experiment {

namespace {

namespace fs = std::filesystem;

// The metric that decides which variant is best: an error if there is one.
const MetricEntry* judging_metric(const Experiment& experiment) {
  const MetricEntry* first = nullptr;
  for (const auto& metric : experiment.metrics) {
    if (metric.quantity == Quantity::l2 || metric.quantity == Quantity::h1) return &metric;
    if (!first && metric.ranked) first = &metric;
  }
  return first;
}

// The variant with the lowest value in the table, of those with a result in every seed, and what it is best by.
struct BestCell {
  const CellResult* cell = nullptr;
  std::string words;
};

BestCell best_cell(const ExperimentResult& result, const std::string& problem) {
  const MetricEntry* metric = judging_metric(*result.plan->experiment);
  BestCell best;
  double lowest = std::numeric_limits<double>::infinity(), lowest_of_all = lowest;
  for (const auto& cell : result.cells) {
    if (!metric || cell.cell->problem->name != problem) continue;
    const Measured measured = measure(result, *metric, cell);
    if (!measured.is_known()) continue;
    lowest_of_all = std::min(lowest_of_all, measured.centre());
    const auto rank = measured.rank_value();  // infinite if a seed has no result
    if (!rank || std::isinf(*rank) || !(measured.centre() < lowest)) continue;
    lowest = measured.centre();
    best.cell = &cell;
  }
  if (best.cell)
    best.words = fmt::format("the best here by {} in the table{}", metric->label,
                             lowest_of_all < lowest ? ", of those with a result in every seed" : "");
  return best;
}

// fields.json as the run left it, or made from its newest checkpoint. Throws Error if there is neither.
void require_fields(const fs::path& run) {
  if (is_there(run / "fields.json")) return;
  std::error_code ignored;
  if (!fs::is_directory(run / "checkpoints", ignored) || fs::is_empty(run / "checkpoints", ignored))
    throw Error(fmt::format(
        "{} kept neither fields nor a checkpoint; without this folder the same command trains it again",
        run.string()));
  std::vector<std::string> messages;
  const auto trainer = train::read_run_for_viewing(run, messages);
  write_file_atomically(run / "fields.json", train::fields_text(*trainer));
}

// For the parameters that the maps show: those of the best held-out step.
std::string numbers_of(const report::RunData& run) {
  std::string text = fmt::format("best held-out step {}", run.fields["step"].dump());
  if (!run.summary.is_object() || !run.summary.contains("best") || !run.summary["best"].contains("l2"))
    return text;
  for (const auto& [field, error] : run.summary["best"]["l2"].items())
    if (error.is_number())
      text += fmt::format(", relative L² error of {} {:.2e}", field, error.get<double>());
  return text;
}

class Maps {
 public:
  Maps(const ExperimentResult& result, MapsOnPage& drawn) : result_(result), drawn_(drawn) {}

  FieldMaps draw() {
    const MapsEntry& wanted = result_.plan->experiment->maps;
    for (const auto* problem : problems_of(result_)) {
      if (!wanted.shows(problem->name)) continue;
      const CellResult* shown = find_cell(result_, problem->name, wanted.variant);
      const BestCell best = best_cell(result_, problem->name);
      if (best.cell && best.cell != shown) add(*best.cell, best.words);
      if (shown) add(*shown, best.cell == shown ? best.words : "");
    }
    return std::move(maps_);
  }

 private:
  void add(const CellResult& cell, const std::string& which) {
    const auto& problem = *cell.cell->problem;
    const auto& variant = *cell.cell->variant;
    const RunRecord& run = cell.seeds.at(kPicturedSeed);
    const std::string what = fmt::format("{} with {}{}", result_.plan->problem_label(problem), variant.label,
                                         which.empty() ? "" : fmt::format(" ({})", which));
    if (run.status != RunStatus::done) {
      maps_.notes.push_back(fmt::format("No maps of {}: its run has not ended.", what));
      return;
    }
    if (const auto other = drawn_.find(run.folder); other != drawn_.end()) {
      maps_.notes.push_back(
          fmt::format("Maps of {}: see \"{}\", which has them of the same run.", what, other->second));
      return;
    }
    try {
      require_fields(run.folder);
      report::RunData data = report::read_run_data(run.folder);
      data.optimizer = variant.label;
      maps_.figures.push_back(
          {fmt::format("{}-maps-{}-{}", result_.plan->experiment->name, problem.name, variant.name),
           report::svg_figure({data}, {report::FigurePanel::maps}),
           fmt::format("{}: reference, prediction and its error, seed {}, {}", what, kPicturedSeed + 1,
                       numbers_of(data))});
      drawn_[run.folder] = result_.plan->experiment->title;
    } catch (const std::exception& error) {  // a page without a picture is better than none
      maps_.notes.push_back(fmt::format("No maps of {}: {}.", what, error.what()));
    }
  }

  const ExperimentResult& result_;
  MapsOnPage& drawn_;
  FieldMaps maps_;
};

}  // namespace

FieldMaps make_field_maps(const ExperimentResult& result) {
  MapsOnPage drawn;
  return make_field_maps(result, drawn);
}

FieldMaps make_field_maps(const ExperimentResult& result, MapsOnPage& drawn) {
  return Maps(result, drawn).draw();
}

}  // namespace lather::experiment
