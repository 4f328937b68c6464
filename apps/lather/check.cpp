// lather check: reads a problem and says what was understood.
#include <fmt/format.h>

#include <memory>

#include "commands.hpp"
#include "lather/pde/file/find_problem.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/file/problem_text.hpp"
#include "settings.hpp"

namespace lather::command {

void add_check(CLI::App& app, int&) {
  auto* check = app.add_subcommand("check", "Check a problem file and show what was understood");
  struct Arguments {
    std::string problem;
    std::vector<std::string> settings;
  };
  auto arguments = std::make_shared<Arguments>();
  check->add_option("problem", arguments->problem, "a file, or the name of a built-in problem")->required();
  check->add_option("--set", arguments->settings, "change a value of the file: --set parameters.nu=0.02");
  check->footer("Examples:\n  lather check my_pde.toml\n  lather check burgers --set parameters.nu=0.02");
  check->callback([arguments] {
    const auto path = pde::find_problem(arguments->problem);
    fmt::print("{}", pde::describe(pde::read_problem_file(path, parse_settings(arguments->settings))));
  });
}

}  // namespace lather::command
