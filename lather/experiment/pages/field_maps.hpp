#pragma once
// Maps of an experiment: what the first seed predicts, next to the reference, and where it is wrong; for the
// best variant and the one the experiment always shows. Drawn from what the runs kept, without training.

#include <filesystem>
#include <map>
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

// Sections of a page by the folders of the runs whose maps they have.
using MapsOnPage = std::map<std::filesystem::path, std::string>;

// Empty if the experiment does not ask for maps.
FieldMaps make_field_maps(const ExperimentResult& result);
// For a page with further experiments: a run that two of them share is drawn in the first, and a note in the other says
// where.
FieldMaps make_field_maps(const ExperimentResult& result, MapsOnPage& drawn);

}  // namespace lather::experiment
