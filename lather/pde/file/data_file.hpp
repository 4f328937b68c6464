#pragma once
// Points with measured values from a CSV file: a header that names the columns, then numbers.

#include <filesystem>
#include <string>
#include <vector>

namespace lather::pde {

struct DataFile {
  std::vector<std::string> columns;       // as in the header
  std::vector<std::vector<double>> rows;  // one number per column
};

// Commas separate; blank lines and lines that begin with # are skipped. Throws Error with line and column.
DataFile read_data_file(const std::filesystem::path& path);

}  // namespace lather::pde
