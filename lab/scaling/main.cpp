// lab_scaling PROBLEM: how long a step takes on many ranks, by counting and by a few measurements here.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "lather/core/clock.hpp"
#include "lather/core/memory.hpp"
#include "lather/core/threads.hpp"
#include "lather/parallel/local_ranks.hpp"
#include "lather/pde/engine/compiled_point_set.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/train/needs.hpp"
#include "lather/train/trainer.hpp"
#include "scaling/scaling_model.hpp"
#include "settings.hpp"
#include "terminal.hpp"

namespace lather::lab {

namespace {

using command::ConfigArguments;
using command::say;
using command::whole_number;

// Times messages between two processes on this machine. Forks, so call it before there are threads.
Link measure_link() {
  constexpr int kRounds = 300, kLargeRounds = 8;
  constexpr std::size_t kLarge = 4 << 20;
  const auto ranks = parallel::fork_ranks(2);
  std::vector<char> all(2 * kLarge);
  const std::vector<std::size_t> bounds{0, kLarge, 2 * kLarge};
  const auto timed = [&](int rounds, const auto& round) {
    round();
    const Stopwatch watch;
    for (int i = 0; i < rounds; ++i) round();
    return watch.seconds() / rounds;
  };
  Link link;
  link.latency = timed(kRounds, [&] { ranks->barrier(); });
  link.bandwidth = kLarge / timed(kLargeRounds, [&] { ranks->gather(std::span(all), bounds); });
  if (ranks->rank() != 0) ::_exit(0);
  return link;
}

template <class F>
double seconds_of(const F& f) {
  f();
  const Stopwatch watch;
  int count = 0;
  do f();
  while (++count < 50 && watch.seconds() < 0.2);
  return watch.seconds() / count;
}

struct Measured {
  Workload work;
  TimedRank here;
  double memory = 0;  // bytes per rank
};

// Times the parts of a step, for one rank with one thread on this machine.
Measured measure(train::Config config) {
  config.threads = 1;
  config.device = Device::cpu;
  const pde::Problem problem = train::read_problem(config);
  train::require_room(config, problem);
  pde::PinnObjective objective(problem, {.threads = 1, .shards = static_cast<int>(config.shards)});
  const auto x = objective.initialize(config.seed);
  pde::PointSource source(problem, pde::sampling_settings(config.training.points, problem), config.seed);
  source.update(0, objective, x);

  Measured result;
  Workload& w = result.work;
  w.parameters = static_cast<double>(objective.size());
  for (const auto& block : objective.layout().blocks())
    if (block.matrix) w.matrix_parameters += static_cast<double>(block.size());
  w.width = static_cast<double>(problem.network.width);
  w.terms = static_cast<double>(problem.terms.size());
  w.shards = static_cast<double>(config.shards);
  w.residuals = static_cast<double>(objective.residual_count());
  w.least_squares = config.optimizer.entry().family == optim::Family::least_squares;
  double rows = 0;
  for (std::size_t s = 0; s < problem.point_sets.size(); ++s) {
    std::vector<symbolic::Expr> residuals;
    for (const auto& term : problem.terms)
      if (term.point_set == static_cast<int>(s)) residuals.push_back(term.residual);
    if (residuals.empty()) continue;
    const auto points = static_cast<double>(objective.points(static_cast<int>(s)).count());
    const auto set = pde::compile_set(problem, objective.tape(), residuals, problem.point_sets[s].columns);
    rows += points * static_cast<double>(set.jets.size());
    w.points += points;
  }
  w.components = rows / w.points;

  std::vector<double> gradient(objective.size());
  auto& here = result.here;
  here.label = "this machine, one thread";
  here.points = w.points;
  here.residuals = w.residuals;
  here.gradient_seconds = seconds_of([&] { objective.value_and_gradient(x, gradient); });
  here.value_seconds = seconds_of([&] { objective.value(x); });
  if (w.least_squares) {
    std::vector<double> matrix(objective.size() * objective.size());
    here.normal_seconds = seconds_of([&] { objective.normal_equations(x, matrix.data(), gradient); });
  }

  train::Trainer trainer(config);
  trainer.advance();
  const auto before = trainer.evaluations();
  std::int64_t steps = 0;
  const Stopwatch watch;
  do trainer.advance();
  while (++steps < 20 && watch.seconds() < 2);
  const double step = watch.seconds() / static_cast<double>(steps);
  const double evaluations = static_cast<double>(trainer.evaluations() - before) / static_cast<double>(steps);
  w.gradients_per_step = w.least_squares ? 0 : evaluations;
  w.values_per_step = w.least_squares ? evaluations : 0;
  here.replicated_seconds = std::max(0.0, step - w.gradients_per_step * here.gradient_seconds -
                                              w.values_per_step * here.value_seconds - here.normal_seconds);
  w.values_per_step +=
      1.0 / static_cast<double>(config.record.record_every);  // the loss in each history line
  result.memory = train::estimate_needs(config, problem).host_bytes();
  return result;
}

std::string in_words(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} µs", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.2f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

nlohmann::json print_table(const Workload& w, const RankModel& rank, const Cluster& cluster, int most,
                           bool print) {
  nlohmann::json rows = nlohmann::json::array();
  const double one = predict(w, rank, cluster, 1).total();
  if (print)
    say("\n{}\n{:>6} {:>10} {:>9} {:>10} {:>10} {:>10} {:>9} | {:>10} {:>10}\n", rank.name(), "ranks", "step",
        "speed-up", "shared", "by each", "exchange", "MB sent", "R × points", "efficiency");
  for (int ranks = 1;; ranks = std::min(2 * ranks, most)) {
    const auto t = predict(w, rank, cluster, ranks);
    Workload more = w;
    more.points *= ranks;
    more.residuals *= ranks;
    more.shards = std::max(w.shards, static_cast<double>(ranks));
    const double weak = predict(more, rank, cluster, ranks).total();
    if (print)
      say("{:>6} {:>10} {:>9.2f} {:>10} {:>10} {:>10} {:>9.2f} | {:>10} {:>9.0f}%\n", ranks,
          in_words(t.total()), one / t.total(), in_words(t.shared), in_words(t.replicated),
          in_words(t.exchange), t.bytes / 1e6, in_words(weak), 100 * one / weak);
    rows.push_back({{"ranks", ranks},
                    {"seconds", t.total()},
                    {"shared", t.shared},
                    {"replicated", t.replicated},
                    {"exchange", t.exchange},
                    {"bytes", t.bytes},
                    {"weak_seconds", weak}});
    if (ranks == most) return rows;
  }
}

void estimate(ConfigArguments& a, int most, bool json) {
  const Link link = measure_link();
  if (a.shards == 0) a.shards = train::kShardsOfRanks;
  const train::Config config = train::resolve(command::request_from(a));
  const auto [w, here, memory] = measure(config);
  // Beyond this machine: InfiniBand NDR, with its published figures.
  const Cluster cluster{link, {2e-6, 50e9}, available_cores(), true};
  if (json) {
    nlohmann::json all{{"parameters", w.parameters}, {"points", w.points},
                       {"components", w.components}, {"residuals", w.residuals},
                       {"latency", link.latency},    {"bandwidth", link.bandwidth}};
    all["here"] = print_table(w, here, cluster, most, false);
    all["h200"] = print_table(w, H200(), h200_cluster(), most, false);
    say("{}\n", all.dump(2));
    return;
  }
  say("{} with {}: {} parameters, {} points of {:.1f} derivative components, {} residuals\n",
      config.problem.name, config.optimizer.name, w.parameters, w.points, w.components, w.residuals);
  say("a step: {:.2f} evaluations{}; memory of a rank: {}\n", w.gradients_per_step + w.values_per_step,
      w.least_squares ? ", JᵀJ and its factor" : "", readable_bytes(memory));
  say("two processes on this machine, timed now: {} per message, {:.1f} GB/s\n", in_words(link.latency),
      link.bandwidth / 1e9);
  print_table(w, here, cluster, most, true);
  print_table(w, H200(), h200_cluster(), most, true);
  say("\nshared: points, dealt to ranks; by each: what every rank does; R × points: as many points per rank "
      "as one has.\n"
      "H200s are computed from the figures in docs/scaling.md.\n");
}

}  // namespace

int main_of(int argc, char** argv) {
  CLI::App app{"Predicts the time of a step on many ranks."};
  ConfigArguments a;
  int ranks = 64;
  bool json = false;
  app.add_option("problem", a.problem, "a built-in problem or a problem file")->required();
  app.add_option("--optimizer", a.optimizer, "optimizer name, see `lather list optimizers`");
  app.add_option("--ranks", ranks, "up to this many (default 64)")->transform(whole_number(1, 65536));
  app.add_flag("--json", json, "print JSON");
  command::add_config_options(app, a);
  app.footer(
      "Examples:\n  lab_scaling burgers --ranks 64\n"
      "  lab_scaling burgers --optimizer adam --set network.width=256 --set training.points.interior=100000 "
      "--ranks 1024");
  try {
    app.parse(argc, argv);
    estimate(a, ranks, json);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    command::say_aside("lab_scaling: {}\n", error.what());
    return 2;
  }
}

}  // namespace lather::lab

int main(int argc, char** argv) { return lather::lab::main_of(argc, argv); }
