#pragma once
// The network of another run as the beginning of a new one: `lather train --from RUN`.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "lather/optim/parameters.hpp"

namespace lather::train {

struct StartingPoint {
  std::string run;        // where it comes from
  std::int64_t step = 0;  // the best step of that run
  optim::ParameterLayout layout;
  std::vector<double> parameters, frozen;
};

nlohmann::json to_json(const StartingPoint& start);
StartingPoint starting_point_from_json(const nlohmann::json& json);  // throws Error if it is damaged

// Copies every block that has the same name and shape in both layouts. Returns a
// sentence that names what was not taken or not used, empty if all was. Throws Error
// if no layer fits, or if the frozen weights (Fourier features) differ in number.
std::string take_over(const StartingPoint& start, const optim::ParameterLayout& layout,
                      std::span<double> parameters, std::span<double> frozen);

}  // namespace lather::train
