#pragma once
// The top of the page: which claims of the paper hold, which do not, which could not be tested and why.

#include <span>

#include "lather/experiment/pages/document.hpp"
#include "lather/experiment/results.hpp"

namespace lather::experiment {

void add_summary(Document& page, std::span<const ExperimentResult> results);

}  // namespace lather::experiment
