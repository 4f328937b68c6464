#pragma once
// Reads the caller's JSON strictly: unknown keys are errors that name the nearest one.

#include <string>

#include "lather/capi/guard.hpp"
#include "lather/optim/parameters.hpp"
#include "lather/train/session.hpp"

namespace lather::capi {

// NULL and "" are an empty object.
nlohmann::json parse_object(const char* text, const std::string& name);

// Settings of a run of `problem`.
train::ConfigRequest read_settings(const char* text, const train::ProblemSource& problem);
train::NewLimits read_limits(const char* text);
// {"network": {"width": 64}} and {"network.width": 64} are the same.
std::vector<pde::Override> read_changes(const nlohmann::json& changes);

optim::ParameterLayout read_blocks(const char* text);
nlohmann::json blocks_json(const optim::ParameterLayout& layout);

}  // namespace lather::capi
