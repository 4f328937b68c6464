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
  config.ranks = ranks;
  if (config.shards > 0) config.threads = parallel::threads_of(ranks);
  apply_limits(config.stop, limits);
  require_measurable_target(config, read_problem(config));
  session.trainer = std::make_unique<Trainer>(config);
  session.seconds = restore(*session.trainer, *session.folder, session.messages);
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
