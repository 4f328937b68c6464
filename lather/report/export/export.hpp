#pragma once
// Trained fields and networks for other programs.

#include <span>
#include <string>
#include <vector>

#include "lather/report/export/npz.hpp"
#include "lather/train/accuracy/solution.hpp"

namespace lather::report {

// Axes by the names of the coordinates, then every quantity on the grid.
std::vector<NamedArray> grid_arrays(const train::Solution& solution, const train::Grid& grid,
                                    std::span<const train::FieldDerivative> quantities);

std::string export_npz(const train::Solution& solution, const train::Grid& grid,
                       std::span<const train::FieldDerivative> quantities);
std::string export_vti(const train::Solution& solution, const train::Grid& grid,
                       std::span<const train::FieldDerivative> quantities);
// One network; of a solution in windows, window `piece`. examples/load_export.py reads it.
std::string export_safetensors(const train::Solution& solution, std::size_t piece = 0);

}  // namespace lather::report
