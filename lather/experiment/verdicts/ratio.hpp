#pragma once
// By what factor is one variant better than another, and can the seeds tell?

#include <string>

#include "lather/experiment/results.hpp"

namespace lather::experiment {

// Values of one variant divided by those of another with the same problem and seed: their geometric mean, and the
// 95 % interval around it (Student's t of their logarithms: residuals spread over orders of magnitude, and seeds are few).
struct Ratio {
  double factor = 1, low = 0, high = 0;
  int pairs = 0;            // of runs that have ended, in which both have a value
  int ahead = 0;            // of these, in which this one has the smaller
  int lost = 0, other = 0;  // in which only the other, or only this one, has one
  enum class Kind { better, level, worse, unknown };
  // Smaller values are better; level: 1 is in the interval; unknown from fewer than two pairs.
  Kind kind() const;
  std::string interval_text() const;  // "0.82 (0.70 … 0.96)"
  std::string text() const;           // likewise, and how many seeds have no value
};
std::string_view name_of(Ratio::Kind kind);
std::string factor_text(double factor);  // three digits or two

// Half the width of the 95 % interval around the mean of these values (Student's t); 0 for one value.
double interval_of_mean(const Measured& measured);

// On all problems together, and on one of them.
Ratio ratio_between(const ExperimentResult& result, const MetricEntry& metric, const std::string& variant,
                    const std::string& other);
Ratio ratio_on(const ExperimentResult& result, const MetricEntry& metric, const std::string& problem,
               const std::string& variant, const std::string& other);

}  // namespace lather::experiment
