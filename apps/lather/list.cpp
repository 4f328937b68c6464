#include <fmt/format.h>

#include "commands.hpp"

namespace lather::command {

void add_list(CLI::App& app, int&) {
  auto* list = app.add_subcommand("list", "What there is: problems, optimizers, networks");
  list->callback([] { fmt::print("optimizers problems networks\n"); });
}

}  // namespace lather::command
