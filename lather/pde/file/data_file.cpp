#include "lather/pde/file/data_file.hpp"

#include <fmt/format.h>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"

namespace lather::pde {

CsvTable read_data_file(const std::filesystem::path& path) {
  std::error_code status;
  if (!std::filesystem::is_regular_file(path, status))  // a device may never end
    throw Error(fmt::format("cannot open the data file '{}'", path.string()));
  CsvTable data = parse_csv(read_file(path), path.string(), CsvNumbers::finite);
  if (data.rows.empty()) throw Error({path.string(), 0, 0}, "the data file has a header but no rows");
  return data;
}

}  // namespace lather::pde
