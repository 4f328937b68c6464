#include "lather/core/version.hpp"

namespace lather {
std::string_view version() { return LATHER_VERSION; }
}  // namespace lather
