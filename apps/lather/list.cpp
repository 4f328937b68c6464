#include <fmt/format.h>

#include "commands.hpp"
#include "lather/pde/find_problem.hpp"
#include "lather/pde/problem_file.hpp"

namespace lather::command {

namespace {

void list_problems() {
  for (const auto& name : pde::list_problems()) {
    try {
      fmt::print("{:<24} {}\n", name, pde::read_problem_file(pde::find_problem(name)).title);
    } catch (const std::exception& error) {
      fmt::print("{:<24} (unreadable: {})\n", name, error.what());
    }
  }
}

}  // namespace

void add_list(CLI::App& app, int&) {
  auto* list = app.add_subcommand("list", "What there is");
  list->require_subcommand(1);
  list->add_subcommand("problems", "Built-in problems and those in $LATHER_PROBLEMS")
      ->callback(list_problems);
}

}  // namespace lather::command
