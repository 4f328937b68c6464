// lather export RUN --format npz|vtk|vtu|safetensors|tensorboard
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "arguments.hpp"
#include "commands/commands.hpp"
#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/report/export/export.hpp"
#include "lather/report/export/tensorboard.hpp"
#include "settings.hpp"
#include "terminal.hpp"

namespace lather::command {

namespace {

constexpr std::uint64_t kMostPointsOfAnAxis = 1'000'000'000;

struct ExportArguments {
  std::string run, format = "npz", out;
  std::vector<std::string> derivatives;
  std::vector<std::size_t> grid;
  std::size_t window = 1;
  bool last = false, errors = false;
};

// Throws Error for a grid that this machine cannot hold.
train::Grid grid_for(const pde::Problem& problem, std::vector<std::size_t> counts, std::size_t quantities) {
  const auto dimensions = static_cast<std::size_t>(problem.dimensions());
  if (counts.empty())
    counts.assign(dimensions, dimensions == 1 ? 1001 : dimensions == 2 ? 201 : dimensions == 3 ? 65 : 17);
  if (counts.size() == 1) counts.assign(dimensions, counts[0]);
  if (counts.size() != dimensions)
    throw Error(fmt::format("--grid: expected {} numbers of points, got {}", dimensions, counts.size()));
  double points = 1;  // may exceed any integer
  for (const auto n : counts) points *= static_cast<double>(n);
  constexpr double kCopies = 2;  // the arrays, and the bytes of the file
  const double needed = kCopies * points * static_cast<double>(quantities + dimensions) * sizeof(double);
  if (needed > physical_memory_bytes())
    throw Error(fmt::format(
        "--grid: {:.3g} points of {} quantities need {:.3g} GB of memory, this machine has {:.3g} GB", points,
        quantities, needed / 1e9, physical_memory_bytes() / 1e9));
  return train::grid_of(problem, counts);
}

// From the files in a run folder alone: no network is needed, and none is built.
void export_curves(const ExportArguments& a, const CLI::App& command) {
  for (const char* name : {"--grid", "--derivatives", "--window", "--last", "--errors"})
    if (command.count(name) > 0) throw Error(fmt::format("{}: there is nothing of the kind in curves", name));
  const std::string events = report::tensorboard_events(a.run);
  const std::filesystem::path folder(a.out.empty() ? a.run : a.out);
  std::error_code status;
  std::filesystem::create_directories(folder, status);
  write_result("", folder / report::kTensorboardFile, events);
}

}  // namespace

void add_export(CLI::App& app, int&) {
  auto* command = app.add_subcommand(
      "export", "Export fields (npz, vtk, vtu), the network (safetensors) or curves (tensorboard)");
  auto a = std::make_shared<ExportArguments>();
  command->add_option("run", a->run, "the run folder")->required()->type_name("RUN");
  command
      ->add_option(
          "--format", a->format,
          "npz (NumPy), vtk or vtu (ParaView; vtu: shapes), safetensors (the network) or tensorboard "
          "(the curves)")
      ->check(CLI::IsMember({"npz", "vtk", "vtu", "safetensors", "tensorboard"}));
  command->add_flag("--errors", a->errors, "npz, vtu: residuals, reference and errors as well");
  command->add_option("--out", a->out, "output file, of tensorboard a folder (default: in the run folder)")
      ->type_name("FILE");
  command->add_option("--grid", a->grid, "points along each coordinate: 201,101")
      ->transform(whole_number(1, kMostPointsOfAnAxis))
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--derivatives", a->derivatives,
                   "derivatives to export: u_x,u_xx (default: all of first order)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--window", a->window, "safetensors of a run in time windows: which one, from 1")
      ->transform(whole_number(1, 1000000));
  command->add_flag("--last", a->last, "the last parameters instead of the best ones");
  command->footer(
      "Examples:\n  lather export runs/burgers-ss-esoap-0-1 --format npz --grid 201,101\n"
      "  lather export runs/burgers-ss-esoap-0-1 --format vtk --derivatives u_x,u_xx\n"
      "  lather export runs/burgers-ss-esoap-0-1 --format safetensors --out burgers.safetensors\n"
      "  python3 examples/load_export.py burgers.safetensors 0.5 0.25\n"
      "  lather export runs/burgers-ss-esoap-0-1 --format tensorboard    # then: tensorboard --logdir runs");
  command->callback([a, command] {
    if (a->format == "tensorboard") return export_curves(*a, *command);
    const auto trainer = load_run(a->run);
    const auto solution = trainer->solution(!a->last);
    const auto& problem = solution.problem();
    auto quantities = train::field_values(problem);
    if (a->derivatives.empty())
      for (auto& d : train::first_derivatives(problem)) quantities.push_back(std::move(d));
    for (const auto& name : a->derivatives) quantities.push_back(train::parse_derivative(problem, name));

    const std::string extension = a->format == "vtk" ? "vti" : a->format;
    std::string bytes;
    if (a->format == "safetensors")
      bytes = report::export_safetensors(solution, a->window - 1);
    else {
      const auto grid = grid_for(problem, a->grid, quantities.size());
      if (a->errors && a->format == "vtk") throw Error("--errors: choose --format npz or vtu");
      std::vector<report::NamedArray> more;
      if (a->errors) {
        const auto truth = trainer->reference_values(grid.points());
        if (truth.empty()) say_aside("lather: --errors: no reference is known, residuals only\n");
        more = report::error_arrays(solution, grid, truth);
      }
      bytes = a->format == "npz"   ? report::export_npz(solution, grid, quantities, std::move(more))
              : a->format == "vtu" ? report::export_vtu(solution, grid, quantities, std::move(more))
                                   : report::export_vti(solution, grid, quantities);
    }
    const std::string name = (a->format == "safetensors" ? "network." : "fields.") + extension;
    write_result(a->out, std::filesystem::path(a->run) / name, bytes);
  });
}

}  // namespace lather::command
