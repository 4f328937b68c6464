#pragma once
// How large SS-eSOAP's tau was in the runs of an experiment, from their summaries, which count every step.

#include "lather/experiment/reproduce.hpp"
#include "lather/report/table.hpp"

namespace lather::experiment {

// One row per cell whose runs have a tau: shares of all layer-steps with a secant, over all seeds. Empty if the
// experiment does not ask for it.
report::Table tau_table(const ExperimentResult& result);

}  // namespace lather::experiment
