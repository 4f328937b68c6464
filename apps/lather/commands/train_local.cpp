#include "commands/train_local.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lather/train/accuracy/accuracy.hpp"
#include "lather/train/local_run.hpp"
#include "terminal.hpp"

namespace lather::command {

namespace {

void print_round(const local::Round& r) {
  say("round {:<3} {:>6} boxes {:>8} unknowns   left over {:.1e}   change {}   {:.1f} s{}\n", r.number,
      r.patches, r.unknowns, r.left_over,
      std::isfinite(r.change) ? fmt::format("{:.1e}", r.change) : "-      ", r.seconds,
      r.highest_factor > 1 ? fmt::format("   highest derivatives x {:.3g}", r.highest_factor) : "");
}

void print_end(const train::LocalRun& run, const train::Summary& summary,
               const std::filesystem::path& folder) {
  const auto& result = run.result();
  say("{}\n", result.message);
  for (std::size_t f = 0; f < result.estimated.size(); ++f)
    say("  {}: estimated relative L2 error {:.1e}\n", run.problem().fields[f].name, result.estimated[f]);
  for (const auto& [field, value] : summary.best.l2)
    say("  {}: L2 error against the reference {:.3e} ({})\n", field, value,
        train::where_errors_are_taken(summary.best.error_grid));
  say("ended: {} ({:.1f} s)\n", result.stopped, result.seconds);
  say("folder: {} (solution.local, rounds.csv, summary.json)\n", folder.string());
}

}  // namespace

int train_local(const ConfigArguments& arguments, const std::string& out, const OutputMode& mode) {
  train::LocalRun run(train::resolve_local(request_from(arguments)));
  const std::filesystem::path folder =
      out.empty() ? train::create_unused_folder("runs", run.config().problem.name + "-local")
                  : std::filesystem::path(out);
  const bool talks = !mode.quiet && !mode.json;
  for (const auto& warning : run.problem().warnings)
    if (!mode.quiet) say_aside("lather: warning: {}\n", warning);
  if (talks)
    say("{} by local polynomials, {} threads, folder {}\n", run.config().problem.name,
        run.config().options.threads, folder.string());
  const CatchInterrupts guard;
  local::Watcher watcher;
  watcher.interrupted = CatchInterrupts::caught;
  if (talks) watcher.round = print_round;
  const auto summary = run.solve(folder, watcher);
  if (mode.json) {
    auto json = train::read_json(folder / "summary.json");
    json["folder"] = folder.string();
    say("{}\n", json.dump(2));
  } else if (talks) {
    print_end(run, summary, folder);
  }
  if (run.result().stopped == "interrupted") return 130;
  return run.result().verdict == local::Verdict::not_solved ? 3 : 0;
}

}  // namespace lather::command
