#pragma once
// Maps of an experiment: what the first seed predicts, next to the reference, and where it is wrong; for the
// best variant and the one the experiment always shows. Drawn from what the runs kept, without training.

#include <string>
#include <vector>

#include "lather/experiment/reproduce.hpp"

namespace lather::experiment {

struct MapFigure {
  std::string name, svg, caption;  // EXPERIMENT-maps-PROBLEM-VARIANT
};

struct FieldMaps {
  std::vector<MapFigure> figures;
  std::vector<std::string> notes;  // which ones could not be drawn, why, and what helps
};

// Empty if the experiment does not ask for maps.
FieldMaps make_field_maps(const ExperimentResult& result);

}  // namespace lather::experiment
