// lather check: reads a problem and says what was understood.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "commands/commands.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/experiment/plan.hpp"
#include "lather/pde/file/find_problem.hpp"
#include "lather/pde/file/problem_text.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/report/draw/domain_picture.hpp"
#include "lather/train/needs.hpp"
#include "lather/train/recipe.hpp"
#include "lather/train/trainer.hpp"
#include "settings.hpp"
#include "terminal.hpp"

namespace lather::command {

namespace {

void print_training(const train::Config& config) {
  say("memory       {}\n", train::estimate_needs(config, train::read_problem(config)).text());
  const train::Trainer trainer(config);
  const auto names = train::recipe_names(config.problem.tree());
  say("recipe       {}{}{}\n", config.recipe, config.adapted.empty() ? "" : " with " + config.adapted,
      names.empty() ? "" : fmt::format(" (of: {})", fmt::join(names, ", ")));
  say("optimizer    {} ({}), {} steps{}\n", config.optimizer.name, name_of(config.optimizer.entry().family),
      config.stop.steps, trainer.stages() > 1 ? fmt::format(" in {} stages", trainer.stages()) : "");
  say("parameters   {}\n", trainer.parameters().size());
  std::vector<std::string> points;
  for (const auto& [set, count] : config.training.points.points)
    points.push_back(fmt::format("{} {}", set, count));
  for (const auto& set : trainer.problem().point_sets)
    if (set.kind == pde::PointSet::Kind::data)
      points.push_back(fmt::format("{} {} (data)", set.name, set.rows.size()));
  say("points       {}\n", fmt::join(points, ", "));
}

// What an experiment would run, budget by budget.
void check_experiment(const std::filesystem::path& file) {
  const auto experiment = experiment::read_experiment_file(file);
  say("experiment   {}: {}\n", experiment.name, experiment.title);
  if (!experiment.paper.empty()) say("paper        {}\n", experiment.paper);
  for (const auto& [name, budget] : experiment.budgets) {
    const auto plan = experiment::make_plan(experiment, name, Device::cpu);
    say("{:<12} {} cells, {} runs, {} steps{}\n", name, plan.cells.size(), plan.runs(), budget.steps,
        plan.tunes_alone()    ? ", one at a time"
        : plan.trains_alone() ? ", reported runs one at a time"
                              : "");
    for (const auto& metric : experiment.metrics)
      if (metric.step > budget.steps)
        say("{:<12} no values of '{}', which is measured at step {}\n", "", metric.label, metric.step);
  }
  experiment::check_runs(experiment);
}

// A problem with that name takes precedence. Throws Error if there is neither.
bool names_an_experiment(const std::string& name) {
  std::error_code status;
  if (std::filesystem::is_regular_file(name, status))
    return experiment::is_experiment(parse_toml(read_file(name), name));
  if (std::filesystem::exists(name, status) && !std::filesystem::is_directory(name, status))
    return false;  // a FIFO can be read once: as a problem
  const auto known = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto problems = pde::list_problems();
  auto names = experiment::list_experiments();
  if (known(problems)) return false;
  if (known(names)) return true;
  if (std::filesystem::is_directory(name, status))
    throw Error("'" + name + "' is a folder, not a problem or experiment file");
  if (name.find('/') != name.npos || name.ends_with(".toml")) throw Error("there is no file '" + name + "'");
  names.insert(names.end(), problems.begin(), problems.end());
  throw Error(unknown_name_message("problem or experiment", name, names));
}

// An experiment's runs take nothing from the command line.
void require_no_options(const CLI::App& check, const std::string& name) {
  for (const CLI::Option* option : check.get_options())
    if (option->count() > 0 && !option->get_positional())
      throw Error(fmt::format("{}: '{}' is an experiment, and only the check of a problem has this option",
                              option->get_name(), name));
}

void draw_domain(const train::Config& config, const std::string& file) {
  const pde::Problem problem = train::read_problem(config);
  pde::PinnObjective objective(problem);
  const auto x = objective.initialize(config.seed);
  pde::PointSource source(problem, pde::sampling_settings(config.training.points, problem), config.seed);
  source.update(0, objective, x);
  std::vector<pde::Points> points;
  for (std::size_t s = 0; s < problem.point_sets.size(); ++s)
    points.push_back(objective.points(static_cast<int>(s)));
  write_output(file, report::domain_picture(problem, points));
  say("picture      {}\n", file);
}

}  // namespace

void add_check(CLI::App& app, int&) {
  auto* check =
      app.add_subcommand("check", "Check a problem or experiment file and show what was understood");
  auto a = std::make_shared<ConfigArguments>();
  auto svg = std::make_shared<std::string>();
  check->add_option("problem", a->problem, "a file, or the name of a built-in problem or experiment")
      ->required()
      ->type_name("PROBLEM");
  check->add_option("--optimizer", a->optimizer, "optimizer name, see `lather list optimizers`");
  check->add_option("--svg", *svg, "draw the domain with its point sets")->type_name("FILE");
  add_config_options(*check, *a);
  check->footer(
      "Examples:\n  lather check my_pde.toml\n  lather check experiments/kfac.toml\n  lather check burgers "
      "--recipe paper --set "
      "parameters.nu=0.02\n  lather check disk-with-hole --svg domain.svg");
  check->callback([a, svg, check] {
    if (names_an_experiment(a->problem)) {
      require_no_options(*check, a->problem);
      check_experiment(experiment::find_experiment(a->problem));
      return;
    }
    const train::Config config = train::resolve(request_from(*a));
    say("{}", pde::describe(train::read_problem(config)));
    print_training(config);
    if (!svg->empty()) draw_domain(config, *svg);
  });
}

}  // namespace lather::command
