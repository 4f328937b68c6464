#pragma once
// The result of a run: summary.json, and fields on a grid for fields.json.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/train/trainer.hpp"

namespace lather::train {

// Metrics with the names of terms and fields; NaN where there is no number.
struct NamedMetrics {
  std::int64_t step = 0;
  double residual = 0, mean_square_residual = 0;  // a root, and its square
  double validation_loss = 0, training_loss = 0;
  std::map<std::string, double> residuals;  // by term
  std::map<std::string, double> l2, h1;     // by field, where known
  std::int64_t error_grid = 0;              // points along each coordinate, where errors are known
  void fields(FieldVisitor& v);
};
NamedMetrics named(const Trainer& trainer, const Metrics& metrics);

struct UnknownSummary {
  double value = 0;  // at the best step
  double last = 0;   // at the last one
  std::optional<double> known;
  void fields(FieldVisitor& v);
};

// A window, or a value of the parameter.
struct StageSummary {
  std::string name, ended;  // why, in words; empty: it was the last
  std::string solved;       // yes, no; empty: there is no target, and no sign that it is unsolved
  std::int64_t steps = 0;
  double seconds = 0, residual = 0;
  void fields(FieldVisitor& v);
};

// Values of tau of one layer, in all steps with a secant.
struct TauSummary {
  std::int64_t steps = 0;
  double at_one = 0, at_least = 0, no_curvature = 0;  // shares of the steps: tau = 1, tau = tau_min, c <= 0
  std::vector<double> parts;                          // shares of ten equal parts of (0, 1], and above 1
  void fields(FieldVisitor& v);
};

struct Summary {
  std::string problem, optimizer, family, recipe;
  std::string adapted;  // how the recipe was changed for an optimizer of another family
  std::uint64_t seed = 0;
  std::int64_t step = 0, parameters = 0, evaluations = 0;
  std::int64_t memory_bytes = 0, optimizer_bytes = 0;  // of points and optimizer together, of the optimizer
  std::int64_t basis_updates = 0, matrices = 0;        // bases replaced, of this many parameter matrices
  double loss = 0, starting_loss = 0;  // at the last step; at held-out points, before the first
  NamedMetrics final, best;
  std::string reference;  // where it comes from, or why there is none
  std::map<std::string, UnknownSummary> unknowns;
  std::map<std::string, TauSummary> tau;                    // by layer, of a self-scaling method
  std::vector<StageSummary> stages;                         // if there are several
  std::string unsolved;                                     // a sentence, if some are known not to be solved
  std::map<std::string, std::int64_t> held_out_rows;        // of data, by name
  std::string overfitting;                                  // a sentence, if it was noticed at the end
  std::int64_t peak_host_bytes = 0, peak_device_bytes = 0;  // as measured, of the process that ended the run
  std::string reason, message;                              // why the run ended: a word, a sentence
  double seconds = 0, measuring_seconds = 0, steps_per_second = 0;
  void fields(FieldVisitor& v);
};

// Everything but why it ended and the times. `fine`: errors on the full grid, which may take seconds.
Summary summarize(Trainer& trainer, bool fine);
// The same with what was measured before.
struct Measured {
  double loss = 0;
  Metrics final, best;
};
Summary summarize(Trainer& trainer, const Measured& measured);

// The best fields, the true ones and the residuals on a grid for pictures, as JSON text:
//   {"step", "coordinates": […], "axes": [[…], …],
//    "arrays": {"u": […], "u.reference": […], "u.error": […], "residual.momentum": […]}}
// In arrays the first coordinate varies slowest; numbers have nine digits.
std::string fields_text(Trainer& trainer);

}  // namespace lather::train
