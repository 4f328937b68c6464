#pragma once
// The command tree as CLI11 holds it, read for shell completion and the manual page, so they say what --help
// says.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace lather::command {

std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);
std::string manual_page(const CLI::App& app);  // troff, for man(1)

}  // namespace lather::command
