#include "lather/core/error.hpp"

#include <algorithm>

namespace lather {

std::string SourceLocation::str() const {
  std::string text = file;
  if (line > 0) text += (text.empty() ? "line " : ":") + std::to_string(line);
  if (column > 0) text += (text.empty() ? "column " : ":") + std::to_string(column);
  return text;
}

Error::Error(const SourceLocation& where, const std::string& message)
    : std::runtime_error(where.str().empty() ? message : where.str() + ": " + message),
      where_(where),
      message_(message) {}

namespace {

// Insertions, deletions, replacements and swaps of neighbours count one each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t kLongest = 100;  // longer ones are not typos, and the distance costs time and memory
  std::string best;
  if (name.size() > kLongest) return best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    if (name.size() == 1 && candidate.size() == 1) continue;  // another letter is another thing, not a typo
    const auto [shorter, longer] = std::minmax({name.size(), candidate.size()});
    if (longer - shorter >= best_distance) continue;
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
  if (const auto near = nearest_name(name, candidates); !near.empty())
    text += "; did you mean '" + near + "'?";
  if (!candidates.empty()) {
    text += " (known: ";
    for (std::size_t i = 0; i < candidates.size(); ++i) text += (i ? ", " : "") + candidates[i];
    text += ")";
  }
  return text;
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 32 || c == 127 ? ' ' : c;
  return out;
}

}  // namespace lather
