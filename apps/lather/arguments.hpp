#pragma once
// What the command line accepts, and what it says when it does not.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>

namespace lather::command {

// A whole number in [low, high], also written as 1e3. CLI11 on its own would let -1 and 2^64 wrap around.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);
// A number in [low, high].
CLI::Validator real_number(double low, double high = std::numeric_limits<double>::infinity());
// cpu or cuda.
CLI::Validator device_name();

// What was not understood and what was probably meant: the nearest command or option. Else CLI11's message.
std::string parse_error_message(const CLI::App& app, const CLI::Error& error);

}  // namespace lather::command
