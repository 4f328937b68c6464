#include "lather/experiment/verdicts/ratio.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace lather::experiment {

namespace {

// An exact zero counts as the smallest value, not as a missing one.
constexpr double kLeast = 1e-300;
bool has_value(double v) { return std::isfinite(v) && v >= 0; }
double logarithm(double v) { return std::log(std::max(v, kLeast)); }

// Adds the pairs of one problem; their logarithms go to `logarithms`.
void add_pairs(const ExperimentResult& result, const MetricEntry& metric, const CellResult* mine,
               const CellResult* theirs, Ratio& ratio, Measured& logarithms) {
  if (!mine || !theirs) return;
  const auto a = values_by_seed(result, metric, *mine), b = values_by_seed(result, metric, *theirs);
  for (std::size_t s = 0; s < std::min(a.size(), b.size()); ++s) {
    if (!is_result(mine->seeds[s]) || !is_result(theirs->seeds[s])) continue;  // not finished yet
    if (has_value(a[s]) && has_value(b[s])) logarithms.values.push_back(logarithm(a[s]) - logarithm(b[s]));
    ratio.lost += !has_value(a[s]) && has_value(b[s]);
    ratio.other += has_value(a[s]) && !has_value(b[s]);
  }
}

// The half-width, in standard errors, of the 95 % interval around the mean of n values: Student's t with
// n - 1 degrees of freedom, beyond ten of them by the first terms of its expansion around the normal
// distribution's 1.96 (exact to 0.003).
double standard_errors_of_interval(std::size_t n) {
  constexpr std::array<double, 10> kStudent = {12.706, 4.303, 3.182, 2.776, 2.571,
                                               2.447,  2.365, 2.306, 2.262, 2.228};
  if (n < 2) return 0;
  if (n - 2 < kStudent.size()) return kStudent[n - 2];
  const double z = 1.95996, freedom = static_cast<double>(n - 1);
  return z + (std::pow(z, 3) + z) / (4 * freedom) +
         (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / (96 * freedom * freedom);
}

Ratio finished(Ratio ratio, const Measured& logarithms) {
  ratio.pairs = static_cast<int>(logarithms.values.size());
  ratio.ahead = static_cast<int>(std::count_if(logarithms.values.begin(), logarithms.values.end(),
                                               [](double logarithm) { return logarithm < 0; }));
  if (ratio.pairs == 0) return ratio;
  const double mean = logarithms.mean(), reach = interval_of_mean(logarithms);
  ratio.factor = std::exp(mean);
  ratio.low = std::exp(mean - reach);
  ratio.high = std::exp(mean + reach);
  return ratio;
}

}  // namespace

double interval_of_mean(const Measured& measured) {
  return standard_errors_of_interval(measured.values.size()) * measured.standard_error();
}

Ratio::Kind Ratio::kind() const {
  if (lost != other) return lost > other ? Kind::worse : Kind::better;
  if (pairs < 2) return Kind::unknown;
  return high < 1 ? Kind::better : low > 1 ? Kind::worse : Kind::level;
}

std::string factor_text(double factor) {
  return factor >= 0.1 && factor < 10 ? fmt::format("{:.2f}", factor) : fmt::format("{:.2g}", factor);
}

std::string Ratio::interval_text() const {
  return pairs == 0  ? "–"
         : pairs < 2 ? factor_text(factor)
                     : fmt::format("{} ({} … {})", factor_text(factor), factor_text(low), factor_text(high));
}

std::string Ratio::text() const {
  std::string text = interval_text();
  if (lost > 0) text += fmt::format("; {} of {} have no value", lost, pairs + lost);
  if (other > 0) text += fmt::format("; {} of {} have one where the other has none", other, pairs + other);
  return text;
}

std::string_view name_of(Ratio::Kind kind) {
  switch (kind) {
    case Ratio::Kind::better: return "better";
    case Ratio::Kind::level: return "level";
    case Ratio::Kind::worse: return "worse";
    case Ratio::Kind::unknown: break;
  }
  return "not known";
}

Ratio ratio_between(const ExperimentResult& result, const MetricEntry& metric, const std::string& variant,
                    const std::string& other) {
  Ratio ratio;
  Measured logarithms;
  for (const auto* problem : problems_of(result))
    add_pairs(result, metric, find_cell(result, problem->name, variant),
              find_cell(result, problem->name, other), ratio, logarithms);
  return finished(ratio, logarithms);
}

Ratio ratio_on(const ExperimentResult& result, const MetricEntry& metric, const std::string& problem,
               const std::string& variant, const std::string& other) {
  Ratio ratio;
  Measured logarithms;
  add_pairs(result, metric, find_cell(result, problem, variant), find_cell(result, problem, other), ratio,
            logarithms);
  return finished(ratio, logarithms);
}

}  // namespace lather::experiment
