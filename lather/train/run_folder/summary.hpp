#pragma once
// What a run has come to: figures for summary.json, fields on a grid for fields.json.

#include <nlohmann/json.hpp>
#include <string>

#include "lather/train/trainer.hpp"

namespace lather::train {

nlohmann::json to_json(const Trainer& trainer, const Figures& figures);

// Final and best figures, unknowns, sizes. `fine`: errors on the full grid, which may take seconds.
nlohmann::json summarize(Trainer& trainer, bool fine);

// The best fields, the true ones and the residuals on a grid for pictures, as JSON text:
//   {"step", "coordinates": […], "axes": [[…], …],
//    "arrays": {"u": […], "u.reference": […], "u.error": […], "residual.momentum": […]}}
// Arrays have the first coordinate slowest, nine digits.
std::string fields_text(Trainer& trainer);

}  // namespace lather::train
