#pragma once
// One colour per method, so that readers of a page need to learn it once.

#include <map>
#include <string>

#include "lather/experiment/experiment.hpp"

namespace lather::experiment {

// By the name of the variant, the index of its colour: the same in all figures of the experiment, different from those it
// is drawn with. The paper's methods have the same colour in every experiment.
std::map<std::string, int> method_colours(const Experiment& experiment);

}  // namespace lather::experiment
