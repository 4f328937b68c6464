#include "lather/experiment/pages/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "lather/core/files.hpp"
#include "lather/experiment/pages/change_curves.hpp"
#include "lather/experiment/pages/field_maps.hpp"
#include "lather/experiment/pages/method_colours.hpp"
#include "lather/experiment/pages/setting_curves.hpp"
#include "lather/report/draw/pdf.hpp"
#include "lather/report/draw/seed_curves.hpp"

namespace lather::experiment {

namespace {

namespace fs = std::filesystem;

// The curve of a method, then each of its seeds that diverged.
void add_method(Panel& panel, const CellResult& cell, const FigureEntry& figure, std::size_t method) {
  std::vector<report::SeedCurve> seeds;
  for (const auto& run : cell.seeds)
    if (run.status == RunStatus::done)
      seeds.push_back({curve_of(run.folder, figure.quantity, figure.task_metric), has_diverged(run)});
  const auto clock = figure.over_seconds ? report::PanelClock::seconds : report::PanelClock::steps;
  for (auto& curve : report::seeds_together(seeds, clock, method)) panel.curves.push_back(std::move(curve));
}

// The name of a setting's path in a picture.
std::string last_word(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::size_t index_in(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

// The axis that most methods search; the first of them if several tie.
std::string common_axis(const ExperimentResult& result) {
  std::vector<std::string> axes;
  std::vector<int> counts;
  for (const auto& cell : result.cells)
    for (const auto& setting : cell.judged.empty() ? Settings{} : cell.cell->candidates.front()) {
      const std::size_t axis = index_in(axes, setting.path);
      counts.resize(axes.size());
      ++counts[axis];
    }
  const auto most = std::max_element(counts.begin(), counts.end());
  return most == counts.end() ? "" : axes[static_cast<std::size_t>(most - counts.begin())];
}

// The part of a candidate that is not in its column.
std::string row_name(const VariantEntry& variant, const Settings& candidate, const std::string& axis) {
  std::string name = variant.label;
  for (const auto& [path, value, where] : candidate)
    if (path != axis) name += fmt::format(", {} {}", last_word(path), value);
  return name;
}

std::string column_of(const Settings& candidate, const std::string& axis) {
  for (const auto& [path, value, where] : candidate)
    if (path == axis) return value;
  return "";
}

// In numerical order, as every method may have its own values.
std::vector<std::string> columns_of(const ExperimentResult& result, const std::string& axis) {
  std::vector<std::string> columns;
  for (const auto& cell : result.cells)
    if (!cell.judged.empty())
      for (const auto& candidate : cell.cell->candidates) index_in(columns, column_of(candidate, axis));
  std::stable_sort(columns.begin(), columns.end(), [](const std::string& a, const std::string& b) {
    return std::strtod(a.c_str(), nullptr) < std::strtod(b.c_str(), nullptr);
  });
  return columns;
}

void write_picture(const fs::path& folder, const std::string& name, const std::string& svg) {
  write_file_atomically(folder / (name + ".svg"), svg);
  write_file_atomically(folder / (name + ".pdf"), report::pdf_of(svg));
}

// The whole figure and, if there are several panels, each one alone.
void write_figure(const ExperimentResult& result, const FigureEntry& figure, const fs::path& folder) {
  const PanelFigure drawing = make_figure(result, figure);
  const std::string name = fmt::format("{}-{}", result.plan->experiment->name, figure.name);
  write_picture(folder, name, svg_panels(drawing));
  const auto problems = problems_of(result);
  for (std::size_t i = 0; drawing.panels.size() > 1 && i < drawing.panels.size(); ++i) {
    PanelFigure alone = drawing;
    alone.panels = {drawing.panels[i]};
    alone.columns = 1;
    write_picture(folder, name + "-" + problems[i]->name, svg_panels(alone));
  }
}

}  // namespace

PanelFigure make_figure(const ExperimentResult& result, const FigureEntry& figure) {
  PanelFigure drawing;
  drawing.title = figure.title.empty() ? result.plan->experiment->title : figure.title;
  drawing.x_name = figure.over_seconds ? "seconds" : "steps";
  drawing.y_name = figure.task_metric.empty() ? axis_name(figure.quantity) : figure.task_metric;
  auto variants = variants_of(result);
  const auto& drawn = figure.variants;
  std::erase_if(variants, [&](const VariantEntry* variant) {
    return !drawn.empty() && std::find(drawn.begin(), drawn.end(), variant->name) == drawn.end();
  });
  const auto colours = method_colours(*result.plan->experiment);
  for (const auto* variant : variants) {
    const int colour = colours.at(variant->name);
    drawing.methods.push_back({variant->label, colour, is_dashed(*variant, colour)});
  }
  if (!figure.over_setting.empty()) {
    draw_over_setting(result, figure, variants, drawing);
    return drawing;
  }
  if (figure.around_changes) {
    draw_around_changes(result, variants, drawing);
    return drawing;
  }
  for (const auto* problem : problems_of(result)) {
    auto& panel = drawing.panels.emplace_back(Panel{result.plan->problem_label(*problem), {}});
    for (std::size_t v = 0; v < variants.size(); ++v)
      if (const CellResult* cell = find_cell(result, problem->name, variants[v]->name))
        add_method(panel, *cell, figure, v);
  }
  return drawing;
}

GridMap make_grid_map(const ExperimentResult& result) {
  GridMap map;
  const std::string axis = common_axis(result);
  map.title = tuning_measure(*result.plan->experiment, *result.plan->budget) + "; framed: chosen";
  map.column_name = last_word(axis);
  map.columns = columns_of(result, axis);
  for (const auto* problem : problems_of(result)) {
    GridMapPanel panel{result.plan->problem_label(*problem), {}};
    for (const auto& cell : result.cells) {
      if (cell.cell->problem != problem || cell.judged.empty()) continue;
      for (std::size_t i = 0; i < cell.judged.size(); ++i) {
        const auto& candidate = cell.cell->candidates[i];
        panel.fields.push_back(
            {index_in(map.rows, row_name(*cell.cell->variant, candidate, axis)),
             index_in(map.columns, column_of(candidate, axis)), cell.judged[i],
             row_name(*cell.cell->variant, candidate, "") == row_name(*cell.cell->variant, cell.chosen, "")});
      }
    }
    if (!panel.fields.empty()) map.panels.push_back(std::move(panel));
  }
  return map;
}

std::vector<std::string> write_figures(const ExperimentResult& result, const fs::path& folder) {
  for (const auto& figure : result.plan->experiment->figures) write_figure(result, figure, folder);
  if (const GridMap map = make_grid_map(result); !map.panels.empty())
    write_picture(folder, result.plan->experiment->name + "-grid", svg_grid_map(map));
  const FieldMaps maps = make_field_maps(result);
  for (const auto& map : maps.figures) write_picture(folder, map.name, map.svg);
  return maps.notes;
}

}  // namespace lather::experiment
