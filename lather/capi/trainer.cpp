#include "lather/train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "lather/capi/handles.hpp"
#include "lather/capi/settings.hpp"
#include "lather/core/clock.hpp"
#include "lather/core/files.hpp"
#include "lather/train/run_folder/checkpoint.hpp"
#include "lather/train/saved_run.hpp"
#include "lather/train/size_defaults.hpp"

namespace lather::capi {

namespace {

using Json = nlohmann::json;

lather_trainer* create_or_resume(const train::Config& config, const std::filesystem::path& folder) {
  auto finished = train::finished_summary(config, folder);
  if (finished.is_null()) return new lather_trainer(train::begin_or_resume_session(config, folder));
  train::Session session;
  session.trainer = train::read_run(folder, session.messages);
  auto* handle = new lather_trainer(std::move(session));
  handle->finished = std::move(finished);
  handle->path = folder.string();
  return handle;
}

Json trainer_info(lather_trainer& handle) {
  const train::Trainer& trainer = *handle.session.trainer;
  const pde::Problem& problem = trainer.problem();
  const train::Config& config = trainer.config();
  auto warnings = problem.warnings;
  for (auto note : {train::warn_of_few_residuals(problem, config.training, config.optimizer,
                                                 trainer.objective().layout()),
                    train::warn_of_few_steps(config.training), trainer.start_note()})
    if (!note.empty()) warnings.push_back(std::move(note));
  Json info = {{"folder", handle.path},
               {"config", train::to_json(config)},
               {"step", trainer.step()},
               {"best_step", trainer.best_step()},
               {"parameters", trainer.parameters().size()},
               {"coordinates", problem.symbols->coordinate_names()},
               {"domain", Json::array()},
               {"fields", Json::array()},
               {"unknowns", Json::array()},
               {"terms", trainer.term_names()},
               {"chosen", config.chosen},
               {"warnings", warnings},
               {"messages", handle.session.messages},
               {"finished", !handle.finished.is_null()}};
  for (const auto& [low, high] : problem.domain) info["domain"].push_back({low, high});
  for (const auto& field : problem.fields) info["fields"].push_back(field.name);
  for (const auto& unknown : problem.unknowns) info["unknowns"].push_back(unknown.name);
  return info;
}

lather_progress progress_of(const train::Progress& p) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return {sizeof(lather_progress),
          p.step,
          p.steps,
          p.stage,
          p.stages,
          p.loss,
          p.gradient_norm,
          p.metrics ? p.metrics->residual : kNone,
          p.metrics && !p.metrics->l2.empty() ? p.metrics->worst_l2() : kNone,
          p.seconds,
          p.steps_per_second,
          p.seconds_left,
          p.recorded};
}

Json run_to_the_end(const In<lather_trainer>& in, const lather_watcher& callers) {
  lather_trainer& handle = *in;
  if (!handle.finished.is_null()) return handle.finished;
  if (!handle.session.folder)
    throw Error(handle.path.empty()
                    ? "this trainer has no run folder: create it with one, or step it"
                    : fmt::format("the run in '{}' is open for reading; resume it to go on", handle.path));
  // A function that throws ends the run, which is saved.
  std::optional<CallbackFailed> failure;
  const auto call = [&](const char* name, const auto& function) {
    if (failure) return;
    try {
      in.turn().let_read([&] { called_back(name, function); });
    } catch (const CallbackFailed& error) {
      failure = error;
      handle.stop.ask();
    }
  };
  Stopwatch since;
  bool told = false;
  train::Watcher watcher;
  watcher.interrupted = [&] {
    in.turn().let_read_who_waits();
    return false;
  };
  watcher.stop = &handle.stop;
  if (callers.progress)
    watcher.progress = [&](const train::Progress& p) {
      if (!p.recorded && told && since.seconds() < callers.interval) return;
      told = true;
      since.restart();
      const lather_progress progress = progress_of(p);
      call("lather_watcher.progress", [&] {
        if (callers.progress(callers.user, &progress) != 0) handle.stop.ask();
      });
    };
  if (callers.message)
    watcher.message = [&](const std::string& text) {
      call("lather_watcher.message", [&] { callers.message(callers.user, text.c_str()); });
    };
  const auto outcome =
      train::run(*handle.session.trainer, *handle.session.folder, watcher, handle.session.seconds);
  handle.session.folder.reset();  // others may resume it
  if (stop_is_asked()) heed_interrupt();
  Json summary = options::to_json(outcome.summary);
  handle.finished = summary;
  if (failure) throw *failure;
  return summary;
}

pde::Points points_of(const pde::Problem& problem, std::uint64_t count, const double* coordinates) {
  const auto dimensions = static_cast<std::size_t>(problem.dimensions());
  pde::Points points;
  array_length("count", count, dimensions);
  if (count > 0) required(coordinates, "coordinates");
  points.coordinates.assign(dimensions, std::vector<double>(count));
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < dimensions; ++k) points.coordinates[k][i] = coordinates[i * dimensions + k];
  return points;
}

