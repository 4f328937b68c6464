#pragma once
// Things that happen every so many steps.

#include <cstdint>
#include <limits>

namespace lather {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// The first multiple of `every` after `step`.
inline std::int64_t next_multiple(std::int64_t step, std::int64_t every) {
  return (step / every + 1) * every;
}

}  // namespace lather
