#include "lather/experiment/pages/grid_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lather/report/draw/colours.hpp"
#include "lather/report/draw/glyphs.hpp"
#include "lather/report/draw/svg.hpp"

namespace lather::experiment {

using report::Box;
using report::kTextSize;
using report::kTitleLine;
using report::Svg;

namespace {

constexpr double kField = 54, kLine = 17, kPanelGap = 24, kTopOfMaps = 58, kDecades = 3, kNarrowTitle = 120;

// Of the positive values: those of zero have the same colour.
double best_of(const GridMapPanel& panel) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& field : panel.fields)
    if (field.value > 0) best = std::min(best, field.value);
  return best;
}

void draw_field(Svg& svg, const Box& box, const GridMapField& field, double best) {
  if (!std::isfinite(field.value)) {
    svg.rectangle(box, "#e4e6ea");
    svg.text(box.left + box.width / 2, box.top + 12, "no value", "font-size=\"9.5\" fill=\"#6a6f78\"",
             "middle");
    return;
  }
  const double decades = field.value > 0 ? std::log10(field.value / best) : 0;
  const double share = std::clamp(decades / kDecades, 0.0, 1.0);  // dark: good
  svg.rectangle(box, report::sequential_colour(share));
  svg.text(box.left + box.width / 2, box.top + 12, fmt::format("{:.1e}", field.value),
           fmt::format("font-size=\"9.5\" fill=\"{}\"", share < 0.55 ? "#ffffff" : "#14161a"), "middle");
}

// Around the chosen field, on top of its neighbours.
void draw_frame(Svg& svg, const Box& box) {
  const double right = box.left + box.width, bottom = box.top + box.height;
  const std::string colour = "#d03a2b";
  svg.line(box.left, box.top, right, box.top, colour, 2);
  svg.line(box.left, bottom, right, bottom, colour, 2);
  svg.line(box.left, box.top, box.left, bottom, colour, 2);
  svg.line(right, box.top, right, bottom, colour, 2);
}

}  // namespace

std::string svg_grid_map(const GridMap& map) {
  double left = 0, title_width = 0;
  for (const auto& row : map.rows) left = std::max(left, 20 + report::room_for(row, kTextSize));
  const double panel_width = kField * static_cast<double>(map.columns.size());
  std::vector<std::vector<std::string>> titles;
  std::size_t lines = 1;  // of the longest title
  for (const auto& panel : map.panels) {
    titles.push_back(report::bold_lines(panel.title, kTextSize, std::max(panel_width, kNarrowTitle)));
    lines = std::max(lines, titles.back().size());
    for (const auto& words : titles.back())
      title_width = std::max(title_width, report::room_for(words, kTextSize, true));
  }
  const double step = std::max(panel_width, title_width) + kPanelGap,
               top = kTopOfMaps + kTitleLine * static_cast<double>(lines - 1),
               bottom = top + kLine * static_cast<double>(map.rows.size());
  Svg svg(std::max(left + static_cast<double>(map.panels.size()) * step,
                   24 + report::room_for(map.title, kTextSize)),
          bottom + 44, map.title);
  svg.text(12, 18, map.title, "fill=\"#6a6f78\"");
  for (std::size_t r = 0; r < map.rows.size(); ++r)
    svg.text(left - 8, top + kLine * static_cast<double>(r) + 12.5, map.rows[r], "", "end");
  for (std::size_t p = 0; p < map.panels.size(); ++p) {
    const auto& panel = map.panels[p];
    const double at = left + static_cast<double>(p) * step;
    svg.title(at, top - 10, titles[p]);
    const auto box_of = [&](const GridMapField& field) {
      return Box{at + kField * static_cast<double>(field.column),
                 top + kLine * static_cast<double>(field.row), kField, kLine};
    };
    for (const auto& field : panel.fields) draw_field(svg, box_of(field), field, best_of(panel));
    for (const auto& field : panel.fields)
      if (field.chosen) draw_frame(svg, box_of(field));
    for (std::size_t c = 0; c < map.columns.size(); ++c)
      svg.text(at + kField * (static_cast<double>(c) + 0.5), bottom + 15, map.columns[c], "", "middle");
    svg.text(at + panel_width / 2, bottom + 32, map.column_name, "fill=\"#6a6f78\"", "middle");
  }
  return std::move(svg).finish();
}

}  // namespace lather::experiment
