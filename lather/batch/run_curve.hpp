#pragma once
// What a run has recorded of a quantity.

#include <filesystem>
#include <vector>

#include "lather/report/draw/seed_curves.hpp"
#include "lather/report/quantity.hpp"

namespace lather::batch {

using report::CurvePoint;
using report::Quantity;

// At every validation, the training loss at every recorded step; empty if it is not recorded. Seconds that are
// not known are infinite.
std::vector<CurvePoint> curve_of(const std::filesystem::path& run, Quantity quantity);

// At the best step of a run that has ended; not a number if it is not known.
double value_at_best(const std::filesystem::path& run, Quantity quantity);

}  // namespace lather::batch
