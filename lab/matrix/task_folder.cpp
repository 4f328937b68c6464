#include "matrix/task_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lather/core/clock.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/train/run_folder/checkpoint.hpp"
#include "lather/train/run_folder/environment.hpp"

namespace lather::lab {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class TaskFolder {
 public:
  TaskFolder(const fs::path& path, const TaskSpec& spec)
      : path_(path),
        spec_(spec),
        identity_(checksum(to_json(spec).dump())),
        saves_(path / "checkpoints"),
        task_(make_task(spec.task, spec.size, Json::parse(spec.settings), spec.seed)) {}

  // From the newest save, or from the beginning if there is none or none can be used: the run is the same.
  void resume_or_start_over(std::vector<std::string>& notes) {
    write_file_atomically(path_ / "config.json", to_json(spec_).dump(2) + "\n");
    try {
      if (const auto saved = saves_.load_newest(identity_, notes)) {
        make_run();
        StateReader reader(saved->state);
        return run_->state(reader);
      }
    } catch (const Error& error) {
      notes.assign({fmt::format("it starts over: {}", error.what())});
      remove_saves();
    }
    make_run();
    run_->begin();
  }

  TaskRun& run() { return *run_; }

  void save() {
    StateWriter writer;
    run_->state(writer);
    saves_.save({run_->step(), identity_, writer.bytes()});
  }

  void finish() {
    write_curve();
    write_file_atomically(path_ / "environment.json",
                          train::to_json(train::find_environment()).dump(2) + "\n");
    write_summary();
    remove_saves();
  }

 private:
  void make_run() {
    run_ =
        std::make_unique<TaskRun>(task_, optim::optimizer_spec(Json::parse(spec_.optimizer)), spec_.length);
  }
  void remove_saves() { fs::remove_all(path_ / "checkpoints"); }

  // By the names of the metrics.
  Json values_at(const TaskPoint& point) const {
    Json values = Json::object();
    const auto names = task_.problem->metric_names();
    for (std::size_t k = 0; k < names.size(); ++k)
      values[names[k]] = std::isfinite(point.metrics[k]) ? Json(point.metrics[k]) : Json();
    return values;
  }

  void write_curve() const {
    std::string lines, timing = "step,seconds\n";
    for (const auto& [step, point] : run_->curve().points) {
      Json line{{"step", step}};
      const Json values = values_at(point);
      for (const auto& [name, value] : values.items()) line["task." + name] = value;
      lines += line.dump() + "\n";
      timing += fmt::format("{},{:.3f}\n", step, point.seconds);
    }
    write_file_atomically(path_ / "history.jsonl", lines);
    write_file_atomically(path_ / "timing.csv", timing);
  }

  // In the form used for trainings.
  void write_summary() const {
    const TaskCurve& curve = run_->curve();
    const Json first = values_at(curve.points.begin()->second),
               last = values_at(curve.points.rbegin()->second);
    const char* judge = last.contains("gap") ? "gap" : "loss";
    const Json end{{"task", last}, {"validation_loss", last[judge]}};
    const auto steps = static_cast<double>(spec_.length.steps);
    const Json summary{{"reason", curve.not_finite ? "non_finite" : "steps"},
                       {"message", curve.ending},
                       {"step", spec_.length.steps},
                       {"seconds", curve.seconds},
                       {"steps_per_second", steps / std::max(curve.seconds, 1e-9)},
                       {"starting_loss", first[judge]},
                       {"final", end},
                       {"best", end}};
    write_file_atomically(path_ / "summary.json", summary.dump(2) + "\n");
  }

  fs::path path_;
  const TaskSpec& spec_;
  std::uint64_t identity_;
  train::CheckpointStore saves_;
  MatrixTask task_;
  std::unique_ptr<TaskRun> run_;
};

}  // namespace

Json to_json(const TaskSpec& spec) {
  return {{"task", spec.task},
          {"size", spec.size == TaskSize::small ? "small" : "paper"},
          {"settings", Json::parse(spec.settings)},
          {"optimizer", Json::parse(spec.optimizer)},
          {"steps", spec.length.steps},
          {"record", spec.length.record},
          {"also", spec.length.also},
          {"seed", spec.seed}};
}

bool continue_task(const fs::path& path, const TaskSpec& spec, const std::function<bool()>& interrupted,
                   std::vector<std::string>& notes, double seconds_between_saves) {
  TaskFolder folder(path, spec);
  folder.resume_or_start_over(notes);
  Stopwatch since_save;
  while (!folder.run().ended()) {
    if (interrupted()) {
      folder.save();
      return false;
    }
    folder.run().advance();
    if (folder.run().ended() || since_save.seconds() < seconds_between_saves) continue;
    folder.save();
    since_save.restart();
  }
  folder.finish();
  return true;
}

}  // namespace lather::lab
