// lather reproduce NAME…|all --budget quick|short|paper
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "arguments.hpp"
#include "commands/commands.hpp"
#include "lather/core/clock.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/core/peak_memory.hpp"
#include "lather/experiment/pages/tables.hpp"
#include "lather/experiment/pages/write_up.hpp"
#include "lather/experiment/reproduce.hpp"
#include "lather/parallel/in_turn.hpp"
#include "ranks.hpp"
#include "settings.hpp"
#include "terminal.hpp"

namespace lather::command {

namespace {

namespace fs = std::filesystem;

struct ReproduceArguments {
  std::vector<std::string> names;
  std::string budget = "quick", out, device = "cpu", page;
  int jobs = 0, ranks = 0;
  double time_limit = 0;
  bool collect = false, quiet = false;
};

void print_estimate(const std::vector<experiment::Plan>& plans, int jobs) {
  const experiment::Estimate e = experiment::estimate(plans);
  say("{} experiment{}, {} cells, at most {} runs, {} at a time", plans.size(), plans.size() == 1 ? "" : "s",
      e.cells, e.runs, jobs);
  if (e.seconds > 0)
    say("; measured once: {}{} one after another, so about {} here, less what is done",
        e.known ? "" : "more than ", experiment::rough_time(e.seconds),
        experiment::rough_time(e.seconds / jobs));
  say("\n");
}

// With the values of every run beside them; there may be no pictures.
void write_figures(const experiment::Document& page, const std::string& values, const fs::path& folder) {
  train::create_folder(folder);
  page.write_figures(folder);
  write_file_atomically(folder / "values.csv", values);
}

void write_everything(const std::vector<experiment::ExperimentResult>& results, const ReproduceArguments& a,
                      const fs::path& out) {
  for (const auto& result : results)
    for (const auto& note : experiment::write_experiment(result, out))
      say("{}: {}\n", result.plan->experiment->name, note);
  const std::string command = fmt::format("lather reproduce {} --budget {}{}", fmt::join(a.names, " "),
                                          a.budget, a.device == "cpu" ? "" : " --device " + a.device);
  const experiment::Document page = experiment::write_page(results, command);
  const std::string values = report::to_csv(experiment::runs_table(results));
  write_figures(page, values, out / "figures");
  write_file_atomically(out / "index.html", page.html());
  write_file_atomically(out / "reproduction.md", page.markdown("figures"));
  if (a.page.empty()) return;
  const fs::path file = a.page, figures = file.parent_path() / file.stem();
  write_figures(page, values, figures);
  write_output(file, page.markdown(file.stem().string()));
}

int reproduce_all(const ReproduceArguments& a) {
  use_one_heap();  // some of the runs have their memory measured
  parallel::Communicator* ranks = a.collect ? nullptr : join_ranks(a.ranks);
  const auto experiments = experiment::read_experiments(a.names);
  const Device device = train::parse_device(a.device);
  std::vector<experiment::Plan> plans;
  for (const auto& experiment : experiments)
    plans.push_back(experiment::make_plan(experiment, a.budget, device));
  const fs::path out = a.out.empty() ? fs::path("runs") / ("reproduction-" + a.budget) : fs::path(a.out);
  for (const auto& plan : plans) experiment::check_runs(plan);  // mistakes are caught before time is spent

  std::vector<experiment::ExperimentResult> results;
  if (a.collect) {
    if (!fs::is_directory(out))
      throw Error(fmt::format("--collect: there is no folder '{}' with runs to write about", out.string()));
    results = experiment::collect(plans, out);
  } else {
    const int jobs = a.jobs > 0 ? a.jobs : parallel::threads_of(ranks);
    print_estimate(plans, jobs * (ranks ? ranks->size() : 1));
    const CatchInterrupts guard;
    const Stopwatch watch;
    experiment::ReproduceOptions options;
    options.out = out;
    options.jobs = jobs;
    options.times_runs = speaks();
    if (!a.quiet) options.say = [](const std::string& words) { say("{}\n", words); };
    options.left = [&](const experiment::WorkLeft& left) {
      if (left.runs_ended() == left.runs() || !speaks()) return;
      const auto seconds = left.seconds();
      say("{} of {} runs have ended{}\n", left.runs_ended(), left.runs(),
          seconds ? fmt::format("; those that are left take about {} with {} at a time",
                                experiment::rough_time(*seconds), jobs)
                  : "");
    };
    options.stop = &CatchInterrupts::stop();
    if (a.time_limit > 0) options.stop->end_in(a.time_limit + Stop::kGrace);
    options.interrupted = [&] {
      return CatchInterrupts::caught() || (a.time_limit > 0 && watch.seconds() > a.time_limit);
    };
    results = experiment::reproduce(plans, options);
    if (!speaks()) return 0;
    if (ranks && options.interrupted()) ranks->ask_others_to_end();
  }
  std::error_code status;
  fs::create_directories(out, status);
  write_everything(results, a, out);
  say("wrote {0}/index.html, {0}/reproduction.md and tables{1}\n", out.string(),
      a.page.empty() ? "" : " and " + a.page);
  const auto complete =
      std::count_if(results.begin(), results.end(),
                    [](const experiment::ExperimentResult& result) { return result.complete(); });
  if (complete == static_cast<std::ptrdiff_t>(results.size())) return 0;
  say("{} of {} experiments are complete; the same command goes on from here\n", complete, results.size());
  std::size_t failures = 0;
  for (const auto& result : results) failures += result.failures();
  if (failures > 0) {
    say_aside("{} run{} failed: see the end of the sections of {}/reproduction.md\n", failures,
              failures == 1 ? "" : "s", out.string());
    return 1;
  }
  return a.collect ? 0 : 130;
}

// Options of runs, where none is run.
void require_runs_for_options(const CLI::App& reproduce) {
  for (const char* option : {"--jobs", "--ranks", "--time-limit"})
    if (reproduce.count(option) > 0)
      throw Error(fmt::format("{} has no meaning with --collect, which runs nothing", option));
}

}  // namespace

void add_reproduce(CLI::App& app, int& exit_status) {
  auto* reproduce =
      app.add_subcommand("reproduce", "Run experiments of the paper and compare with its numbers");
  auto a = std::make_shared<ReproduceArguments>();
  reproduce
      ->add_option("experiment", a->names,
                   "names, see `lather list experiments`, files, or all (those of the paper)")
      ->required()
      ->type_name("NAME");
  reproduce->add_option("--budget", a->budget, "quick (minutes on two cores), short (a GPU hour), paper")
      ->check(CLI::IsMember({"quick", "short", "paper"}))
      ->capture_default_str();
  reproduce->add_option("--out", a->out,
                        "folder for runs, tables and pages (default: runs/reproduction-BUDGET)");
  reproduce->add_option("--device", a->device, "cpu or cuda")->check(device_name());
  reproduce->add_option("--jobs", a->jobs, "trainings side by side; 0: one per core")
      ->transform(whole_number(0, 256));
  add_ranks_option(*reproduce, a->ranks,
                   "processes on this machine that share the runs, with --jobs at a time each");
  reproduce
      ->add_option("--time-limit", a->time_limit,
                   "save and stop after this many seconds; the same command goes on")
      ->check(real_number(0));
  reproduce->add_flag("--collect", a->collect, "write tables and pages of what is there, run nothing");
  reproduce->add_option("--page", a->page,
                        "also write the page here, as Markdown; pictures into a folder of its name");
  reproduce->add_flag("--quiet", a->quiet, "no line per run");
  reproduce->footer(
      "Finished runs are never repeated, interrupted ones are resumed; runs that several experiments need "
      "are "
      "shared.\n\nExamples:\n  lather reproduce small-network\n  lather reproduce all --budget quick\n"
      "  lather reproduce final-residual --budget short --device cuda --jobs 16 --time-limit 500");
  reproduce->callback([a, reproduce, &exit_status] {
    if (a->collect) require_runs_for_options(*reproduce);
    exit_status = reproduce_all(*a);
  });
}

}  // namespace lather::command
