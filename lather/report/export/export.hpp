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

// What can be added to the fields: residuals of the equations, and, where the problem has a closed form, the
// reference and the error of each field.
std::vector<NamedArray> error_arrays(const train::Solution& solution, const train::Grid& grid);

// Of a shape, the array "inside" is 1 at the points of the domain and 0 elsewhere.
std::string export_npz(const train::Solution& solution, const train::Grid& grid,
                       std::span<const train::FieldDerivative> quantities, bool errors = false);
// The cells of the grid that lie in the domain.
std::string export_vtu(const train::Solution& solution, const train::Grid& grid,
                       std::span<const train::FieldDerivative> quantities, bool errors = false);
std::string export_vti(const train::Solution& solution, const train::Grid& grid,
                       std::span<const train::FieldDerivative> quantities);
// One network; of a solution in windows, window `piece`. examples/load_export.py reads it.
std::string export_safetensors(const train::Solution& solution, std::size_t piece = 0);

}  // namespace lather::report
