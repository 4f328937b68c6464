#pragma once
// Points with measured values from a CSV file.

#include <filesystem>

#include "lather/core/formats/csv.hpp"

namespace lather::pde {

// Throws Error with line and column, also if there are no rows.
CsvTable read_data_file(const std::filesystem::path& path);

}  // namespace lather::pde
