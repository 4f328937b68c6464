// lather sweep FILE
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "arguments.hpp"
#include "commands/commands.hpp"
#include "lather/batch/sweep/sweep_page.hpp"
#include "lather/core/clock.hpp"
#include "lather/core/threads.hpp"
#include "settings.hpp"
#include "terminal.hpp"

namespace lather::command {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownPoints = 20;

struct SweepArguments {
  std::string file, out, device = "cpu";
  std::vector<std::string> settings;
  int jobs = 0;
  double time_limit = 0;
  bool collect = false, quiet = false;
};

int sweep(const SweepArguments& a) {
  batch::Sweep sweep = batch::read_sweep_file(a.file);
  const auto more = parse_settings(a.settings);
  sweep.settings.insert(sweep.settings.end(), more.begin(), more.end());
  const Device device = train::parse_device(a.device);
  const std::size_t points = batch::sweep_points(sweep).size();
  const fs::path out = batch::sweep_folder(a.out, sweep);
  const CatchInterrupts guard;
  const Stopwatch watch;
  batch::SweepOptions options;
  options.out = out;
  options.jobs = a.jobs > 0 ? a.jobs : available_cores();
  options.device = device;
  if (!a.quiet) options.say = [](const std::string& words) { say("{}\n", words); };
  options.stop = &CatchInterrupts::stop();
  if (a.time_limit > 0) options.stop->end_in(a.time_limit + Stop::kGrace);
  options.interrupted = [&] {
    return CatchInterrupts::caught() || (a.time_limit > 0 && watch.seconds() > a.time_limit);
  };
  if (!a.quiet && !a.collect)
    say("{}: {} point{} × {} seed{}, {} search, {} at a time, folder {}\n", sweep.name, points,
        points == 1 ? "" : "s", sweep.seeds.size(), sweep.seeds.size() == 1 ? "" : "s", name_of(sweep.search),
        options.jobs, out.string());
  const auto result = a.collect ? batch::collect_sweep(sweep, out, device) : batch::run_sweep(sweep, options);
  batch::write_sweep(sweep, result, out);
  auto table = batch::sweep_table(sweep, result);
  const std::size_t rows = table.rows.size();
  if (rows > kShownPoints) table.rows.resize(kShownPoints);
  say("\n{}{}\n{}/index.html (table.md, table.csv, runs/)\n", report::to_markdown(table),
      rows > kShownPoints ? fmt::format("and {} more\n", rows - kShownPoints) : "", out.string());
  if (result.complete) return 0;
  say_aside("not all runs are done; the same command goes on from here\n");
  return a.collect ? 0 : 130;
}

}  // namespace

void add_sweep(CLI::App& app, int& exit_status) {
  auto* command =
      app.add_subcommand("sweep", "Train over values of settings, several at once, and rank them");
  auto a = std::make_shared<SweepArguments>();
  command->add_option("file", a->file, "the sweep file")->required()->type_name("FILE");
  command->add_option("--out", a->out, "the folder (default: runs/sweep-NAME)")->type_name("DIR");
  command->add_option("--jobs", a->jobs, "trainings side by side; 0: one per core")
      ->transform(whole_number(0, 256));
  command->add_option("--device", a->device, "cpu or cuda")->check(device_name());
  command->add_option("--set", a->settings, "change a setting of all runs, over the file's")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--time-limit", a->time_limit,
                   "save and stop after this many seconds; the same command goes on")
      ->check(real_number(0));
  command->add_flag("--collect", a->collect, "write the table and the page of what is there, run nothing");
  command->add_flag("--quiet,-q", a->quiet, "print only the table");
  command->footer(
      "Finished runs are never repeated, interrupted and killed ones are resumed: give the same command "
      "again.\n"
      "docs/sweeps.md has every key of a sweep file.\n\nExamples:\n"
      "  lather sweep examples/sweep.toml\n  lather sweep examples/sweep.toml --jobs 1 --time-limit 600\n"
      "  lather watch runs/sweep-rates");
  command->callback([a, &exit_status] { exit_status = sweep(*a); });
}

}  // namespace lather::command
