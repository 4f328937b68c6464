#include "lather/report/draw/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "lather/core/error.hpp"
#include "lather/report/draw/colours.hpp"
#include "lather/report/draw/field_plane.hpp"
#include "lather/report/draw/glyphs.hpp"
#include "lather/report/draw/svg.hpp"
#include "lather/report/run_groups.hpp"

namespace lather::report {

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr double kHeight = 330, kTop = 62, kPlot = 214;  // of the picture, of its panels
constexpr double kLeft = 58, kMapStep = 330, kMapRoom = 216 + 62;
constexpr double kLabelLine = 31, kLabelGap = 12;
constexpr const char* kHeading = "font-weight=\"600\" font-size=\"13.5\"";
constexpr const char* kSub = "fill=\"#6a6f78\" font-size=\"11.5\"";

// What a curve shows: the worst error of all fields, or the residual if no error is known.
struct Curve {
  std::string name;                   // of its group
  std::vector<double> clock, figure;  // as a power of ten: -infinity for zero
};

bool has_errors(const RunData& run) {
  for (const auto& [name, column] : run.history.items())
    if (name.starts_with("l2.")) return true;
  return false;
}

Curve curve_of(const RunData& run, const std::string& name, bool errors, const char* clock) {
  Curve curve{name, {}, {}};
  const auto& times = run.history.at(clock);
  for (std::size_t i = 0; i < times.size(); ++i) {
    double worst = kUnknown;
    for (const auto& [quantity, column] : run.history.items())
      if ((errors ? quantity.starts_with("l2.") : quantity == "residual") && column[i].is_number() &&
          !(worst >= column[i].get<double>()))
        worst = column[i].get<double>();
    if (!(worst >= 0) || !times[i].is_number()) continue;
    curve.clock.push_back(times[i].get<double>());
    curve.figure.push_back(std::log10(worst));
  }
  return curve;
}

// Many labels go on below the curves.
double lowest_label(const Box& box, std::size_t labels) {
  return std::max(box.top + box.height - 8, box.top + 8 + kLabelLine * (static_cast<double>(labels) - 1));
}

void draw_curves(Svg& svg, const Box& box, const std::vector<Curve>& curves, const Axis& x, const Axis& y) {
  svg.axes(box, x, y, true);
  const auto height_of = [&](double value) { return std::max(0.0, y.share(value)); };
  struct Label {
    std::string name, colour;
    double y, value, sum;
    int runs;
  };
  std::vector<Label> labels;
  for (const auto& curve : curves) {
    if (curve.clock.empty()) continue;
    auto label =
        std::find_if(labels.begin(), labels.end(), [&](const Label& l) { return l.name == curve.name; });
    if (label == labels.end())
      label =
          labels.insert(label, {curve.name, categorical_colour(static_cast<int>(labels.size())), 0, 0, 0, 0});
    std::vector<Svg::Share> points;
    for (std::size_t i = 0; i < curve.clock.size(); ++i)
      points.push_back({x.share(curve.clock[i]), height_of(curve.figure[i])});
    svg.curve(box, points, label->colour, 1.8);
    svg.dot(box.left + points.back().x * box.width, box.top + (1 - points.back().y) * box.height, 3,
            label->colour);
    label->sum += curve.figure.back();
    ++label->runs;
  }
  for (auto& label : labels) {  // at the geometric mean of where its curves end
    label.value = label.sum / label.runs;
    label.y = box.top + (1 - height_of(label.value)) * box.height;
  }
  std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.y < b.y; });
  const double lowest = lowest_label(box, labels.size());
  for (std::size_t i = 1; i < labels.size(); ++i)
    labels[i].y = std::max(labels[i].y, labels[i - 1].y + kLabelLine);
  for (std::size_t i = labels.size(); i-- > 0;)  // and back up from the bottom
    labels[i].y = std::min(labels[i].y, i + 1 < labels.size() ? labels[i + 1].y - kLabelLine : lowest);
  for (const auto& label : labels) {
    const double left = box.left + box.width + kLabelGap;
    svg.text(left, label.y, label.name, fmt::format("fill=\"{}\" font-weight=\"600\"", label.colour));
    svg.text(left, label.y + 14, short_figure(std::pow(10, label.value)), kSub);
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

double last_figure(const Curve& curve) {
  return curve.figure.empty() ? std::numeric_limits<double>::infinity() : curve.figure.back();
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

// Curves of all runs with the axes they need, and which run ends lowest.
struct Curves {
  std::vector<Curve> curves;
  Axis x{0, 0, false, ""}, y{1e300, -1e300, true, ""};
  std::size_t best = 0;
  bool errors = false;
};

Curves curves_of(const std::vector<RunData>& runs, const std::vector<std::string>& names,
                 FigureClock wanted) {
  Curves all;
  all.errors = std::all_of(runs.begin(), runs.end(), has_errors);
  const bool timed = std::all_of(runs.begin(), runs.end(), [&](const RunData& r) {
    return !curve_of(r, "", all.errors, "seconds").clock.empty();
  });
  if (wanted == FigureClock::seconds && !timed) throw Error("not every run has its times");
  const bool seconds = wanted == FigureClock::seconds || (wanted == FigureClock::automatic && timed);
  all.x.name = seconds ? "seconds of training" : "steps";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    all.curves.push_back(curve_of(runs[i], names[i], all.errors, seconds ? "seconds" : "step"));
    const Curve& curve = all.curves.back();
    if (last_figure(curve) < last_figure(all.curves[all.best])) all.best = all.curves.size() - 1;
    for (const double t : curve.clock) all.x.high = std::max(all.x.high, t);
    for (const double f : curve.figure) {
      all.y.zero_at_low = all.y.zero_at_low || std::isinf(f);
      if (std::isfinite(f)) all.y.low = std::min(all.y.low, f), all.y.high = std::max(all.y.high, f);
    }
  }
  if (all.y.low > all.y.high) {
    if (!all.y.zero_at_low) throw Error("the runs have no history to draw");
    all.y.low = -1, all.y.high = 0;  // nothing but zeros
  }
  all.x.high = std::max(all.x.high, 1e-3);
  const double room = std::max(0.06 * (all.y.high - all.y.low), 0.02);
  all.y.low -= (all.y.zero_at_low ? 3 : 1) * room;
  all.y.high += room;
  return all;
}

// Where the next panel begins, or the picture ends: names of groups may be long.
double right_of_labels(const Box& curves, const std::vector<std::string>& names, bool maps) {
  constexpr double kUsual = 146, kNumbersOfMaps = 50, kMargin = 8;
  double widest = 0;
  for (const auto& name : names) widest = std::max(widest, room_for(name, kTextSize, true));
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

}  // namespace

std::string svg_figure(const std::vector<RunData>& runs, const FigureChoice& choice) {
  if (runs.empty()) throw Error("no run was given");
  const auto names = group_names(runs);
  if (shows_maps_alone(choice.panel) && runs.size() == 1) return svg_maps(runs[0], names[0], choice.panel);
  const Curves all = curves_of(runs, names, choice.clock);
  const RunData& best = runs[all.best];
  if (shows_maps_alone(choice.panel)) return svg_maps(best, names[all.best], choice.panel);
  const auto problems = problem_names(runs);
  const std::string problem =
      problems.size() == 1 ? problems[0] : fmt::format("{} problems", problems.size());
  const bool maps = choice.panel == FigurePanel::all && !first_field(best).empty();
  const Box curves{kLeft, kTop, 258, kPlot};
  const double maps_left = right_of_labels(curves, names, maps);
  const double bottom = lowest_label(curves, std::set(names.begin(), names.end()).size()) + 30;
  Svg svg(maps ? maps_left + kMapStep + kMapRoom : maps_left, std::max(kHeight, bottom),
          fmt::format("{}: {}", problem, all.errors ? "errors" : "residuals"));
  svg.text(kLeft, 30, all.errors ? "Relative L² error" : "Residual", kHeading);
  svg.text(kLeft, 47,
           runs.size() == 1 ? problem : fmt::format("{}, {} runs{}", problem, runs.size(), times_of(runs)),
           kSub);
  draw_curves(svg, curves, all.curves, all.x, all.y);
  if (maps) draw_prediction(svg, maps_left, best, names[all.best]);
  if (maps && has_array(best, ".error")) draw_error(svg, maps_left + kMapStep, best, {});
  return std::move(svg).finish();
}

}  // namespace lather::report
