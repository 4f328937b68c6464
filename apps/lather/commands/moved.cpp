// Commands that left with the laboratory: each says where it is now.
#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "commands/commands.hpp"
#include "lather/core/error.hpp"

namespace lather::command {

namespace {

constexpr std::array<std::pair<const char*, const char*>, 4> kMoved{{
    {"reproduce", "lab/reproduce in Lather's source tree"},
    {"task", "lab/reproduce, as the experiments matrix-quadratic, matrix-logistic and matrix-completion"},
    {"replay", "the tests: recorded trajectories are replayed by tests/optim/replay_test.cpp"},
    {"estimate", "the program lab_scaling of Lather's source tree (lab/scaling)"},
}};

}  // namespace

void add_moved(CLI::App& app, int&) {
  for (const auto& [name, where] : kMoved) {
    auto* moved = app.add_subcommand(name, "")->group("");
    moved->allow_extras()->set_help_flag();
    moved->callback([name = std::string(name), where = std::string(where)] {
      throw Error(fmt::format("`lather {}` has moved to {}", name, where));
    });
  }
}

}  // namespace lather::command
