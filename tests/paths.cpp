#include "paths.hpp"

namespace lather::test {

std::string source_path(const std::string& relative) { return LATHER_SOURCE_DIR "/" + relative; }
std::string command_path() { return LATHER_COMMAND; }
std::string mpiexec_path() { return LATHER_MPIEXEC; }

}  // namespace lather::test
