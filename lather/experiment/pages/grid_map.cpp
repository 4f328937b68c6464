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
constexpr double kHeading = 24, kBelow = 44;
// A page is 1,184 wide: two panels of nine columns get there with their numbers nine tenths as large.
constexpr double kWidest = 1320;

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

// Panels of one size in rows, each with the names of the methods on its left.
struct Layout {
  double left, panel_width, step, top, row_height;
  std::size_t across;
  std::vector<std::vector<std::string>> titles;
};

Layout layout_of(const GridMap& map) {
  Layout layout{};
  double title_width = 0;
  std::size_t lines = 1;  // of the longest title
  for (const auto& row : map.rows) layout.left = std::max(layout.left, 20 + report::room_for(row, kTextSize));
  layout.panel_width = kField * static_cast<double>(map.columns.size());
  for (const auto& panel : map.panels) {
    layout.titles.push_back(
        report::bold_lines(panel.title, kTextSize, std::max(layout.panel_width, kNarrowTitle)));
    lines = std::max(lines, layout.titles.back().size());
    for (const auto& words : layout.titles.back())
      title_width = std::max(title_width, report::room_for(words, kTextSize, true));
  }
  layout.step = std::max(layout.panel_width, title_width) + kPanelGap;
  layout.top = kTopOfMaps + kTitleLine * static_cast<double>(lines - 1);
  layout.row_height = layout.top - kHeading + kLine * static_cast<double>(map.rows.size()) + kBelow;
  const double fit = std::max(1.0, std::floor((kWidest - layout.left) / layout.step));
  layout.across =
      std::clamp<std::size_t>(static_cast<std::size_t>(fit), 1, std::max<std::size_t>(1, map.panels.size()));
  return layout;
}

void draw_row_names(Svg& svg, const GridMap& map, double right, double top) {
  for (std::size_t r = 0; r < map.rows.size(); ++r)
    svg.text(right, top + kLine * static_cast<double>(r) + 12.5, map.rows[r], "", "end");
}

// The fields from this corner on, what is chosen, and the columns' names below.
void draw_panel(Svg& svg, const GridMap& map, const GridMapPanel& panel, double left, double top) {
  const auto box_of = [&](const GridMapField& field) {
    return Box{left + kField * static_cast<double>(field.column),
               top + kLine * static_cast<double>(field.row), kField, kLine};
  };
  for (const auto& field : panel.fields) draw_field(svg, box_of(field), field, best_of(panel));
  for (const auto& field : panel.fields)
    if (field.chosen) draw_frame(svg, box_of(field));
  const double bottom = top + kLine * static_cast<double>(map.rows.size());
  for (std::size_t c = 0; c < map.columns.size(); ++c)
    svg.text(left + kField * (static_cast<double>(c) + 0.5), bottom + 15, map.columns[c], "", "middle");
  svg.text(left + kField * static_cast<double>(map.columns.size()) / 2, bottom + 32, map.column_name,
           "fill=\"#6a6f78\"", "middle");
}

}  // namespace

std::string svg_grid_map(const GridMap& map) {
  const Layout layout = layout_of(map);
  const std::size_t rows = (map.panels.size() + layout.across - 1) / layout.across;
  Svg svg(std::max(layout.left + static_cast<double>(layout.across) * layout.step,
                   24 + report::room_for(map.title, kTextSize)),
          kHeading + static_cast<double>(rows) * layout.row_height, map.title);
  svg.text(12, 18, map.title, "fill=\"#6a6f78\"");
  for (std::size_t p = 0; p < map.panels.size(); ++p) {
    const double left = layout.left + static_cast<double>(p % layout.across) * layout.step,
                 top = layout.top + static_cast<double>(p / layout.across) * layout.row_height;
    if (p % layout.across == 0) draw_row_names(svg, map, layout.left - 8, top);
    svg.title(left, top - 10, layout.titles[p]);
    draw_panel(svg, map, map.panels[p], left, top);
  }
  return std::move(svg).finish();
}

}  // namespace lather::experiment
