// The command. Each subcommand lives in its own file and registers itself in commands.hpp.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "commands.hpp"
#include "lather/core/error.hpp"
#include "lather/core/version.hpp"

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // progress lines appear as they are written, also in a pipe
  CLI::App app{"Lather trains physics-informed neural networks to high accuracy."};
  app.name("lather");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(lather::version()));
  int exit_status = 0;
  for (const auto& add_command : lather::command::all_commands()) add_command(app, exit_status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 1;  // --help and --version are no errors
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lather: %s\n", e.what());
    return 2;
  }
  return exit_status;
}
