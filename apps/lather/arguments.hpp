#pragma once
// What the command line accepts, and what it says when it does not.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>

namespace lather::command {

// A whole number in [low, high], also written as 1e3. CLI11 by itself would let -1 and 2^64 wrap around.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);
// A number in [low, high].
CLI::Validator real_number(double low, double high = std::numeric_limits<double>::infinity());
// cpu or cuda.
CLI::Validator device_name();

// What was not understood and what was meant: the nearest command or option. Falls back on CLI11's words.
std::string parse_error_message(const CLI::App& app, const CLI::Error& error);

}  // namespace lather::command
