// lather check: reads a problem and says what was understood.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "commands/commands.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
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
  auto* check = app.add_subcommand("check", "Check a problem file and show what was understood");
  auto a = std::make_shared<ConfigArguments>();
  auto svg = std::make_shared<std::string>();
  check->add_option("problem", a->problem, "a file, or the name of a built-in problem")
      ->required()
      ->type_name("PROBLEM");
  check->add_option("--optimizer", a->optimizer, "optimizer name, see `lather list optimizers`");
  check->add_option("--svg", *svg, "draw the domain with its point sets")->type_name("FILE");
  add_config_options(*check, *a);
  check->footer(
      "Examples:\n  lather check my_pde.toml\n  lather check burgers --recipe paper --set "
      "parameters.nu=0.02\n  lather check disk-with-hole --svg domain.svg");
  check->callback([a, svg] {
    const train::Config config = train::resolve(request_from(*a));
    say("{}", pde::describe(train::read_problem(config)));
    print_training(config);
    if (!svg->empty()) draw_domain(config, *svg);
  });
}

}  // namespace lather::command
