#pragma once
// How to train, as specified by a recipe of a problem file:
// everything but the optimizer, the network and parameters.

#include <cstdint>
#include <optional>

#include "lather/core/options.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/train/stages/continuation.hpp"
#include "lather/train/stages/corrections.hpp"
#include "lather/train/stages/stage_control.hpp"
#include "lather/train/stages/windows.hpp"
#include "lather/train/weighting/weighting_options.hpp"

namespace lather::train {

// How often to write things down; what 0 means stands with each.
struct RecordOptions {
  std::int64_t record_every = 0, validate_every = 0, checkpoint_every = 0;
  double checkpoint_seconds = 60;
  bool reference = true;
  void fields(FieldVisitor& v) {
    v.integer("record_every", record_every, "steps between lines of the history; 0: 500 lines in all",
              non_negative());
    v.integer("validate_every", validate_every,
              "steps between validations (held-out points and the reference); 0: 100 in all", non_negative());
    v.integer("checkpoint_every", checkpoint_every, "steps between checkpoints; 0: by time only",
              non_negative());
    v.boolean("reference", reference, "compare with the reference solution; false spares computing it");
    v.real("checkpoint_seconds", checkpoint_seconds, "seconds between checkpoints; 0: by steps only",
           non_negative());
  }
};

struct TrainingOptions {
  std::int64_t steps = 2000;  // planned; a run may be stopped earlier, or resumed for more
  pde::PointOptions points;
  WeightingOptions weighting;
  std::optional<CausalOptions> causal;
  WindowOptions time_windows;
  std::optional<ContinuationOptions> continuation;
  CorrectionOptions corrections;
  StageOptions stages;
  void fields(FieldVisitor& v) {
    v.integer("steps", steps, "how many steps", at_least(1));
    points.fields(v);
    v.table("weighting", weighting, "how terms and points are weighed", "method");
    v.table("causal", causal, "weights in time", "tolerance");
    v.table("time_windows", time_windows, "parts of the time, one after the other", "count");
    v.table("continuation", continuation, "values of a parameter, one after the other");
    v.table("corrections", corrections, "further networks on what the first one leaves", "count");
    v.table("stages", stages, "when a window, or a value of the parameter, is done", "target");
  }
};

}  // namespace lather::train
