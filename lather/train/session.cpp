#include "lather/train/session.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/parallel/in_turn.hpp"
#include "lather/train/saved_run.hpp"

namespace lather::train {

namespace fs = std::filesystem;

void apply_limits(StopOptions& stop, const NewLimits& limits) {
  if (limits.steps) stop.steps = *limits.steps;
  if (limits.seconds) stop.seconds = *limits.seconds;
  if (limits.patience) stop.patience = *limits.patience;
  if (limits.target) stop.target = limits.target;
}

void limit_by_time_only(Config& config) {
  constexpr std::int64_t kNoEnd = 1'000'000'000'000;
  if (!(config.stop.seconds > 0)) throw Error("a run that only time ends needs a limit of time");
  config.stop.steps = config.training.steps = kNoEnd;
}

namespace {

// What becomes of the learning rate under the new limits; empty: nothing that need be said.
std::string schedule_note(const Trainer& trainer, const StopOptions& before) {
  const Config& config = trainer.config();
  const auto& schedule = config.optimizer.wrappers.schedule;
  const StopOptions& stop = config.stop;
  if (!schedule || schedule->decay != optim::Decay::cosine || trainer.step() >= stop.steps) return "";
  if (!schedule->over_the_whole_run()) {
    const auto end = schedule->warmup_steps + schedule->total_steps;
    if (trainer.step() < end) return "";
    return fmt::format(
        "the learning rate's schedule has ended at step {}, as optimizer.schedule.total_steps says: the rate "
        "stays at {:g} times its start",
        end, schedule->final_factor);
  }
  const bool longer = stop.steps > std::max(before.steps, config.training.steps);
  if (!longer && stop.seconds == before.seconds) return "";
  const auto factor = trainer.scheduled_factor();
  return fmt::format(
      "the learning rate's schedule is now that of a run of {} steps{}: {}falling to {:g} times its start at "
      "the end",
      stop.steps, stop.seconds > 0 ? fmt::format(" or {:g} s", stop.seconds) : "",
      factor ? fmt::format("{:.3g} times its start at step {}, ", *factor, trainer.step()) : "",
      schedule->final_factor);
}

}  // namespace

Session begin_session(const Config& config, fs::path path) {
  Session session;
  session.trainer = std::make_unique<Trainer>(config);
  if (config.ranks && config.ranks->rank() != 0) {
    session.folder.emplace(RunFolder::of_another_rank());
    return session;
  }
  if (path.empty())
    path = create_unused_folder(
        "runs", fmt::format("{}-{}-{}", config.problem.name, config.optimizer.name, config.seed));
  session.folder.emplace(RunFolder::create(path, config));
  return session;
}

Session resume_session(const fs::path& path, const NewLimits& limits, parallel::Communicator* ranks) {
  Session session;
  const bool first = !ranks || ranks->rank() == 0;
  Config config = parallel::first_rank_first(ranks, [&] {
    session.folder.emplace(first ? RunFolder::open(path) : RunFolder::of_another_rank());
    return read_config_of_run(path);
  });
  const auto before = to_json(config);
  const StopOptions limits_before = config.stop;
  config.ranks = ranks;
  if (config.shards > 0) config.threads = parallel::threads_of(ranks);
  apply_limits(config.stop, limits);
  require_measurable_target(config, read_problem(config));
  session.trainer = std::make_unique<Trainer>(config);
  session.seconds = restore(*session.trainer, *session.folder, session.messages);
  if (auto note = schedule_note(*session.trainer, limits_before); !note.empty())
    session.messages.push_back(std::move(note));
  if (to_json(config) != before) session.folder->write_json("config.json", to_json(config));
  return session;
}

nlohmann::json finished_summary(const Config& config, const fs::path& path) {
  if (!is_there(path / "config.json")) return nullptr;
  const Config there = read_config_of_run(path);
  if (identity(there) != identity(config))
    throw Error(
        fmt::format("'{}' holds a run with other settings; give another folder (--out)", path.string()));
  if (!is_there(path / "summary.json")) return nullptr;
  auto summary = read_json(path / "summary.json");
  const bool ended = summary.value("reason", "") != "interrupted" && summary.value("step", 0) >= 1;
  return ended && to_json(there)["stop"] == to_json(config)["stop"] ? summary : nullptr;
}

Session begin_or_resume_session(const Config& config, const fs::path& path) {
  if (!is_there(path / "config.json")) return begin_session(config, path);
  Session session;
  session.folder.emplace(RunFolder::open(path));
  session.trainer = std::make_unique<Trainer>(config);
  session.seconds = restore(*session.trainer, *session.folder, session.messages);
  session.folder->write_json("config.json", to_json(config));
  return session;
}

std::optional<Session> claim_session(const Config& config, const fs::path& path) {
  Session session;
  bool begun = is_there(path / "config.json");
  try {
    session.folder.emplace(begun ? RunFolder::open(path) : RunFolder::create(path, config));
  } catch (const FolderInUse&) {
    return {};
  } catch (const Error&) {
    if (begun || !is_there(path / "config.json")) throw;
    return {};  // another process was faster
  }
  if (!finished_summary(config, path).is_null()) return {};
  session.trainer = std::make_unique<Trainer>(config);
  if (!begun) return session;
  session.seconds = restore(*session.trainer, *session.folder, session.messages);
  session.folder->write_json("config.json", to_json(config));
  return session;
}

void start_from(const fs::path& run, Config& config, std::vector<std::string>& messages) {
  auto point = std::make_shared<StartingPoint>(read_starting_point(run, messages));
  config.from = point->run;
  config.start = std::move(point);
}

}  // namespace lather::train
