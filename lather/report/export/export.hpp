#pragma once
// Trained fields and networks for other programs.

#include <span>
#include <string>
#include <vector>

#include "lather/report/export/npz.hpp"
#include "lather/train/accuracy/solution.hpp"

namespace lather::report {

// Axes, named after the coordinates, then every quantity on the grid.
std::vector<NamedArray> grid_arrays(const train::Solution& solution, const train::Grid& grid,
                                    std::span<const train::FieldDerivative> quantities);

// What can be added to the fields: residuals of the equations and, for fields whose true values are known,
// the reference and the error. `truth`: Trainer::reference_values on the grid.
std::vector<NamedArray> error_arrays(const train::Solution& solution, const train::Grid& grid,
                                     std::span<const std::vector<double>> truth);

// With `more` arrays on the grid. For a shape, the array "inside" is 1 at points of the domain and 0
// elsewhere.
std::string export_npz(const train::Solution& solution, const train::Grid& grid,
                       std::span<const train::FieldDerivative> quantities, std::vector<NamedArray> more = {});
// The cells of the grid that lie in the domain.
std::string export_vtu(const train::Solution& solution, const train::Grid& grid,
                       std::span<const train::FieldDerivative> quantities, std::vector<NamedArray> more = {});
std::string export_vti(const train::Solution& solution, const train::Grid& grid,
                       std::span<const train::FieldDerivative> quantities);
// One network; for a solution in windows, that of window `piece`. examples/load_export.py reads it.
std::string export_safetensors(const train::Solution& solution, std::size_t piece = 0);

}  // namespace lather::report
