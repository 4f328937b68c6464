#include "lather/report/draw/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "lather/core/error.hpp"
#include "lather/report/draw/colours.hpp"
#include "lather/report/draw/field_plane.hpp"
#include "lather/report/draw/glyphs.hpp"
#include "lather/report/draw/panels.hpp"
#include "lather/report/draw/run_curves.hpp"
#include "lather/report/draw/svg.hpp"
#include "lather/report/run_groups.hpp"

namespace lather::report {

namespace {

using Json = nlohmann::json;

constexpr double kHeight = 330, kTop = 62, kPlot = 214;  // of the picture, of its panels
constexpr double kLeft = 58, kMapStep = 330, kMapRoom = 216 + 62;
constexpr double kLabelLine = 31, kLabelGap = 12;
constexpr const char* kHeading = "font-weight=\"600\" font-size=\"13.5\"";
constexpr const char* kSub = "fill=\"#6a6f78\" font-size=\"11.5\"";

// Many labels go on below the curves.
double lowest_label(const Box& box, std::size_t labels) {
  return std::max(box.top + box.height - 8, box.top + 8 + kLabelLine * (static_cast<double>(labels) - 1));
}

// Where the curves of a method end: the geometric mean.
struct CurveLabel {
  std::string name, colour;
  std::optional<double> exponent;  // none: all of its seeds diverged
  double y = 0;
};

std::vector<CurveLabel> labels_of(const PanelFigure& figure) {
  const auto names = legend_labels(figure);
  std::vector<CurveLabel> labels;
  for (std::size_t m = 0; m < names.size(); ++m) {
    double sum = 0;
    int ends = 0;
    for (const auto& curve : figure.panels[0].curves)
      if (curve.method == m && !curve.diverged && !curve.value.empty())
        sum += std::log10(curve.value.back()), ++ends;
    labels.push_back({names[m], categorical_colour(figure.methods[m].colour), {}});
    if (ends > 0) labels.back().exponent = sum / ends;
  }
  return labels;
}

// From top to bottom, none over another.
void place_labels(std::vector<CurveLabel>& labels, const Box& box, const Axis& y) {
  for (auto& label : labels) {
    const double share = label.exponent ? std::clamp(y.share(*label.exponent), 0.0, 1.0) : 1;
    label.y = box.top + (1 - share) * box.height;
  }
  std::stable_sort(labels.begin(), labels.end(),
                   [](const CurveLabel& a, const CurveLabel& b) { return a.y < b.y; });
  const double lowest = lowest_label(box, labels.size());
  for (std::size_t i = 1; i < labels.size(); ++i)
    labels[i].y = std::max(labels[i].y, labels[i - 1].y + kLabelLine);
  for (std::size_t i = labels.size(); i-- > 0;)  // and back up from the bottom
    labels[i].y = std::min(labels[i].y, i + 1 < labels.size() ? labels[i + 1].y - kLabelLine : lowest);
}

// One panel, its legend beside the ends of the curves.
void draw_curves(Svg& svg, const Box& box, const PanelFigure& figure) {
  const Panel& panel = figure.panels[0];
  draw_panel(svg, box, panel, figure);
  const auto axes = axes_of(panel, figure);
  for (const auto& curve : panel.curves) {
    if (curve.diverged || curve.value.empty()) continue;
    const double height = std::clamp(axes.y.share(std::log10(curve.value.back())), 0.0, 1.0);
    svg.dot(box.left + axes.x.share(curve.x.back()) * box.width, box.top + (1 - height) * box.height, 3,
            categorical_colour(figure.methods[curve.method].colour));
  }
  auto labels = labels_of(figure);
  place_labels(labels, box, axes.y);
  for (const auto& label : labels) {
    const double left = box.left + box.width + kLabelGap;
    svg.text(left, label.y, label.name, fmt::format("fill=\"{}\" font-weight=\"600\"", label.colour));
    if (label.exponent) svg.text(left, label.y + 14, short_figure(std::pow(10, *label.exponent)), kSub);
  }
}

Axis range_of(std::vector<double> values, bool logarithmic) {
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) return {0, 1, logarithmic, ""};
  std::sort(values.begin(), values.end());
  // Where an error changes sign its logarithm is unbounded below: part of the map may be below the scale.
  const double low = values[logarithmic ? values.size() / 16 : 0], high = values.back();
  return high > low ? Axis{low, high, logarithmic, ""} : Axis{low - 0.5, high + 0.5, logarithmic, ""};
}

void draw_map(Svg& svg, const Box& box, const FieldPlane& plane, const std::vector<double>& values,
              Axis scale) {
  Svg::Colours colours = sequential_colour;
  if (!scale.logarithmic && scale.low < 0 && scale.high > 0) {
    scale.high = std::max(-scale.low, scale.high);
    scale.low = -scale.high;
    colours = diverging_colour;
  }
  svg.contours(box, plane.columns, values, scale, colours, plane.places);
  svg.axes(box, plane.x, plane.y, false);
  svg.colour_bar({box.left + box.width + 10, box.top, 9, box.height}, scale, colours);
  for (const auto& line : plane.outline) svg.curve(box, line, "#30343b", 1);
}

bool can_be_drawn(const Json& fields) {
  if (!fields.is_object() || fields["arrays"].empty() || fields["axes"].size() < 2) return false;
  return fields["axes"][0].size() > 1 && fields["axes"][1].size() > 1;
}

// How long the runs trained, as measured, which may be less than they were allowed.
std::string times_of(const std::vector<RunData>& runs) {
  double shortest = kUnknown, longest = kUnknown;
  for (const auto& run : runs) {
    if (!run.summary.is_object() || !run.summary.contains("seconds") || !run.summary["seconds"].is_number())
      return "";
    const double seconds = run.summary["seconds"].get<double>();
    if (!(shortest <= seconds)) shortest = seconds;
    if (!(longest >= seconds)) longest = seconds;
  }
  const auto text = [](double s) { return s < 10 ? fmt::format("{:.2g}", s) : fmt::format("{:.0f}", s); };
  const std::string low = text(shortest), high = text(longest);
  return low == high ? fmt::format(", {} s each", low) : fmt::format(", {} to {} s each", low, high);
}

// Where a map is drawn: all the space there is, or as much as its proportions need.
Box map_box(double left, const FieldPlane& plane) {
  constexpr double kMapWidth = 216;
  Box box{left, kTop, kMapWidth, kPlot};
  if (!plane.proportional) return box;
  const double shape = (plane.x.high - plane.x.low) / (plane.y.high - plane.y.low);
  box.width = std::min(kMapWidth, kPlot * shape);
  box.height = std::min(kPlot, kMapWidth / shape);
  return box;
}

// The first field that is neither residual, error nor reference.
std::string first_field(const RunData& run) {
  if (can_be_drawn(run.fields))
    for (const auto& [name, values] : run.fields["arrays"].items())
      if (!name.starts_with("residual.") && !name.ends_with(".error") && !name.ends_with(".reference"))
        return name;
  return "";
}

bool has_array(const RunData& run, const char* ending) {
  const std::string field = first_field(run);
  return !field.empty() && run.fields["arrays"].contains(field + ending);
}

void draw_field(Svg& svg, double left, const RunData& run, const std::string& array, const std::string& words,
                const std::optional<Axis>& scale = {}) {
  const FieldPlane plane = field_plane(run.fields);
  svg.text(left, 30,
           plane.places.empty()
               ? fmt::format("{}({}, {})", first_field(run), run.fields["coordinates"][0].get<std::string>(),
                             run.fields["coordinates"][1].get<std::string>())
               : fmt::format("{}({}, {})", first_field(run), plane.x.name, plane.y.name),
           kHeading);
  svg.text(left, 47, words, kSub);
  const auto values = plane.values_on(run.fields["arrays"][array]);
  draw_map(svg, map_box(left, plane), plane, values, scale.value_or(range_of(values, false)));
}

void draw_prediction(Svg& svg, double left, const RunData& best, const std::string& name,
                     const std::optional<Axis>& scale = {}) {
  draw_field(svg, left, best, first_field(best), fmt::format("predicted by {}", name), scale);
}

void draw_reference(Svg& svg, double left, const RunData& best, const std::optional<Axis>& scale = {}) {
  draw_field(svg, left, best, first_field(best) + ".reference", "reference", scale);
}

// `name`: of the run, if the error is drawn alone.
void draw_error(Svg& svg, double left, const RunData& best, const std::optional<std::string>& name) {
  const FieldPlane plane = field_plane(best.fields);
  const std::string field = first_field(best);
  auto sizes = plane.values_on(best.fields["arrays"][field + ".error"]);
  for (double& v : sizes) v = v == 0 ? -300 : std::log10(std::abs(v));
  svg.text(left, 30, name ? fmt::format("Error of {}", field) : "Its error", kHeading);
  svg.text(left, 47, fmt::format("{}, against the reference", name.value_or("magnitude")), kSub);
  draw_map(svg, map_box(left, plane), plane, sizes, range_of(sizes, true));
}

// The scale for reference and prediction side by side, from the values of both.
Axis common_scale(const RunData& run) {
  const FieldPlane plane = field_plane(run.fields);
  std::vector<double> values;
  for (const char* ending : {"", ".reference"})
    for (const double v : plane.values_on(run.fields["arrays"][first_field(run) + ending]))
      values.push_back(v);
  return range_of(std::move(values), false);
}

void require_maps(const RunData& run, FigurePanel panel) {
  if (first_field(run).empty())
    throw Error(fmt::format("{} has no field over two coordinates to draw", run.name));
  if (panel == FigurePanel::prediction) return;
  for (const char* ending : {".reference", ".error"})
    if (!has_array(run, ending))
      throw Error(fmt::format("{} has no {}: no reference is known", run.name, ending + 1));
}

// Where the next panel begins, or the picture ends: names of groups may be long.
double right_of_labels(const Box& curves, const PanelFigure& figure, bool maps) {
  constexpr double kUsual = 146, kNumbersOfMaps = 50, kMargin = 8;
  double widest = 0;
  for (const auto& label : legend_labels(figure)) widest = std::max(widest, room_for(label, kTextSize, true));
  return curves.left + curves.width +
         std::max(kUsual, kLabelGap + widest + (maps ? kNumbersOfMaps : kMargin));
}

bool shows_maps_alone(FigurePanel panel) { return panel != FigurePanel::all && panel != FigurePanel::curves; }

std::string svg_maps(const RunData& run, const std::string& name, FigurePanel panel) {
  require_maps(run, panel);
  const bool row = panel == FigurePanel::maps;
  Svg svg(kLeft + kMapRoom + (row ? 2 * kMapStep : 0), kHeight, fmt::format("{}: maps", problem_name(run)));
  switch (panel) {
    case FigurePanel::reference: draw_reference(svg, kLeft, run); break;
    case FigurePanel::prediction: draw_prediction(svg, kLeft, run, name); break;
    case FigurePanel::error: draw_error(svg, kLeft, run, name); break;
    default: {
      const Axis scale = common_scale(run);
      draw_reference(svg, kLeft, run, scale);
      draw_prediction(svg, kLeft + kMapStep, run, name, scale);
      draw_error(svg, kLeft + 2 * kMapStep, run, {});
    }
  }
  return std::move(svg).finish();
}

std::string capitalized(std::string words) {
  words[0] = static_cast<char>(std::toupper(words[0]));
  return words;
}

// Curves with their labels and, if wanted and there are fields, the maps of the best run.
std::string svg_of_one_problem(const std::vector<RunData>& runs, const RunCurves& curves, bool with_maps) {
  const RunData& best = runs[curves.best];
  const PanelFigure& figure = curves.figure;
  const std::string problem = problem_name(best);
  const bool maps = with_maps && !first_field(best).empty();
  const Box box{kLeft, kTop, 258, kPlot};
  const double maps_left = right_of_labels(box, figure, maps);
  const double bottom = lowest_label(box, figure.methods.size()) + 30;
  Svg svg(maps ? maps_left + kMapStep + kMapRoom : maps_left, std::max(kHeight, bottom), figure.title);
  svg.text(kLeft, 30, capitalized(figure.y_name), kHeading);
  svg.text(kLeft, 47,
           runs.size() == 1 ? problem : fmt::format("{}, {} runs{}", problem, runs.size(), times_of(runs)),
           kSub);
  draw_curves(svg, box, figure);
  if (maps) draw_prediction(svg, maps_left, best, method_names(runs)[curves.best]);
  if (maps && has_array(best, ".error")) draw_error(svg, maps_left + kMapStep, best, {});
  return std::move(svg).finish();
}

}  // namespace

std::string svg_figure(const std::vector<RunData>& runs, const FigureChoice& choice) {
  if (runs.empty()) throw Error("no run was given");
  const auto names = group_names(runs);
  if (shows_maps_alone(choice.panel) && runs.size() == 1) return svg_maps(runs[0], names[0], choice.panel);
  const RunCurves curves = curves_of(runs, choice);
  if (shows_maps_alone(choice.panel)) return svg_maps(runs[curves.best], names[curves.best], choice.panel);
  if (curves.figure.panels.size() > 1) return svg_panels(curves.figure);
  return svg_of_one_problem(runs, curves, choice.panel == FigurePanel::all);
}

}  // namespace lather::report