std::vector<train::FieldDerivative> quantities_of(const pde::Problem& problem, const std::string& list) {
  std::vector<train::FieldDerivative> quantities;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    std::string name = list.substr(start, end - start);
    std::erase(name, ' ');
    quantities.push_back(train::parse_derivative(problem, name));
    start = end + 1;
  }
  return quantities;
}

// [quantity][point] to rows of quantities.
void put_rows(const std::vector<std::vector<double>>& columns, std::uint64_t count, double* values) {
  if (count > 0) required(values, "values");
  for (std::size_t q = 0; q < columns.size(); ++q)
    for (std::size_t i = 0; i < count; ++i)
      values[i * columns.size() + q] =
          columns[q].empty() ? std::numeric_limits<double>::quiet_NaN() : columns[q][i];
}

}  // namespace
}  // namespace lather::capi

lather_trainer::lather_trainer(lather::train::Session given)
    : session(std::move(given)), gpu(session.trainer->config().device == lather::Device::cuda) {
  if (session.folder) path = session.folder->path().string();
}

namespace lather::capi {

extern "C" {

std::int32_t lather_trainer_create(const lather_problem* problem, const char* settings, const char* folder,
                                   const char* from, lather_trainer** trainer) {
  return guarded([&] {
    required(trainer, "the pointer for the result");
    train::Config config =
        train::resolve(read_settings(settings, In(problem, "problem", Use::share)->source));
    std::vector<std::string> messages;
    if (from && *from) train::start_from(from, config, messages);
    train::Session session = folder ? train::begin_session(config, folder)
                                    : train::Session{std::make_unique<train::Trainer>(config), {}, 0, {}};
    session.messages.insert(session.messages.begin(), messages.begin(), messages.end());
    *trainer = new lather_trainer(std::move(session));
  });
}

std::int32_t lather_trainer_create_or_resume(const lather_problem* problem, const char* settings,
                                             const char* folder, lather_trainer** trainer) {
  return guarded([&] {
    required(trainer, "the pointer for the result");
    const In given(problem, "problem", Use::share);
    *trainer = create_or_resume(train::resolve(read_settings(settings, given->source)),
                                required_text(folder, "folder"));
  });
}

std::int32_t lather_trainer_resume(const char* folder, const char* limits, lather_trainer** trainer) {
  return guarded([&] {
    required(trainer, "the pointer for the result");
    *trainer =
        new lather_trainer(train::resume_session(required_text(folder, "folder"), read_limits(limits)));
  });
}

std::int32_t lather_trainer_open(const char* folder, lather_trainer** trainer) {
  return guarded([&] {
    required(trainer, "the pointer for the result");
    train::Session session;
    session.trainer = train::read_run(required_text(folder, "folder"), session.messages);
    auto* const opened = new lather_trainer(std::move(session));
    opened->path = folder;
    *trainer = opened;
  });
}

void lather_trainer_free(lather_trainer* trainer) { free_handle(trainer); }

std::int32_t lather_trainer_info(lather_trainer* trainer, const char** json) {
  return guarded([&] { give_json(json, trainer_info(*In(trainer, "trainer", Use::read))); });
}

std::int32_t lather_trainer_step(lather_trainer* trainer, std::int64_t most, lather_step* step) {
  return guarded([&] {
    require_room(step);
    if (most < 1) throw Error(fmt::format("most = {}: expected at least one step", most));
    const In handle(trainer, "trainer");
    auto& t = *handle->session.trainer;
    const auto before = t.step();
    auto& rewind = handle->rewind;
    if (StopScope::current() && rewind.is_due()) rewind.keep(t, {});
    try {
      const auto report = t.advance(most);
      fill(step, report, t.step() - before);
    } catch (const Interrupted&) {
      train::RunState none;
      rewind.go_back(t, none);
      throw;
    }
  });
}

std::int32_t lather_trainer_run(lather_trainer* trainer, const lather_watcher* watcher,
                                const char** summary) {
  return guarded([&] {
    lather_watcher known{};
    if (watcher) known = known_part(*watcher, "lather_watcher");
    if (!(known.interval >= 0))
      throw Error(fmt::format("lather_watcher.interval = {}: expected seconds, at least 0", known.interval));
    const auto json = run_to_the_end(In(trainer, "trainer", Use::run), known);
    if (summary) give_json(summary, json);
  });
}

void lather_trainer_stop(lather_trainer* trainer) {
  if (trainer) trainer->stop.ask();
}

std::int32_t lather_trainer_summary(lather_trainer* trainer, std::int32_t fine, const char** json) {
  return guarded([&] {
    required(json, "the pointer for the result");
    const In handle(trainer, "trainer", Use::read);
    give_json(json, options::to_json(train::summarize(*handle->session.trainer, fine != 0)));
  });
}

std::uint64_t lather_trainer_size(const lather_trainer* trainer) {
  return size_of(
      trainer, [](const lather_trainer& handle) { return handle.session.trainer->parameters().size(); },
      Use::read);
}

std::int32_t lather_trainer_parameters(lather_trainer* trainer, std::int32_t best, double* parameters) {
  return guarded([&] {
    const In handle(trainer, "trainer", Use::read);
    const auto& t = *handle->session.trainer;
    const auto x = best ? t.best_parameters() : t.parameters();
    std::copy(x.begin(), x.end(), &required(parameters, "parameters"));
  });
}

std::int32_t lather_trainer_predict(lather_trainer* trainer, std::int32_t best, const char* quantities,
                                    std::uint64_t count, const double* coordinates, double* values) {
  return guarded([&] {
    const In handle(trainer, "trainer", Use::read);
    auto& t = *handle->session.trainer;
    const auto wanted = quantities_of(t.problem(), required_text(quantities, "quantities"));
    const auto points = points_of(t.problem(), count, coordinates);
    put_rows(t.solution(best != 0).evaluate(wanted, points), count, values);
  });
}

std::int32_t lather_trainer_reference(lather_trainer* trainer, std::uint64_t count, const double* coordinates,
                                      double* values) {
  return guarded([&] {
    const In handle(trainer, "trainer", Use::read);
    auto& t = *handle->session.trainer;
    auto known = t.reference_values(points_of(t.problem(), count, coordinates));
    if (known.empty())
      throw Error(t.reference_note().empty() ? "the problem has no reference"
                                             : "the reference is " + t.reference_note());
    put_rows(known, count, values);
  });
}

std::int32_t lather_trainer_save(lather_trainer* trainer, const char* file) {
  return guarded([&] {
    const In handle(trainer, "trainer", Use::read);
    auto& t = *handle->session.trainer;
    StateWriter writer;
    t.state(writer);
    write_output(required_text(file, "file"),
                 train::encode_checkpoint({t.step(), train::identity(t.config()), writer.bytes()}));
  });
}

std::int32_t lather_trainer_load(lather_trainer* trainer, const char* file) {
  return guarded([&] {
    const In handle(trainer, "trainer");
    auto& t = *handle->session.trainer;
    const auto checkpoint = train::decode_checkpoint(read_file(required_text(file, "file")));
    if (checkpoint.identity != train::identity(t.config()))
      throw Error(fmt::format("'{}' is the checkpoint of a run with other settings", file));
    restore_state(t, checkpoint.state);
  });
}

}  // extern "C"

}  // namespace lather::capi
