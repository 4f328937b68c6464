// lather predict RUN POINTS.csv
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "commands/commands.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/report/export/csv.hpp"
#include "settings.hpp"
#include "terminal.hpp"

namespace lather::command {

namespace {

struct PredictArguments {
  std::string run, points, out;
  std::vector<std::string> derivatives;
  bool last = false;
};

pde::Points points_of(const report::NumberTable& table, const pde::Problem& problem,
                      const std::string& file) {
  pde::Points points;
  const auto& coordinates = problem.symbols->coordinate_names();
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    const auto found = std::find(table.names.begin(), table.names.end(), coordinates[i]);
    if (found == table.names.end())
      throw Error({file, 1, 0},
                  fmt::format("no column '{}'; the coordinates are {}, the columns {}", coordinates[i],
                              fmt::join(coordinates, ", "), fmt::join(table.names, ", ")));
    points.coordinates.push_back(table.columns[found - table.names.begin()]);
  }
  return points;
}

// A network gives values outside its domain too, but it was not trained there.
void warn_outside(const pde::Points& points, const pde::Problem& problem) {
  std::size_t outside = 0;
  for (std::size_t i = 0; i < points.count(); ++i)
    outside += std::any_of(problem.domain.begin(), problem.domain.end(),
                           [&, k = std::size_t{0}](const pde::Interval& d) mutable {
                             const double x = points.coordinates[k++][i];
                             return !(x >= d.low && x <= d.high);
                           });
  if (outside > 0)
    say_aside("lather: {} of {} points lie outside the domain, where nothing was trained\n", outside,
              points.count());
}

}  // namespace

void add_predict(CLI::App& app, int&) {
  auto* command = app.add_subcommand("predict", "Evaluate the fields of a run at points from a CSV file");
  auto a = std::make_shared<PredictArguments>();
  command->add_option("run", a->run, "the run folder")->required()->type_name("RUN");
  command->add_option("points", a->points, "CSV file with one column per coordinate")
      ->required()
      ->type_name("POINTS");
  command->add_option("--derivatives", a->derivatives, "add derivatives: u_x,u_xx")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--out", a->out, "write to this file (default: standard output)")->type_name("FILE");
  command->add_flag("--last", a->last, "the last parameters instead of the best ones");
  command->footer(
      "Examples:\n  lather predict runs/burgers-ss-esoap-0-1 points.csv\n"
      "  lather predict runs/burgers-ss-esoap-0-1 points.csv --derivatives u_x,u_xx --out values.csv");
  command->callback([a] {
    std::error_code status;
    if (!a->out.empty() && std::filesystem::equivalent(a->out, a->points, status))
      throw Error(fmt::format("--out {}: this is the file of the points; give another name", a->out));
    auto table = report::parse_csv(read_file(a->points), a->points);
    const auto fields = load_fields(a->run, !a->last);
    const auto points = points_of(table, fields->problem(), a->points);
    warn_outside(points, fields->problem());
    auto quantities = train::field_values(fields->problem());
    for (const auto& name : a->derivatives)
      quantities.push_back(train::parse_derivative(fields->problem(), name));
    auto values = fields->evaluate(quantities, points);
    for (std::size_t q = 0; q < quantities.size(); ++q) {
      table.names.push_back(quantities[q].name);
      table.columns.push_back(std::move(values[q]));
    }
    if (a->out.empty())
      say("{}", report::encode_csv(table));
    else
      write_output(a->out, report::encode_csv(table));
  });
}

}  // namespace lather::command
