#include "settings.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdint>
#include <limits>

#include "arguments.hpp"
#include "lather/core/error.hpp"
#include "lather/train/local_run.hpp"
#include "lather/train/saved_run.hpp"
#include "progress.hpp"
#include "terminal.hpp"

namespace lather::command {

namespace {

Stop asked_by_signals;

void note_interrupt(int signal) {
  if (!asked_by_signals.ask()) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // delivered when this function returns
}

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};  // SIGHUP: the terminal was closed

}  // namespace

CatchInterrupts::CatchInterrupts() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    old_[i] = std::signal(kSignals[i], note_interrupt);
    if (kSignals[i] == SIGHUP && old_[i] == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // under nohup
  }
}

CatchInterrupts::~CatchInterrupts() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) std::signal(kSignals[i], old_[i]);
}

Stop& CatchInterrupts::stop() { return asked_by_signals; }

std::vector<pde::Override> parse_settings(const std::vector<std::string>& settings) {
  std::vector<pde::Override> list;
  for (const auto& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(fmt::format("--set {}: expected KEY=VALUE, such as optimizer.learning_rate=1e-3", setting));
    list.push_back({setting.substr(0, equals), setting.substr(equals + 1)});
  }
  return list;
}

void add_config_options(CLI::App& command, ConfigArguments& a) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  command.add_option("--recipe,--size", a.recipe,
                     "the recipe of the problem file: quick, best, paper, or one of its own");
  command
      .add_option("--set", a.settings,
                  "change an option: optimizer.learning_rate=1e-3, network.width=128, "
                  "training.points.interior=4096, parameters.nu=0.01")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_option("--threads", a.threads, "number of threads; 0: all cores")
      ->transform(whole_number(0, std::numeric_limits<int>::max()));
  command
      .add_option("--shards", a.shards,
                  "parts of every sum over points: the numbers depend on them and on neither threads nor "
                  "ranks; 0: as many as threads, 16 on ranks; on the GPU one, 8 on ranks")
      ->transform(whole_number(0, std::numeric_limits<int>::max()));
  command.add_option("--device", a.device, "cpu or cuda")->check(device_name());
  command.add_option("--precision", a.precision, "float64 or float32")
      ->check(CLI::IsMember({"float64", "float32"}));
  command.add_option("--steps", a.steps, "stop after this many steps")->transform(whole_number(1, kMost));
  command.add_option("--time", a.seconds, "stop after this many seconds of training")->check(real_number(0));
  command
      .add_option("--patience", a.patience,
                  "stop after this many validations without a better held-out loss; 0: never")
      ->transform(whole_number(0, 1000000));
  command
      .add_option("--target", a.target,
                  "stop when a metric reaches a value: residual=1e-6, l2=1e-4, h1=1e-3 or loss=1e-8")
      ->type_name("METRIC=VALUE");
}

train::ConfigRequest request_from(const ConfigArguments& a) {
  train::ConfigRequest request;
  request.problem = a.problem;
  request.recipe = a.recipe;
  request.optimizer = a.optimizer;
  request.settings = parse_settings(a.settings);
  request.seed = a.seed;
  request.threads = a.threads;
  request.shards = a.shards;
  request.ranks = a.ranks;
  request.precision = a.precision == "float32" ? pde::Precision::float32 : pde::Precision::float64;
  request.device = train::parse_device(a.device);
  request.steps = a.steps;
  request.seconds = a.seconds;
  request.patience = a.patience.value_or(0);
  if (!a.target.empty()) request.target = train::parse_target(a.target);
  return request;
}

train::Outcome train_with_progress(train::Trainer& trainer, train::RunFolder& folder, const OutputMode& mode,
                                   double seconds_before) {
  ProgressLine line(trainer.term_names(), mode.quiet || mode.json);
  const CatchInterrupts guard;
  train::Watcher watcher;
  watcher.progress = [&](const train::Progress& progress) { line.update(progress); };
  watcher.message = [&](const std::string& text) {
    if (!mode.quiet) line.message(text);
  };
  watcher.stop = &CatchInterrupts::stop();
  return train::run(trainer, folder, watcher, seconds_before);
}

int exit_status_of(const train::Outcome& outcome, const train::Config& config) {
  using train::EndReason;
  if (outcome.reason == EndReason::interrupted) return 130;
  if (outcome.reason == EndReason::non_finite) return 3;
  if (config.stop.target && outcome.reason != EndReason::target) return 3;
  return 0;
}

namespace {

void say_messages(const std::vector<std::string>& messages) {
  for (const auto& message : messages) say_aside("lather: {}\n", message);
}

}  // namespace

std::unique_ptr<train::Fields> load_fields(const std::string& folder, bool best) {
  std::vector<std::string> messages;
  auto fields = train::read_fields(folder, best, messages);
  say_messages(messages);
  return fields;
}

std::unique_ptr<train::Trainer> load_run(const std::string& folder) {
  std::vector<std::string> messages;
  auto trainer = train::read_run(folder, messages);
  say_messages(messages);
  return trainer;
}

}  // namespace lather::command
