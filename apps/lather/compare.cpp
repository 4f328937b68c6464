// lather compare PROBLEM --optimizers a,b,c --seeds N
#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <memory>

#include "commands.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/report/table.hpp"
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
  bool quiet = false;
};

// The summary of one run: done already, gone on with, or begun. `interrupted` is set by Ctrl-C.
Json run_one(const train::Config& config, const fs::path& path, bool quiet, bool& interrupted) {
  const bool begun = fs::exists(path / "config.json");
  auto folder = begun ? train::RunFolder::open(path) : train::RunFolder::create(path, train::to_json(config));
  if (begun && train::identity(train::config_from_json(train::read_json(path / "config.json"))) !=
                   train::identity(config))
    throw Error(fmt::format("'{}' holds a run with other settings; give another --out", path.string()));
  if (fs::exists(path / "summary.json"))
    if (auto summary = train::read_json(path / "summary.json");
        summary.value("reason", "") != "interrupted" && summary.value("step", 0) >= 1) {
      const bool same_limit =
          train::to_json(train::config_from_json(train::read_json(path / "config.json")))["stop"] ==
          train::to_json(config)["stop"];
      if (same_limit) return summary;
    }
  train::Trainer trainer(config);
  double seconds = 0;
  if (begun) {
    std::vector<std::string> messages;
    seconds = train::restore(trainer, folder, messages);
    for (const auto& message : messages) fmt::print(stderr, "lather: {}\n", message);
    folder.write_json("config.json", train::to_json(config));
  }
  const auto outcome = train_visibly(trainer, folder, {quiet, false}, seconds);
  interrupted = outcome.reason == train::EndReason::interrupted;
  return outcome.summary;
}

double worst(const Json& figures, const char* norm) {
  double value = std::numeric_limits<double>::quiet_NaN();
  if (figures.contains(norm))
    for (const auto& [field, v] : figures[norm].items())
      if (!v.is_null() && !(value >= v.get<double>())) value = v.get<double>();
  return value;
}

std::vector<report::Cell> row_of(const std::string& optimizer, const std::vector<Json>& summaries) {
  std::vector<double> residual, l2, h1, seconds, steps;
  for (const auto& s : summaries) {
    const auto& final = s["final"];
    residual.push_back(final["residual"].is_null() ? std::numeric_limits<double>::quiet_NaN()
                                                   : final["residual"].get<double>());
    l2.push_back(worst(final, "l2"));
    h1.push_back(worst(final, "h1"));
    seconds.push_back(s["seconds"].get<double>());
    steps.push_back(s["step"].get<double>());
  }
  const auto cell = [](const std::vector<double>& values) {
    return report::Cell{"", report::spread_of(values)};
  };
  return {{optimizer, {}},
          cell(residual),
          cell(l2),
          cell(h1),
          {fmt::format("{:.0f}", report::spread_of(steps).mean), {}},
          cell(seconds)};
}

void write_tables(const report::Table& table, const fs::path& folder) {
  write_file_atomically(folder / "table.md", report::to_markdown(table));
  write_file_atomically(folder / "table.csv", report::to_csv(table));
  write_file_atomically(folder / "table.tex", report::to_latex(table));
}

int compare(CompareArguments& a) {
  if (a.seeds < 1) throw Error("--seeds: expected at least one");
  std::vector<std::vector<train::Config>> configs;  // resolved before anything is run: mistakes show at once
  for (const auto& optimizer : a.optimizers) {
    configs.emplace_back();
    a.config.optimizer = optimizer;
    for (std::uint64_t seed = 0; seed < a.seeds; ++seed) {
      a.config.seed = seed;
      configs.back().push_back(train::resolve(request_from(a.config)));
    }
  }
  const std::string problem = configs[0][0].problem_name;
  const fs::path folder =
      a.out.empty() ? train::create_unused_folder("runs", "compare-" + problem) : fs::path(a.out);
  std::error_code status;
  fs::create_directories(folder, status);
  if (status)
    throw Error(fmt::format("cannot create the folder '{}': {}", folder.string(), status.message()));

  report::Table table{{"optimizer", "residual", "L2 error", "H1 error", "steps", "seconds"}, {}};
  for (std::size_t i = 0; i < a.optimizers.size(); ++i) {
    std::vector<Json> summaries;
    for (const auto& config : configs[i]) {
      if (!a.quiet) fmt::print("{} with {}, seed {}\n", problem, a.optimizers[i], config.seed);
      bool interrupted = false;
      summaries.push_back(
          run_one(config, folder / fmt::format("{}-{}", a.optimizers[i], config.seed), a.quiet, interrupted));
      if (interrupted) {
        fmt::print(stderr, "interrupted and saved; go on with the same command and --out {}\n",
                   folder.string());
        return 130;
      }
    }
    table.rows.push_back(row_of(a.optimizers[i], summaries));
    write_tables(table, folder);
  }
  fmt::print(
      "\n{} ({} seeds, mean ± standard deviation, at the last step)\n\n{}\n{} (table.md, table.csv, "
      "table.tex and the runs)\n",
      problem, a.seeds, report::to_markdown(table), folder.string());
  return 0;
}

}  // namespace

void add_compare(CLI::App& app, int& exit_status) {
  auto* command = app.add_subcommand("compare", "Train with several optimizers and seeds, and make a table");
  auto a = std::make_shared<CompareArguments>();
  command->add_option("problem", a->config.problem, "a built-in problem or a problem file")
      ->required()
      ->type_name("PROBLEM");
  command
      ->add_option("--optimizers", a->optimizers, "names, separated by commas (default: adam,soap,ss-esoap)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--seeds", a->seeds, "how many: 0, 1, … (default 3)");
  add_config_options(*command, a->config);
  command->add_option("--out", a->out, "the folder; an interrupted comparison goes on in it")
      ->type_name("DIR");
  command->add_flag("--quiet,-q", a->quiet, "print the table only");
  command->footer(
      "Examples:\n  lather compare burgers --optimizers adam,soap,ss-esoap --seeds 3\n"
      "  lather compare heat-1d --optimizers lbfgs,ss-broyden --seeds 5 --time 60 --out runs/heat");
  command->callback([a, &exit_status] { exit_status = compare(*a); });
}

}  // namespace lather::command
