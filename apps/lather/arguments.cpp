#include "arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "lather/core/error.hpp"
#include "lather/core/whole_number.hpp"

namespace lather::command {

namespace {

template <class Number>
std::optional<Number> number_in(const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end) return {};
  return value;
}

// Digits, or a number such as 1e3 that a double holds exactly.
std::optional<std::uint64_t> whole_number_in(const std::string& text) {
  if (const auto digits = number_in<std::uint64_t>(text)) return digits;
  const auto real = number_in<double>(text);
  const auto whole = real ? lather::whole_number(*real) : std::nullopt;
  if (!whole || *whole < 0) return {};
  return static_cast<std::uint64_t>(*whole);
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// The innermost command that was named.
const CLI::App& command_in_use(const CLI::App& app) {
  const auto inside = app.get_subcommands();
  return inside.empty() ? app : command_in_use(*inside.back());
}

std::string full_name(const CLI::App& command) {
  return command.get_parent() ? full_name(*command.get_parent()) + " " + command.get_name()
                              : command.get_name();
}

}  // namespace

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        const auto value = whole_number_in(text);
        if (!value || *value < low || *value > high)
          return fmt::format("expected a whole number in [{}, {}], got '{}'", low, high, text);
        text = std::to_string(*value);
        return std::string();
      },
      "");
}

CLI::Validator real_number(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        const auto value = number_in<double>(text);
        if (value && *value >= low && *value <= high) return std::string();
        return std::isinf(high) ? fmt::format("expected a number of at least {:g}, got '{}'", low, text)
                                : fmt::format("expected a number in [{:g}, {:g}], got '{}'", low, high, text);
      },
      "");
}

CLI::Validator device_name() {
  return CLI::Validator(
      [](std::string& text) {
        if (text == "cpu" || text == "cuda") return std::string();
        return fmt::format("expected cpu or cuda (an NVIDIA GPU), got '{}'{}", text,
                           text == "gpu" ? "; did you mean 'cuda'?" : "");
      },
      "");
}

std::string parse_error_message(const CLI::App& app, const CLI::Error& error) {
  const CLI::App& command = command_in_use(app);
  const auto unknown = command.remaining();
  const auto names = command_names(command);
  std::string text = error.what();
  if (!names.empty() && !unknown.empty() && unknown[0][0] != '-')
    text = unknown_name_message("command", unknown[0], names);
  else if (!names.empty() && unknown.empty())
    text = fmt::format("a command is missing; one of: {}", fmt::join(names, ", "));
  else
    for (const auto& word : unknown)
      if (word.starts_with("-"))
        text = unknown_name_message("option", word.substr(0, word.find('=')), option_names(command));
  return fmt::format("{}\nRun '{} --help' for more information.", text, full_name(command));
}

}  // namespace lather::command
