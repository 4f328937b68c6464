#pragma once
// The curves of a run as a TensorBoard event file: records of protocol buffers, written by hand because they
// have only four fields.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace lather::report {

// Every line of the history and of the diagnostics. Tags: loss/total, loss/TERM, residual/all, l2/FIELD, …,
// optimizer/QUANTITY/LAYER. Times are those at which the steps were done. Throws Error if there is no history.
std::string tensorboard_events(const std::filesystem::path& run);

// TensorBoard reads files with "tfevents" in their name; an export replaces the previous one.
inline constexpr const char* kTensorboardFile = "events.out.tfevents.lather";

std::uint32_t crc32c(std::string_view bytes);  // Castagnoli's polynomial, as these records require

}  // namespace lather::report
