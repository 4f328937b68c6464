#include "lather/experiment/verdicts/events.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lather/core/files.hpp"

namespace lather::experiment {

namespace {

void add_events(const std::filesystem::path& file, Events& events) {
  if (!std::filesystem::exists(file)) return;
  std::istringstream lines(read_file(file));
  for (std::string text; std::getline(lines, text);) {
    const auto e = nlohmann::json::parse(text, nullptr, false);
    if (!e.is_object()) continue;
    const auto number = [&](const char* key) {
      const auto found = e.find(key);
      return found != e.end() && found->is_number() ? found->get<double>() : -1;
    };
    events.rho.push_back(std::max(number("rho_left"), number("rho_right")));
    events.gamma.push_back(number("gamma"));
    events.cosine.push_back(number("gradient_cosine"));
    const double loss = number("loss");
    if (loss > 0 && number("loss_after_1") >= 0) events.after_1.push_back(number("loss_after_1") / loss);
    if (loss > 0 && number("loss_after_10") >= 0) events.after_10.push_back(number("loss_after_10") / loss);
  }
}

}  // namespace

Events read_events(const CellResult& cell) {
  Events events;
  for (const auto& run : cell.seeds) add_events(run.folder / "events.jsonl", events);
  return events;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

}  // namespace lather::experiment
