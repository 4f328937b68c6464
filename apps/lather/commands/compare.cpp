// lather compare PROBLEM --optimizers a,b,c --seeds N
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "arguments.hpp"
#include "commands/commands.hpp"
#include "lather/batch/compare.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/parallel/in_turn.hpp"
#include "lather/train/session.hpp"
#include "ranks.hpp"
#include "settings.hpp"
#include "terminal.hpp"

namespace lather::command {

namespace {

namespace fs = std::filesystem;

struct CompareArguments {
  ConfigArguments config;
  std::vector<std::string> optimizers{"adam", "soap", "ss-esoap"};
  std::uint64_t seeds = 3;
  std::vector<std::string> own_settings;  // LABEL:KEY=VALUE
  std::optional<double> equal_time;
  std::string out;
  int ranks = 0, jobs = 1;
  bool quiet = false, last = false, share = false;
};

using batch::ComparedRun;
using batch::Contestant;

// "slow=adam" is adam under the name slow, with settings of its own.
std::vector<Contestant> contestants_of(const CompareArguments& a) {
  std::vector<Contestant> all;
  std::vector<std::string> labels;
  for (const auto& word : a.optimizers) {
    const auto equals = word.find('=');
    all.push_back({word.substr(0, equals), equals == word.npos ? word : word.substr(equals + 1), {}});
    labels.push_back(all.back().label);
  }
  for (const auto& text : a.own_settings) {
    const auto colon = text.find(':');
    if (colon == text.npos || colon == 0)
      throw Error(fmt::format(
          "--for {}: expected OPTIMIZER:KEY=VALUE, such as adam:optimizer.learning_rate=1e-3", text));
    const auto found = std::find(labels.begin(), labels.end(), text.substr(0, colon));
    if (found == labels.end())
      throw Error(fmt::format("--for {}: {}", text,
                              unknown_name_message("optimizer", text.substr(0, colon), labels)));
    const auto own = parse_settings({text.substr(colon + 1)});
    auto& settings = all[static_cast<std::size_t>(found - labels.begin())].settings;
    settings.insert(settings.end(), own.begin(), own.end());
  }
  return all;
}

// Works on runs that no other process has taken, until all are done; false: interrupted. Each process starts
// at a different place in the list.
bool share_runs(const std::vector<ComparedRun>& runs, const fs::path& folder, std::size_t place,
                bool quiet) try {
  const CatchInterrupts guard;
  const StopScope scope(CatchInterrupts::stop());
  for (;;) {
    bool done = true, worked = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto& [config, name] = runs[(place + i) % runs.size()];
      const fs::path path = folder / name;
      require_found_folder(path);
      if (!train::finished_summary(config, path).is_null()) continue;
      done = false;
      auto session = train::claim_session(config, path);
      if (!session) continue;
      worked = true;
      if (!quiet) say("{}\n", path.filename().string());
      for (const auto& message : session->messages) say_aside("lather: {}\n", message);
      const auto outcome =
          train_with_progress(*session->trainer, *session->folder, {quiet, false}, session->seconds);
      if (outcome.reason == train::EndReason::interrupted) return false;
    }
    if (done) return true;
    if (CatchInterrupts::caught()) return false;
    if (!worked) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
} catch (const Interrupted&) {
  return false;
}

int interrupted_in(const fs::path& folder) {
  say_aside("interrupted and saved; resume with the same command and --out {}\n", folder.string());
  return 130;
}

int compare(CompareArguments& a) {
  parallel::Communicator* ranks = join_ranks(a.ranks);
  if ((ranks || a.share) && a.config.threads == 0) a.config.threads = 1;  // the same numbers on any number
  if (a.share && a.out.empty()) throw Error("--share needs --out: the folder that the processes share");
  if (a.equal_time) a.config.seconds = a.equal_time;
  if ((ranks || a.share) && a.jobs > 1)
    throw Error("--jobs cannot be combined with --ranks, mpirun or --share: start more processes instead");
  if (a.jobs > 1 && a.config.threads == 0) a.config.threads = 1;
  batch::ComparisonRequest wanted;
  const auto runs = parallel::first_rank_first(ranks, [&] {
    wanted = {request_from(a.config), contestants_of(a), {}, a.equal_time.has_value()};
    for (std::uint64_t seed = 0; seed < a.seeds; ++seed) wanted.seeds.push_back(seed);
    return batch::compared_runs(wanted);
  });
  const std::string problem = runs[0][0].config.problem.name;
  std::string chosen;
  if (speaks()) chosen = batch::comparison_folder(a.out, problem).string();
  if (ranks) ranks->broadcast(chosen);
  const fs::path folder = chosen;
  if (ranks || a.share) {
    std::vector<ComparedRun> all;
    for (const auto& list : runs) all.insert(all.end(), list.begin(), list.end());
    const std::size_t place = ranks ? all.size() * ranks->rank() / ranks->size() : 0;
    if (!share_runs(all, folder, place, a.quiet)) {
      if (ranks) ranks->ask_others_to_end();
      return interrupted_in(folder);
    }
    if (!speaks()) return 0;
  }

  const CatchInterrupts guard;
  batch::CompareOptions options;
  options.out = folder;
  options.jobs = a.jobs;
  options.step = a.last ? report::ShownStep::last : report::ShownStep::best;
  options.interrupted = CatchInterrupts::caught;
  options.stop = &CatchInterrupts::stop();
  if (!a.quiet) options.say = [](const std::string& words) { say("{}\n", words); };
  if (a.jobs == 1)
    options.train = [&](train::Session& session) {
      return train_with_progress(*session.trainer, *session.folder, {a.quiet, false}, session.seconds);
    };
  const auto result = batch::run_comparison(wanted, runs, options);
  if (!result.complete) return interrupted_in(folder);
  say("\n{} ({} seed{}, mean ± standard deviation, at the {} step{})\n\n{}\n{} (table.md, table.csv, "
      "table.tex and the runs)\n",
      problem, a.seeds, a.seeds == 1 ? "" : "s", a.last ? "last" : "best",
      a.equal_time ? fmt::format(", {:g} s of training each", *a.equal_time) : "",
      report::to_markdown(result.table), folder.string());
  return 0;
}

}  // namespace

void add_compare(CLI::App& app, int& exit_status) {
  auto* command =
      app.add_subcommand("compare", "Train with several optimizers and seeds and tabulate the results");
  auto a = std::make_shared<CompareArguments>();
  command->add_option("problem", a->config.problem, "a built-in problem or a problem file")
      ->required()
      ->type_name("PROBLEM");
  command
      ->add_option("--optimizers", a->optimizers,
                   "comma-separated names, or LABEL=NAME to have one twice (default: adam,soap,ss-esoap)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--seeds", a->seeds, "number of seeds: 0, 1, … (default 3)")
      ->transform(whole_number(1, 1000000));
  add_config_options(*command, a->config);
  command
      ->add_option("--for", a->own_settings,
                   "change an option for one of them: adam:optimizer.learning_rate=1e-3")
      ->type_name("OPTIMIZER:KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--equal-time", a->equal_time,
          "each run trains for this many seconds, whatever its steps cost; no number of steps ends it")
      ->check(real_number(0.001))
      ->excludes(command->get_option("--time"))
      ->excludes(command->get_option("--steps"));
  command->add_option("--out", a->out, "the folder; an interrupted comparison is resumed in it")
      ->type_name("DIR");
  command->add_option("--jobs", a->jobs, "trainings side by side, one thread each (default 1)")
      ->transform(whole_number(1, 256));
  add_ranks_option(*command, a->ranks, "processes on this machine that share the runs, one thread each");
  command->add_flag("--share", a->share,
                    "other processes work on the same comparison in --out, also on other machines");
  command->add_flag("--last", a->last, "table at the last step instead of the best one");
  command->add_flag("--quiet,-q", a->quiet, "print only the table");
  command->footer(
      "Examples:\n  lather compare burgers --optimizers adam,soap,ss-esoap --seeds 3\n"
      "  lather compare heat-1d --optimizers lbfgs,ss-broyden --seeds 5 --time 60 --out runs/heat\n"
      "  lather compare burgers --optimizers lm,adam,slow=adam --for slow:optimizer.learning_rate=1e-4 "
      "--equal-time 30\n"
      "  lather compare burgers --seeds 8 --ranks 4");
  command->callback([a, &exit_status] { exit_status = compare(*a); });
}

}  // namespace lather::command
