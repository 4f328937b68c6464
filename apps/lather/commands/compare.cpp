// lather compare PROBLEM --optimizers a,b,c --seeds N
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "commands/commands.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/report/comparison.hpp"
#include "lather/train/session.hpp"
#include "settings.hpp"

namespace lather::command {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct CompareArguments {
  ConfigArguments config;
  std::vector<std::string> optimizers{"adam", "soap", "ss-esoap"};
  std::uint64_t seeds = 3;
  std::string out;
  bool quiet = false, last = false;
};

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

int compare(CompareArguments& a) {
  std::vector<std::vector<train::Config>> configs;  // resolved before anything is run: mistakes show at once
  for (const auto& optimizer : a.optimizers) {
    configs.emplace_back();
    a.config.optimizer = optimizer;
    for (std::uint64_t seed = 0; seed < a.seeds; ++seed) {
      a.config.seed = seed;
      configs.back().push_back(train::resolve(request_from(a.config)));
    }
  }
  const std::string problem = configs[0][0].problem.name;
  const fs::path folder =
      a.out.empty() ? train::create_unused_folder("runs", "compare-" + problem) : fs::path(a.out);
  std::error_code status;
  fs::create_directories(folder, status);
  if (status)
    throw Error(fmt::format("cannot create the folder '{}': {}", folder.string(), status.message()));
  require_comparison_or_empty(folder);

  const auto step = a.last ? report::ShownStep::last : report::ShownStep::best;
  std::vector<report::RunGroup> groups;
  for (std::size_t i = 0; i < a.optimizers.size(); ++i) {
    auto& group = groups.emplace_back(report::RunGroup{a.optimizers[i], {}});
    for (const auto& config : configs[i]) {
      if (!a.quiet) fmt::print("{} with {}, seed {}\n", problem, a.optimizers[i], config.seed);
      bool interrupted = false;
      group.summaries.push_back(
          run_one(config, folder / fmt::format("{}-{}", a.optimizers[i], config.seed), a.quiet, interrupted));
      if (interrupted) {
        fmt::print(stderr, "interrupted and saved; resume with the same command and --out {}\n",
                   folder.string());
        return 130;
      }
    }
    write_tables(report::comparison_table(groups, step), folder);
  }
  fmt::print(
      "\n{} ({} seeds, mean ± standard deviation, at the {} step)\n\n{}\n{} (table.md, table.csv, "
      "table.tex and the runs)\n",
      problem, a.seeds, a.last ? "last" : "best", report::to_markdown(report::comparison_table(groups, step)),
      folder.string());
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
  command->add_option("--optimizers", a->optimizers, "comma-separated names (default: adam,soap,ss-esoap)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--seeds", a->seeds, "number of seeds: 0, 1, … (default 3)")
      ->transform(whole_number(1, 1000000));
  add_config_options(*command, a->config);
  command->add_option("--out", a->out, "the folder; an interrupted comparison is resumed in it")
      ->type_name("DIR");
  command->add_flag("--last", a->last, "table at the last step instead of the best one");
  command->add_flag("--quiet,-q", a->quiet, "print only the table");
  command->footer(
      "Examples:\n  lather compare burgers --optimizers adam,soap,ss-esoap --seeds 3\n"
      "  lather compare heat-1d --optimizers lbfgs,ss-broyden --seeds 5 --time 60 --out runs/heat");
  command->callback([a, &exit_status] { exit_status = compare(*a); });
}

}  // namespace lather::command
