#pragma once
// Basis changes in the runs of an experiment, from their events.jsonl: how many, what led to them, what they
// did to the loss.

#include "lather/experiment/reproduce.hpp"
#include "lather/report/table.hpp"

namespace lather::experiment {

// One row per cell whose runs have some (a layer's first basis is none); medians over all seeds and layers. Empty if the experiment does
// not ask for it.
report::Table events_table(const ExperimentResult& result);

}  // namespace lather::experiment
