// lather eval RUN
#include <fmt/format.h>

#include <memory>

#include "commands.hpp"
#include "lather/train/run_folder/summary.hpp"
#include "settings.hpp"

namespace lather::command {

namespace {

struct EvalArguments {
  std::string run;
  bool best = false, json = false;
};

void print_figures(const nlohmann::json& summary, const nlohmann::json& figures) {
  const auto value = [](const nlohmann::json& v) {
    return v.is_null() ? std::string("-") : fmt::format("{:.6e}", v.get<double>());
  };
  fmt::print("{} trained with {}, seed {}: step {}\n", summary["problem"].get<std::string>(),
             summary["optimizer"].get<std::string>(), summary["seed"].get<std::uint64_t>(),
             figures["step"].get<std::int64_t>());
  fmt::print("\nroot mean square of the residuals at held-out points\n");
  for (const auto& [term, v] : figures["residuals"].items()) fmt::print("  {:<28} {}\n", term, value(v));
  fmt::print("  {:<28} {}\n", "all equations together", value(figures["residual"]));
  if (figures.contains("l2")) {
    fmt::print("\nrelative error against the reference       L2              H1\n");
    for (const auto& [field, v] : figures["l2"].items())
      fmt::print("  {:<28} {:>22} {:>15}\n", field, value(v),
                 figures.contains("h1") && figures["h1"].contains(field) ? value(figures["h1"][field]) : "-");
  }
  if (summary.contains("unknowns")) {
    fmt::print("\nunknowns\n");
    for (const auto& [name, unknown] : summary["unknowns"].items()) {
      fmt::print("  {:<28} {:.12g}", name, unknown["value"].get<double>());
      if (unknown.contains("known"))
        fmt::print("   known {:.12g}, off by {:.3e}", unknown["known"].get<double>(),
                   unknown["value"].get<double>() - unknown["known"].get<double>());
      fmt::print("\n");
    }
  }
  if (const auto note = summary["reference"].get<std::string>(); !note.empty())
    fmt::print("\nreference: {}\n", note);
}

}  // namespace

void add_eval(CLI::App& app, int&) {
  auto* command = app.add_subcommand("eval", "Evaluate a run: residuals, errors, unknowns");
  auto a = std::make_shared<EvalArguments>();
  command->add_option("run", a->run, "the run folder")->required()->type_name("RUN");
  command->add_flag("--best", a->best, "at the best step instead of the last");
  command->add_flag("--json", a->json, "print JSON");
  command->footer(
      "Examples:\n  lather eval runs/burgers-ss-esoap-0-1\n  lather eval runs/burgers-ss-esoap-0-1 --json");
  command->callback([a] {
    auto trainer = load_run(a->run);
    const auto summary = options::to_json(train::summarize(*trainer, true));
    if (a->json)
      fmt::print("{}\n", summary.dump(2));
    else
      print_figures(summary, summary[a->best ? "best" : "final"]);
  });
}

}  // namespace lather::command
