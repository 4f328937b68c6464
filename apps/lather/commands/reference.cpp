// lather reference NAME [--set key=value]… [--at "0.5,0.25"]…
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "lather/core/cache_folder.hpp"
#include "lather/core/error.hpp"
#include "lather/reference/reference.hpp"
#include "terminal.hpp"

namespace lather::command {
namespace {

TomlValue settings_from(const std::vector<std::string>& assignments) {
  TomlValue settings;
  for (const auto& text : assignments) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error("--set expects key=value, got '" + text + "'");
    set_toml(settings, text.substr(0, equals), text.substr(equals + 1));
  }
  return settings;
}

std::vector<double> point_from(const std::string& text, std::size_t dimensions) {
  std::vector<double> point;
  const char *p = text.data(), *end = p + text.size();
  while (p < end) {
    while (p < end && *p == ' ') ++p;
    double x = 0;
    const auto [next, status] = std::from_chars(p, end, x);
    if (status != std::errc()) break;
    point.push_back(x);
    p = next;
    while (p < end && *p == ' ') ++p;
    if (p < end && *p == ',')
      ++p;
    else
      break;
  }
  if (p != end || point.size() != dimensions)
    throw Error(fmt::format("--at expects {} numbers separated by commas, got '{}'", dimensions, text));
  return point;
}

void print_values(const reference::ReferenceSolution& solution, const std::string& text) {
  const auto coordinates = solution.coordinates();
  const auto point = point_from(text, coordinates.size());
  const auto fields = solution.fields();
  for (std::size_t f = 0; f < fields.size(); ++f) {
    say("{}({}) = {:.15g}", fields[f], fmt::join(point, ", "), solution.value(static_cast<int>(f), point));
    for (std::size_t k = 0; k < coordinates.size(); ++k) {
      std::vector<int> orders(coordinates.size(), 0);
      orders[k] = 1;
      say("  D({},{}) = {:.12g}", fields[f], coordinates[k],
          solution.derivative(static_cast<int>(f), orders, point));
    }
    say("\n");
  }
}

void print_summary(const std::string& name, const reference::ReferenceSolution& solution) {
  say("{}: fields {} of ({})\n", name, fmt::join(solution.fields(), ", "),
      fmt::join(solution.coordinates(), ", "));
  say("settings: {}\n", solution.settings().dump());
  say("accuracy: {}\n", solution.accuracy());
  for (const auto& [unknown, value] : solution.unknowns()) say("{} = {:.13g}\n", unknown, value);
  say("{}\n", solution.provenance);
}

}  // namespace

void add_reference(CLI::App& app, int&) {
  struct Arguments {
    std::string name, cache;
    std::vector<std::string> assignments, points;
  };
  auto arguments = std::make_shared<Arguments>();
  auto* command = app.add_subcommand("reference", "Compute, cache and evaluate reference solutions");
  command->add_option("name", arguments->name, "name of the reference; without it, list all names");
  command->add_option("--set", arguments->assignments, "set an option of the reference: KEY=VALUE");
  command->add_option("--at", arguments->points,
                      "print fields and first derivatives at a point such as 0.5,0.25");
  command->add_option("--cache", arguments->cache,
                      "cache folder (default: $LATHER_CACHE, $XDG_CACHE_HOME/lather or ~/.cache/lather)");
  command->footer(
      "Examples:\n  lather reference\n  lather reference burgers --at 0.5,0.25\n"
      "  lather reference kdv --set modes=512");
  command->callback([arguments] {
    const std::filesystem::path cache =
        arguments->cache.empty() ? default_cache_folder() : std::filesystem::path(arguments->cache);
    if (arguments->name.empty()) {
      for (const auto& name : reference::reference_names()) say("{}\n", name);
      return;
    }
    const auto solution =
        reference::make_reference(arguments->name, settings_from(arguments->assignments), cache);
    if (arguments->points.empty()) print_summary(arguments->name, *solution);
    for (const auto& point : arguments->points) print_values(*solution, point);
  });
}

}  // namespace lather::command
