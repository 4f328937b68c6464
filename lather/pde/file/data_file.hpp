#pragma once
// Points with measured values from a CSV file.

#include <filesystem>

#include "lather/core/formats/csv.hpp"

namespace lather::pde {

// Throws Error: the file cannot be read, is not a table of finite numbers (with line and column), or has no rows.
CsvTable read_data_file(const std::filesystem::path& path);

}  // namespace lather::pde
