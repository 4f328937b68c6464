#include "lather/core/error.hpp"

#include <algorithm>
#include <numeric>

namespace lather {

std::string SourceLocation::str() const {
  std::string text = file;
  if (line > 0) text += (text.empty() ? "line " : ":") + std::to_string(line);
  if (line > 0 && column > 0) text += ":" + std::to_string(column);
  return text;
}

Error::Error(const SourceLocation& where, const std::string& message)
    : std::runtime_error(where.str().empty() ? message : where.str() + ": " + message), where_(where) {}

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string unknown_name_message(std::string_view what, std::string_view name,
                                 std::span<const std::string> candidates) {
  std::string text = "unknown " + std::string(what) + " '" + std::string(name) + "'";
  if (const auto near = nearest_name(name, candidates); !near.empty()) text += "; did you mean '" + near + "'?";
  if (!candidates.empty()) {
    text += " (known: ";
    for (std::size_t i = 0; i < candidates.size(); ++i) text += (i ? ", " : "") + candidates[i];
    text += ")";
  }
  return text;
}

}  // namespace lather
