#pragma once
// What hundreds of runs keep of fields.json: as much as a map of a few hundred pixels shows.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

namespace lather::experiment {

// Axes have at most this many points where they can be halved to that.
inline constexpr std::size_t kMostMapPoints = 65;

// Without residuals, six digits, every second point of an axis with too many, ends included.
nlohmann::json kept_fields(const nlohmann::json& fields);

}  // namespace lather::experiment
