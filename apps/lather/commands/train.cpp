// lather train
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "arguments.hpp"
#include "commands/commands.hpp"
#include "commands/train_local.hpp"
#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/core/threads.hpp"
#include "lather/parallel/in_turn.hpp"
#include "lather/train/accuracy/accuracy.hpp"
#include "lather/train/local_run.hpp"
#include "lather/train/needs.hpp"
#include "lather/train/session.hpp"
#include "lather/train/size_defaults.hpp"
#include "progress.hpp"
#include "ranks.hpp"
#include "settings.hpp"
#include "terminal.hpp"
#include "watch_process.hpp"

namespace lather::command {

namespace {

struct TrainArguments {
  ConfigArguments config;
  std::string resume, config_file, out, from, reduction = "host";
  int ranks = 0;
  OutputMode mode;
  bool watch = false;
};

void print_summary_line(const char* title, const train::NamedMetrics& metrics) {
  std::string text = fmt::format("{:<6} step {:<8}", title, metrics.step);
  if (!std::isnan(metrics.residual))
    text += fmt::format(" residual {:.3e} (rms), {:.3e} (mean square)", metrics.residual,
                        metrics.mean_square_residual);
  for (const auto& [field, value] : metrics.l2)
    if (!std::isnan(value)) text += fmt::format("  L2 error of {} {:.3e}", field, value);
  for (const auto& [field, value] : metrics.h1)
    if (!std::isnan(value)) text += fmt::format("  H1 error of {} {:.3e}", field, value);
  say("{}\n", text);
}

void print_end(const train::Outcome& outcome, const train::RunFolder& folder) {
  const auto& s = outcome.summary;
  say("ended: {} ({} at {:.1f} steps/s)\n", outcome.message, duration(s.seconds), s.steps_per_second);
  print_summary_line("last", s.final);
  print_summary_line("best", s.best);
  if (!s.best.l2.empty()) say("       errors {}\n", train::where_errors_are_taken(s.best.error_grid));
  for (const auto& [name, rows] : s.held_out_rows)
    if (rows > 0) say("       {} rows of '{}' are held out\n", rows, name);
  for (const auto& [name, unknown] : s.unknowns) {
    say("found  {} = {:.12g}", name, unknown.value);
    if (unknown.known) say(" (known: {:.12g})", *unknown.known);
    if (unknown.last != unknown.value) say("; at the last step {:.12g}", unknown.last);
    say("\n");
  }
  if (!s.reference.empty()) say("reference: {}\n", s.reference);
  if (!s.unsolved.empty()) say("{}\n", s.unsolved);
  if (!s.overfitting.empty()) say("overfitting: {}\n", s.overfitting);
  say("memory: {} at most{}\n", readable_bytes(static_cast<double>(s.peak_host_bytes)),
      s.peak_device_bytes > 0
          ? fmt::format(", {} on the GPU", readable_bytes(static_cast<double>(s.peak_device_bytes)))
          : "");
  say("folder: {} (history.csv, summary.json, fields.json, checkpoints/)\n", folder.path().string());
}

int end(const train::Outcome& outcome, const train::RunFolder& folder, const train::Trainer& trainer,
        const OutputMode& mode) {
  if (mode.json) {
    auto summary = options::to_json(outcome.summary);
    summary["folder"] = folder.path().string();
    say("{}\n", summary.dump(2));
  } else if (!mode.quiet) {
    print_end(outcome, folder);
  }
  if (outcome.reason == train::EndReason::interrupted)
    say_aside("interrupted at step {} and saved; resume with: lather train --resume {}\n", trainer.step(),
              folder.path().string());
  return exit_status_of(outcome, trainer.config());
}

train::NewLimits limits_of(const ConfigArguments& a) {
  train::NewLimits limits{a.steps, a.patience, a.seconds, {}};
  if (!a.target.empty()) limits.target = train::parse_target(a.target);
  return limits;
}

void say_each(const std::vector<std::string>& messages) {
  for (const auto& message : messages) say_aside("lather: {}\n", message);
}

void warn_of_idle_ranks(const train::Config& config) {
  const auto shards = config.shards > 0 ? config.shards : config.threads;
  if (config.ranks && shards < config.ranks->size())
    say_aside("lather: warning: the run has {} shards, so {} of {} ranks have nothing to do\n", shards,
              config.ranks->size() - shards, config.ranks->size());
}

void choose_reduction(const TrainArguments& a) {
  if (a.reduction == "host") return;
  if (!a.config.ranks)
    throw Error(fmt::format(
        "--reduction {}: NCCL adds up what ranks have; give --ranks, or use mpirun or srun", a.reduction));
  const bool in_order = a.reduction == "nccl";
  a.config.ranks->set_reduction(in_order ? parallel::Reduction::nccl : parallel::Reduction::nccl_sum);
  if (!in_order && !a.mode.quiet)
    say_aside("lather: --reduction nccl-sum: the last digits depend on the number of ranks\n");
}

int resume(const TrainArguments& a) {
  auto session = train::resume_session(a.resume, limits_of(a.config), a.config.ranks);
  say_each(session.messages);
  warn_of_idle_ranks(session.trainer->config());
  if (!a.mode.quiet && !a.mode.json)
    say("resuming {} at step {}\n", session.folder->path().string(), session.trainer->step());
  std::optional<WatchProcess> watch;
  if (a.watch && speaks()) watch.emplace(session.folder->path());
  const auto outcome = train_with_progress(*session.trainer, *session.folder, a.mode, session.seconds);
  return end(outcome, *session.folder, *session.trainer, a.mode);
}

// Before the run: what it will take.
std::string memory(const train::Trainer& trainer) {
  const train::Needs needs = train::estimate_needs(trainer.config(), trainer.problem());
  std::string text = "about " + readable_bytes(needs.host_bytes()) + " of memory";
  if (needs.device_bytes() > 0) text += fmt::format(", {} on the GPU", readable_bytes(needs.device_bytes()));
  return text;
}

void warn_of_threads(const train::Config& config) {
  const int cores = available_cores();
  if (config.device == Device::cpu && !config.ranks && config.threads > cores)
    say_aside("lather: warning: {} threads on {} core{} wait for one another; --threads {} is faster\n",
              config.threads, cores, cores == 1 ? "" : "s", cores);
}

train::Config config_of(const TrainArguments& a) {
  train::Config config;
  if (a.config_file.empty()) {
    config = train::resolve(request_from(a.config));
  } else {
    config = train::read_config(a.config_file);
    config.ranks = a.config.ranks;
    train::apply_limits(config.stop, limits_of(a.config));
    train::require_measurable_target(config, train::read_problem(config));
  }
  std::vector<std::string> messages;
  if (!a.from.empty()) train::start_from(a.from, config, messages);
  say_each(messages);
  return config;
}

std::string workers(const train::Config& config) {
  const bool on_gpu = config.device == Device::cuda;
  if (!config.ranks) return on_gpu ? "device cuda" : fmt::format("{} threads", config.threads);
  if (on_gpu)
    return fmt::format(
        "device cuda, {} ranks ({}{}), {} shards", config.ranks->size(), config.ranks->transport(),
        config.ranks->reduction() == parallel::Reduction::host ? "" : "; sums by NCCL", config.shards);
  return fmt::format("{} ranks of {} threads ({}), {} shards", config.ranks->size(), config.threads,
                     config.ranks->transport(), config.shards > 0 ? config.shards : config.threads);
}

int start(const TrainArguments& a) {
  const train::Config config = parallel::first_rank_first(a.config.ranks, [&] { return config_of(a); });
  auto session = train::begin_session(config, a.out);
  const train::Trainer& trainer = *session.trainer;
  warn_of_idle_ranks(config);
  if (!a.mode.quiet) {
    warn_of_threads(config);
    for (const auto& warning : trainer.problem().warnings) say_aside("lather: warning: {}\n", warning);
    for (const auto& few : {train::warn_of_few_residuals(trainer.problem(), config.training, config.optimizer,
                                                         trainer.objective().layout()),
                            train::warn_of_few_steps(config.training)})
      if (!few.empty()) say_aside("lather: warning: {}\n", few);
  }
  if (!a.mode.quiet && !a.mode.json && !config.chosen.empty()) {
    say("no recipe {} in {}; chosen instead:\n", config.recipe, config.problem.name);
    for (const auto& reason : config.chosen) say("  {}\n", reason);
  }
  if (!trainer.start_note().empty()) say_aside("lather: {}\n", trainer.start_note());
  if (!a.mode.quiet && !a.mode.json)
    say("{} with {} ({}), recipe {}{}: {} parameters, {}, {}, folder {}\n", config.problem.name,
        config.optimizer.name, name_of(config.optimizer.entry().family), config.recipe,
        config.adapted.empty() ? "" : " with " + config.adapted, trainer.parameters().size(), workers(config),
        memory(trainer), session.folder->path().string());
  std::optional<WatchProcess> watch;
  if (a.watch && speaks()) watch.emplace(session.folder->path());
  const auto outcome = train_with_progress(*session.trainer, *session.folder, a.mode);
  return end(outcome, *session.folder, trainer, a.mode);
}

int solve_locally(const TrainArguments& a) {
  if (!a.from.empty()) throw Error("--optimizer local: --from has no meaning, it starts from nothing");
  if (a.watch) throw Error("--optimizer local: --watch shows networks; the command prints every round");
  return train_local(a.config, a.out, a.mode);
}

}  // namespace

void add_train(CLI::App& app, int& exit_status) {
  auto* command = app.add_subcommand("train", "Train a network on a problem");
  auto a = std::make_shared<TrainArguments>();
  auto* problem = command->add_option("problem", a->config.problem, "a built-in problem or a problem file")
                      ->type_name("PROBLEM");
  auto* optimizer =
      command->add_option("--optimizer", a->config.optimizer,
                          "optimizer name, see `lather list optimizers`; or local: no network, but "
                          "polynomials on boxes, for problems of up to three coordinates");
  auto* seed = command->add_option("--seed", a->config.seed, "random seed for weights and points")
                   ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  add_config_options(*command, a->config);
  command->add_option("--out", a->out, "the run folder (default: runs/PROBLEM-OPTIMIZER-SEED-N)")
      ->type_name("DIR");
  auto* config = command->add_option("--config", a->config_file, "run the configuration in a config.json")
                     ->type_name("FILE");
  auto* from =
      command
          ->add_option("--from", a->from,
                       "start from the best network of another run; its other settings are not taken")
          ->type_name("RUN");
  auto* resume_option =
      command->add_option("--resume", a->resume, "resume a run (bit for bit)")->type_name("DIR");
  add_ranks_option(*command, a->ranks,
                   "processes on this machine that share the points; mpirun and srun start them on several");
  command
      ->add_option(
          "--reduction", a->reduction,
          "how ranks on GPUs add up: host (default); nccl, from GPU to GPU, the same numbers; nccl-sum, "
          "the fastest: the last digits depend on the number of ranks")
      ->check(CLI::IsMember({"host", "nccl", "nccl-sum"}));
  command->add_flag("--quiet,-q", a->mode.quiet, "print only errors");
  command->add_flag("--json", a->mode.json, "print the summary as JSON");
  command->add_flag("--watch", a->watch,
                    "show the run live in the browser while it is trained, see `lather watch`");
  for (auto* other : {problem, optimizer, seed, command->get_option("--set"), command->get_option("--recipe"),
                      command->get_option("--threads"), command->get_option("--shards"),
                      command->get_option("--device"), command->get_option("--precision")}) {
    config->excludes(other);
    resume_option->excludes(other);
  }
  resume_option->excludes(config);
  resume_option->excludes(from);
  config->excludes(from);
  resume_option->excludes(command->get_option("--out"));
  command->footer(
      "Examples:\n"
      "  lather train burgers\n"
      "  lather train my_pde.toml --optimizer soap --set optimizer.learning_rate=3e-3 --set "
      "network.width=128 --seed 2\n"
      "  lather train burgers --optimizer adam --set optimizer.then.name=lbfgs --set "
      "optimizer.then.at_step=2000\n"
      "  lather train my_pde.toml --optimizer local --time 60\n"
      "  lather train heat-1d --target l2=1e-5 --time 600\n"
      "  lather train --resume runs/burgers-ss-esoap-0-1 --steps 20000\n"
      "  lather train burgers --optimizer lm --from runs/burgers-ss-esoap-0-1\n"
      "  lather train --config runs/burgers-ss-esoap-0-1/config.json\n"
      "  lather train burgers --ranks 2");
  command->callback([a, &exit_status] {
    if (a->config.problem.empty() && a->resume.empty() && a->config_file.empty())
      throw Error(
          "no problem given: name one of `lather list problems`, a problem file, --resume DIR or --config "
          "FILE");
    a->config.ranks = join_ranks(a->ranks);
    choose_reduction(*a);
    if (a->config.optimizer == train::kLocalName)
      exit_status = solve_locally(*a);
    else
      exit_status = a->resume.empty() ? start(*a) : resume(*a);
  });
}

}  // namespace lather::command
