#pragma once
#include <string_view>

namespace lather {
std::string_view version();
}
