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
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/parallel/in_turn.hpp"
#include "lather/report/comparison.hpp"
#include "lather/train/run_folder/run_folder.hpp"
#include "lather/train/session.hpp"
#include "ranks.hpp"
#include "settings.hpp"

namespace lather::command {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct CompareArguments {
  ConfigArguments config;
  std::vector<std::string> optimizers{"adam", "soap", "ss-esoap"};
  std::uint64_t seeds = 3;
  std::vector<std::string> own_settings;  // LABEL:KEY=VALUE
  std::optional<double> equal_time;
  std::string out;
  int ranks = 0;
  bool quiet = false, last = false, share = false;
};

struct PlannedRun {
  train::Config config;
  fs::path path;
};

// "slow=adam" is adam under the name slow, with settings of its own.
struct Contestant {
  std::string label, optimizer;
  std::vector<std::string> settings;
};

std::vector<Contestant> contestants_of(const CompareArguments& a) {
  std::vector<Contestant> all;
  std::vector<std::string> labels;
  for (const auto& word : a.optimizers) {
    const auto equals = word.find('=');
    Contestant one{word.substr(0, equals), equals == word.npos ? word : word.substr(equals + 1), {}};
    if (one.label.empty() || one.label.find_first_of("/:. ") != std::string::npos)
      throw Error(fmt::format("--optimizers {}: expected NAME or LABEL=NAME; a label names folders", word));
    if (std::find(labels.begin(), labels.end(), one.label) != labels.end())
      throw Error(fmt::format(
          "--optimizers: '{0}' is there twice; call one of them something else: other={0}", one.label));
    labels.push_back(one.label);
    all.push_back(std::move(one));
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
    all[static_cast<std::size_t>(found - labels.begin())].settings.push_back(text.substr(colon + 1));
  }
  return all;
}

// The summary of one run: done already, gone on with, or begun. `interrupted` is set by Ctrl-C.
Json run_one(const train::Config& config, const fs::path& path, bool quiet, bool& interrupted) {
  if (auto summary = train::finished_summary(config, path); !summary.is_null()) return summary;
  auto session = train::begin_or_resume_session(config, path);
  for (const auto& message : session.messages) fmt::print(stderr, "lather: {}\n", message);
  const auto outcome =
      train_with_progress(*session.trainer, *session.folder, {quiet, false}, session.seconds);
  interrupted = outcome.reason == train::EndReason::interrupted;
  return options::to_json(outcome.summary);
}

// Works on the runs that no other process has, until all are done; false: interrupted. Every process begins
// at another place of the list.
bool share_runs(const std::vector<PlannedRun>& runs, std::size_t place, bool quiet) {
  const CatchInterrupts guard;
  for (;;) {
    bool done = true, worked = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto& [config, path] = runs[(place + i) % runs.size()];
      if (!train::finished_summary(config, path).is_null()) continue;
      done = false;
      auto session = train::claim_session(config, path);
      if (!session) continue;
      worked = true;
      if (!quiet) fmt::print("{}\n", path.filename().string());
      for (const auto& message : session->messages) fmt::print(stderr, "lather: {}\n", message);
      const auto outcome =
          train_with_progress(*session->trainer, *session->folder, {quiet, false}, session->seconds);
      if (outcome.reason == train::EndReason::interrupted) return false;
    }
    if (done) return true;
    if (CatchInterrupts::caught()) return false;
    if (!worked) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

// An earlier comparison may go on in its folder; beside other files nothing is written.
void require_comparison_or_empty(const fs::path& folder) {
  std::string other;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() == "table.md" || fs::exists(entry.path() / "config.json")) return;
    other = entry.path().filename().string();
  }
  if (!other.empty())
    throw Error(
        fmt::format("the folder '{}' is neither empty nor that of a comparison (it holds '{}'); give "
                    "another --out",
                    folder.string(), other));
}

