#pragma once
// One colour per method, so that readers of a page need to learn it once.

#include <map>
#include <string>

#include "lather/experiment/experiment.hpp"

namespace lather::experiment {

// By the name of the variant, the index of its colour: the same in all figures of the experiment, different from those it
// is drawn with. The paper's methods have the same colour in every experiment, and so has a variant of one ("Adam,
// decayed") in figures without it. Of several variants of a method in one figure the one with the method's name has its
// colour, or else the first; the others have colours that no method beside them needs.
std::map<std::string, int> method_colours(const Experiment& experiment);

// Whether a variant with this colour is dashed: where the clear colours were taken, and what is left resembles others.
bool is_dashed(const VariantEntry& variant, int colour);

}  // namespace lather::experiment
