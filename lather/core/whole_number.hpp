#pragma once
// Numbers that are meant as whole numbers but arrive as doubles, as 1e3 does.

#include <cmath>
#include <cstdint>
#include <optional>

namespace lather {

// The whole number that a double holds; nothing for fractions, infinities, NaN, and beyond 2^53, where not
// every whole number is a double.
inline std::optional<std::int64_t> whole_number(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!(std::abs(value) <= kExact) || value != std::floor(value)) return {};
  return static_cast<std::int64_t>(value);
}

}  // namespace lather
