// lather completion bash|zsh|fish|man
#include <fmt/format.h>

#include "command_tree.hpp"
#include "commands/commands.hpp"
#include "terminal.hpp"

namespace lather::command {

void add_completion(CLI::App& app, int&) {
  auto* completion = app.add_subcommand("completion", "Print shell completion or the manual page");
  completion->require_subcommand(1);
  completion->footer(
      "Examples:\n  source <(lather completion bash)\n  lather completion fish > "
      "~/.config/fish/completions/lather.fish\n"
      "  lather completion man | man -l -");
  const auto add = [&](const char* name, const char* what, std::string (*text)(const CLI::App&)) {
    completion->add_subcommand(name, what)->callback([&app, text] { say("{}", text(app)); });
  };
  add("bash", "Completion for bash", bash_completion);
  add("zsh", "Completion for zsh", zsh_completion);
  add("fish", "Completion for fish", fish_completion);
  add("man", "The manual page", manual_page);
}

}  // namespace lather::command
