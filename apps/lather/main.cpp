// The command. Each subcommand lives in its own file in
// commands/ and registers itself in commands/commands.hpp.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "arguments.hpp"
#include "commands/commands.hpp"
#include "lather/core/memory.hpp"
#include "lather/core/version.hpp"
#include "ranks.hpp"

int main(int argc, char** argv) {
  using lather::command::end_ranks;
  constexpr int kNoMemory = 4;               // the exit status; scripts may try with less beside it
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // progress lines appear as they are written, even in a pipe
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may grow no further is then an error with a message
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);  // more queues than 8, for more runs side by side than 8
  CLI::App app{"Lather trains physics-informed neural networks to high accuracy."};
  app.name("lather");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(lather::version()));
  int exit_status = 0;
  for (const auto& add_command : lather::command::all_commands()) add_command(app, exit_status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help and --version
    return end_ranks(lather::command::parse_error_message(app, e), 1);
  } catch (const lather::parallel::RankLost&) {
    return lather::command::give_up();
  } catch (const lather::OutOfMemory& e) {
    return end_ranks(e.what(), kNoMemory);
  } catch (const std::bad_alloc&) {
    return end_ranks("out of memory", kNoMemory);
  } catch (const std::exception& e) {
    return end_ranks(e.what(), 2);
  }
  return end_ranks("", exit_status);
}
