#pragma once
// The part of fields.json that hundreds of runs keep: as much as a map of a few hundred pixels shows.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

namespace lather::experiment {

// Axes have at most this many points if they can be halved down to that.
inline constexpr std::size_t kMostMapPoints = 65;

// Without residuals, six digits, axes with too many points thinned out, ends included.
nlohmann::json kept_fields(const nlohmann::json& fields);

}  // namespace lather::experiment
