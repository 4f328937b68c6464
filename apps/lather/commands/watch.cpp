// lather watch [RUNS…], lather status [RUNS…]
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "arguments.hpp"
#include "commands/commands.hpp"
#include "lather/core/error.hpp"
#include "lather/watch/watch_service.hpp"
#include "progress.hpp"
#include "settings.hpp"
#include "terminal.hpp"
#include "watch_process.hpp"

namespace lather::command {

namespace {

namespace fs = std::filesystem;

constexpr int kUsualPort = 8130;
constexpr double kFarewellSeconds = 2;

struct WatchArguments {
  std::vector<std::string> runs;
  std::optional<int> port;
  bool open = false, with_parent = false, json = false;
};

std::vector<fs::path> roots_of(const std::vector<std::string>& given) {
  std::vector<fs::path> roots(given.begin(), given.end());
  for (const auto& root : roots)
    if (!fs::is_directory(root))
      throw Error(fs::exists(root) ? fmt::format("'{}' is a file; expected a run folder or a folder of runs",
                                                 root.string())
                                   : fmt::format("there is no folder '{}'", root.string()));
  if (roots.empty()) roots.push_back("runs");
  return roots;
}

// The usual port, so that the address stays the same; a free one if it is taken.
std::unique_ptr<watch::WatchService> start_service(const WatchArguments& a) {
  auto roots = roots_of(a.runs);
  if (a.port) return std::make_unique<watch::WatchService>(std::move(roots), *a.port);
  try {
    return std::make_unique<watch::WatchService>(roots, kUsualPort);
  } catch (const Error&) {
    return std::make_unique<watch::WatchService>(std::move(roots), 0);
  }
}

// Whether the process that started this one still holds the other end of our standard input.
bool parent_lives() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) <= 0;
}

void watch_runs(const WatchArguments& a) {
  const auto service = start_service(a);
  const std::string address = fmt::format("http://127.0.0.1:{}/", service->port());
  say("watching at {}{}\n", address, a.with_parent ? "" : " (Ctrl-C ends)");
  std::fflush(stdout);
  if (a.open) open_in_browser(address);
  if (::nice(10) == -1) {  // training goes first; a failure does not matter
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})  // nothing is to be saved
    if (std::signal(signal, [](int) { ::_exit(0); }) == SIG_IGN) std::signal(signal, SIG_IGN);
  while (!a.with_parent || parent_lives()) service->serve(0.25);
  service->finish(kFarewellSeconds);
  std::_Exit(0);  // without waiting for a picture that is being computed
}

std::string short_number(double value) { return std::isnan(value) ? "-" : fmt::format("{:.2e}", value); }

void print_status(const WatchArguments& a) {
  watch::RunBoard board(roots_of(a.runs));
  board.update();
  if (a.json) {
    nlohmann::json runs = nlohmann::json::array();
    for (const auto& entry : board.entries()) runs.push_back(watch::to_json(entry.status));
    say("{}\n", runs.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  if (board.entries().empty()) {
    say("no runs{}\n", a.runs.empty() ? " in runs/" : "");
    return;
  }
  std::size_t width = 3;
  for (const auto& entry : board.entries()) width = std::max(width, entry.status.name.size());
  say("{:<{}}  {:<11}  {:>17}  {:>8}  {:>8}  {:>8}  {:>8}  {}\n", "run", width, "state", "step", "loss",
      "residual", "L2", "time", "left, or why it ended");
  for (const auto& entry : board.entries()) {
    const auto& s = entry.status;
    say("{:<{}}  {:<11}  {:>17}  {:>8}  {:>8}  {:>8}  {:>8}  {}\n", s.name, width, name_of(s.state),
        fmt::format("{}/{}", s.step, s.steps), short_number(s.loss), short_number(s.residual),
        short_number(s.l2), std::isnan(s.seconds) ? "-" : duration(s.seconds),
        s.state == watch::RunState::running
            ? (std::isnan(s.seconds_left) ? "" : duration(s.seconds_left) + " left")
            : s.message);
  }
}

}  // namespace

void add_watch(CLI::App& app, int&) {
  auto* command = app.add_subcommand("watch", "Show runs live in the browser");
  auto a = std::make_shared<WatchArguments>();
  command->add_option("runs", a->runs, "run folders, or folders with runs in them (default: runs)")
      ->type_name("RUN");
  command->add_option("--port", a->port, "port on 127.0.0.1; 0: a free one (default: 8130, or a free one)")
      ->transform(whole_number(0, 65535));
  command->add_flag("--open", a->open, "open the page in the browser");
  command->add_flag("--with-parent", a->with_parent, "end when standard input is closed")->group("");
  command->footer(
      "The page is served to this machine only and shows running, finished and copied runs: curves, fields,\n"
      "errors, the optimizer, stages, time left. Nothing is written, and training does not notice.\n"
      "From elsewhere: ssh -L 8130:localhost:8130 MACHINE\n\nExamples:\n"
      "  lather watch\n  lather watch runs/compare-burgers-1 --open\n  lather watch /scratch/runs --port "
      "9000");
  command->callback([a] { watch_runs(*a); });
}

void add_status(CLI::App& app, int&) {
  auto* command = app.add_subcommand("status", "Print where runs stand");
  auto a = std::make_shared<WatchArguments>();
  command->add_option("runs", a->runs, "run folders, or folders with runs in them (default: runs)")
      ->type_name("RUN");
  command->add_flag("--json", a->json, "print JSON");
  command->footer(
      "Residual and error are the latest ones of a running run, else those of its best step.\n\nExamples:\n"
      "  lather status\n  lather status runs/compare-burgers-1 --json");
  command->callback([a] { print_status(*a); });
}

}  // namespace lather::command
