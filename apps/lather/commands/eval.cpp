// lather eval RUN
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "lather/train/accuracy/accuracy.hpp"
#include "lather/train/local_run.hpp"
#include "lather/train/run_folder/summary.hpp"
#include "settings.hpp"
#include "terminal.hpp"

namespace lather::command {

namespace {

struct EvalArguments {
  std::string run;
  bool last = false, json = false;
};

std::string number_text(double v) { return std::isnan(v) ? "-" : fmt::format("{:.6e}", v); }

std::string term_note(const train::Summary& summary, const std::string& term) {
  const auto rows = summary.held_out_rows.find(term);
  if (rows == summary.held_out_rows.end()) return "";
  return rows->second > 0 ? fmt::format("   ({} held-out rows)", rows->second)
                          : "   (the rows trained on: none are held out)";
}

void print_metrics(const train::Summary& summary, const train::NamedMetrics& metrics, bool last) {
  if (summary.optimizer == train::kLocalName)
    say("{} by local polynomials, {} rounds: {}\n", summary.problem, summary.step, summary.message);
  else
    say("{} trained with {}, seed {}: step {} ({}; {} is step {})\n", summary.problem, summary.optimizer,
        summary.seed, metrics.step, last ? "the last" : "the best held-out loss",
        last ? "the best" : "the last", last ? summary.best.step : summary.final.step);
  say("\n{:<31}{:>22} {:>15}\n", "residuals at held-out points", "root mean square", "mean square");
  for (const auto& [term, value] : metrics.residuals)
    say("  {:<28} {:>22} {:>15}{}\n", term, number_text(value), number_text(value * value),
        term_note(summary, term));
  say("  {:<28} {:>22} {:>15}\n", "all equations together", number_text(metrics.residual),
      number_text(metrics.mean_square_residual));
  if (!metrics.l2.empty()) {
    say("\n{:<36}{:>17} {:>15}   ({})\n", "relative error against the reference", "L2", "H1",
        train::where_errors_are_taken(metrics.error_grid));
    for (const auto& [field, value] : metrics.l2)
      say("  {:<28} {:>22} {:>15}\n", field, number_text(value),
          metrics.h1.contains(field) ? number_text(metrics.h1.at(field)) : "-");
  }
  if (!summary.unknowns.empty()) say("\nunknowns\n");
  for (const auto& [name, unknown] : summary.unknowns) {
    const double value = last ? unknown.last : unknown.value;
    say("  {:<28} {:.12g}", name, value);
    if (unknown.known) say("   known {:.12g}, off by {:.3e}", *unknown.known, value - *unknown.known);
    say("\n");
  }
  if (!summary.reference.empty()) say("\nreference: {}\n", summary.reference);
}

}  // namespace

void add_eval(CLI::App& app, int&) {
  auto* command = app.add_subcommand("eval", "Evaluate a run: residuals, errors, unknowns");
  auto a = std::make_shared<EvalArguments>();
  command->add_option("run", a->run, "the run folder")->required()->type_name("RUN");
  command->add_flag("--last", a->last, "at the last step instead of the best one");
  command->add_flag("--json", a->json, "print JSON");
  command->footer(
      "Examples:\n  lather eval runs/burgers-ss-esoap-0-1\n  lather eval runs/burgers-ss-esoap-0-1 --last "
      "--json");
  command->callback([a] {
    const auto summary = train::LocalRun::is_in(a->run) ? train::LocalRun::read(a->run).summarize()
                                                        : train::summarize(*load_run(a->run), true);
    if (a->json)
      say("{}\n", options::to_json(summary).dump(2));
    else
      print_metrics(summary, a->last ? summary.final : summary.best, a->last);
  });
}

}  // namespace lather::command