void write_tables(const report::Table& table, const fs::path& folder) {
  write_file_atomically(folder / "table.md", report::to_markdown(table));
  write_file_atomically(folder / "table.csv", report::to_csv(table));
  write_file_atomically(folder / "table.tex", report::to_latex(table));
}

// Resolved before anything is run: mistakes show at once.
std::vector<std::vector<train::Config>> resolve_all(const CompareArguments& a,
                                                    const std::vector<Contestant>& contestants) {
  std::vector<std::vector<train::Config>> configs;
  for (const auto& one : contestants) {
    configs.emplace_back();
    ConfigArguments arguments = a.config;
    arguments.optimizer = one.optimizer;
    arguments.settings.insert(arguments.settings.end(), one.settings.begin(), one.settings.end());
    for (arguments.seed = 0; arguments.seed < a.seeds; ++arguments.seed) {
      configs.back().push_back(train::resolve(request_from(arguments)));
      if (a.equal_time) train::limit_by_time_only(configs.back().back());
    }
  }
  return configs;
}

fs::path make_folder(const CompareArguments& a, const std::string& problem) {
  fs::path folder =
      a.out.empty() ? train::create_unused_folder("runs", "compare-" + problem) : fs::path(a.out);
  train::create_folder(folder);
  require_comparison_or_empty(folder);
  return folder;
}

int interrupted_in(const fs::path& folder) {
  fmt::print(stderr, "interrupted and saved; resume with the same command and --out {}\n", folder.string());
  return 130;
}

int compare(CompareArguments& a) {
  parallel::Communicator* ranks = join_ranks(a.ranks);
  if ((ranks || a.share) && a.config.threads == 0) a.config.threads = 1;  // the same numbers on any number
  if (a.share && a.out.empty()) throw Error("--share needs --out: the folder that the processes share");
  if (a.equal_time) a.config.seconds = a.equal_time;
  std::vector<Contestant> contestants;
  const auto configs = parallel::first_rank_first(ranks, [&] {
    contestants = contestants_of(a);
    return resolve_all(a, contestants);
  });
  const auto folder_of = [&](const fs::path& parent, std::size_t i, std::uint64_t seed) {
    return parent / fmt::format("{}-{}", contestants[i].label, seed);
  };
  const std::string problem = configs[0][0].problem.name;
  std::string chosen;
  if (speaks()) chosen = make_folder(a, problem).string();
  if (ranks) ranks->broadcast(chosen);
  const fs::path folder = chosen;
  if (ranks || a.share) {
    std::vector<PlannedRun> runs;
    for (std::size_t i = 0; i < configs.size(); ++i)
      for (const auto& config : configs[i]) runs.push_back({config, folder_of(folder, i, config.seed)});
    const std::size_t place = ranks ? runs.size() * ranks->rank() / ranks->size() : 0;
    if (!share_runs(runs, place, a.quiet)) {
      if (ranks) ranks->ask_others_to_end();
      return interrupted_in(folder);
    }
    if (!speaks()) return 0;
  }

  const auto step = a.last ? report::ShownStep::last : report::ShownStep::best;
  std::vector<report::RunGroup> groups;
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    const auto& label = contestants[i].label;
    auto& group = groups.emplace_back(report::RunGroup{label, {}});
    for (const auto& config : configs[i]) {
      if (!a.quiet && !ranks && !a.share) fmt::print("{} with {}, seed {}\n", problem, label, config.seed);
      bool interrupted = false;
      group.summaries.push_back(run_one(config, folder_of(folder, i, config.seed), a.quiet, interrupted));
      if (interrupted) return interrupted_in(folder);
    }
    write_tables(report::comparison_table(groups, step), folder);
  }
  fmt::print(
      "\n{} ({} seeds, mean ± standard deviation, at the {} step{})\n\n{}\n{} (table.md, table.csv, "
      "table.tex and the runs)\n",
      problem, a.seeds, a.last ? "last" : "best",
      a.equal_time ? fmt::format(", {:g} s of training each", *a.equal_time) : "",
      report::to_markdown(report::comparison_table(groups, step)), folder.string());
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
