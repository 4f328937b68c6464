#pragma once
// A run folder read for the report page. Files that are missing or damaged become notes; what can be read is
// used.

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lather::report {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct RunData {
  std::string name;                             // of the folder
  std::string optimizer;                        // empty if neither the configuration nor the summary says
  nlohmann::json config, summary, environment;  // null where there is none
  // {"step": […], "seconds": […], "loss": […], …}: a column per quantity, null where it was not recorded.
  nlohmann::ordered_json history;
  // {"step": […], "blocks": {BLOCK: {QUANTITY: […]}}}. "basis_changed" (0 or 1) is accumulated over the
  // recorded steps.
  nlohmann::ordered_json diagnostics;
  nlohmann::json fields;  // as in fields.json, six digits
  nlohmann::json data;    // [{"name", "columns": {COLUMN: […]}}]: where there are data, a part of them
  std::vector<std::string> notes;
};

// The most rows of the history (with held-out residuals, and without) and of the diagnostics that the page
// gets; leaving rows out adds a note.
inline constexpr std::size_t kMostHistoryRows = 4000, kMostDiagnosticRows = 1000, kMostDataRows = 400;

// How much of a run is on a page.
struct PageLimits {
  std::size_t history_rows = kMostHistoryRows, diagnostic_rows = kMostDiagnosticRows;
  bool detailed = true;  // with fields and diagnostics
};
// For one of `runs` runs, so that the page stays small enough to open.
PageLimits limits_for(std::size_t runs);
// This many runs of a page, the best ones, have fields and diagnostics.
inline constexpr std::size_t kMostDetailed = 12;

RunData read_run_data(const std::filesystem::path& run, const PageLimits& limits = {});

// The data files that a run keeps; those that cannot be read are left out.
nlohmann::json read_data_points(const std::filesystem::path& run);

// Whether a run ended with what is no number, or far above where it started: the held-out loss above ten times the first.
bool has_diverged(const nlohmann::json& summary);

// A folder in which a run was started, intact or damaged.
bool is_run(const std::filesystem::path& folder);

// Which rows are kept when rows with and rows without an evaluation at held-out points are each thinned out
// evenly to about `most`; the last one is kept.
std::vector<std::size_t> evenly_kept(const std::vector<bool>& looked, std::size_t most);

// fields.json with shapes that fit together, numbers or null; throws Error otherwise.
nlohmann::json checked_fields(const nlohmann::json& fields);

// Six digits are more than a picture shows, and a third of the bytes.
double six_digits(double value);

}  // namespace lather::report
