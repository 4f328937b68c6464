#pragma once
// Where the [map] of a problem file takes points. Once read, a problem no longer knows its map: its residuals
// are expressions in the coordinates. Only pictures need it, so the file is read again for them.

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lather/core/formats/toml.hpp"
#include "lather/pde/points.hpp"

namespace lather::pde {

// By name, in the order of the file; none without a map. `unknowns`: their values, which a map may contain.
std::vector<std::pair<std::string, std::vector<double>>> physical_coordinates(
    const TomlValue& root, const std::filesystem::path& folder, const std::filesystem::path& kept_data,
    std::span<const double> unknowns, const Points& points);

}  // namespace lather::pde
