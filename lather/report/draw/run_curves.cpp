#include "lather/report/draw/run_curves.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/report/draw/seed_curves.hpp"
#include "lather/report/run_groups.hpp"

namespace lather::report {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<CurvePoint> points_of(const RunData& run, Quantity quantity) {
  std::vector<CurvePoint> points;
  const auto &steps = run.history.at("step"), &seconds = run.history.at("seconds");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    double largest = kUnknown;
    for (const auto& [name, column] : run.history.items())
      if (is_recorded_in(quantity, name) && column[i].is_number() && !(largest >= column[i].get<double>()))
        largest = column[i].get<double>();
    if (largest >= 0)
      points.push_back({steps[i].get<double>(), seconds[i].is_number() ? seconds[i].get<double>() : kNever,
                        value_from(quantity, largest)});
  }
  return points;
}

bool has_errors(const RunData& run) {
  for (const auto& [name, column] : run.history.items())
    if (is_recorded_in(Quantity::l2, name)) return true;
  return false;
}

std::vector<SeedCurve> histories_of(const std::vector<RunData>& runs, Quantity quantity, bool required) {
  std::vector<SeedCurve> curves;
  bool any = false;
  for (const auto& run : runs) {
    curves.push_back({points_of(run, quantity), has_diverged(run.summary)});
    any = any || !curves.back().points.empty();
    if (required && curves.back().points.empty())
      throw Error(fmt::format("the history of {} has no {} to draw", run.name, name_of(quantity)));
  }
  if (!any) throw Error("the runs have no history to draw");
  return curves;
}

PanelClock clock_of(const std::vector<SeedCurve>& curves, FigureClock wanted) {
  const bool timed = std::all_of(curves.begin(), curves.end(), [](const SeedCurve& curve) {
    return curve.points.empty() ||
           std::any_of(curve.points.begin(), curve.points.end(),
                       [](const CurvePoint& point) { return point.seconds < kNever; });
  });
  if (wanted == FigureClock::seconds && !timed) throw Error("not every run has its times");
  return timed && wanted != FigureClock::steps ? PanelClock::seconds : PanelClock::steps;
}

std::size_t lowest_of(const std::vector<SeedCurve>& curves) {
  std::size_t lowest = 0;
  const auto end = [](const SeedCurve& curve) {
    return curve.points.empty() ? kNever : curve.points.back().value;
  };
  for (std::size_t i = 1; i < curves.size(); ++i)
    if (end(curves[i]) < end(curves[lowest])) lowest = i;
  return lowest;
}

// "adam", "adam, 3 seeds", "adam, 2 to 3 seeds": by the panels it is in.
std::string with_seeds(const std::string& name, const std::vector<std::size_t>& counts) {
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  if (*most == 1) return name;
  return *least == *most ? fmt::format("{}, {} seeds", name, *most)
                         : fmt::format("{}, {} to {} seeds", name, *least, *most);
}

bool is_drawn(const SeedCurve& curve) { return curve.diverged || !curve.points.empty(); }

// Each one once.
std::vector<std::string> methods_drawn(const std::vector<SeedCurve>& curves,
                                       const std::vector<std::string>& names) {
  std::vector<std::string> methods;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (is_drawn(curves[i]) && std::find(methods.begin(), methods.end(), names[i]) == methods.end())
      methods.push_back(names[i]);
  return methods;
}

}  // namespace

RunCurves curves_of(const std::vector<RunData>& runs, const FigureChoice& choice) {
  const bool errors = std::all_of(runs.begin(), runs.end(), has_errors);
  const Quantity quantity = choice.quantity.value_or(errors ? Quantity::l2 : Quantity::residual);
  const auto curves = histories_of(runs, quantity, choice.quantity.has_value());
  const PanelClock clock = clock_of(curves, choice.clock);
  const auto join = choice.seeds == FigureSeeds::together ? seeds_together : seeds_apart;
  const auto problems = problem_names(runs), names = method_names(runs);
  RunCurves all{{}, lowest_of(curves)};
  PanelFigure& figure = all.figure;
  figure.y_name = axis_name(quantity);
  figure.x_name = clock == PanelClock::seconds ? "seconds of training" : "steps";
  figure.title = fmt::format("{}: {}", fmt::join(problems, ", "), figure.y_name);
  for (const auto& problem : problems) figure.panels.push_back({problem, {}});
  for (const auto& method : methods_drawn(curves, names)) {
    std::vector<std::size_t> counts;
    for (auto& panel : figure.panels) {
      std::vector<SeedCurve> seeds;
      for (std::size_t i = 0; i < runs.size(); ++i)
        if (names[i] == method && problem_name(runs[i]) == panel.title && is_drawn(curves[i]))
          seeds.push_back(curves[i]);
      if (seeds.empty()) continue;
      counts.push_back(seeds.size());
      for (auto& curve : join(seeds, clock, figure.methods.size())) panel.curves.push_back(std::move(curve));
    }
    figure.methods.push_back({with_seeds(method, counts), static_cast<int>(figure.methods.size())});
  }
  return all;
}

}  // namespace lather::report
