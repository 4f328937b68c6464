#pragma once
// Everything a run depends on. A ConfigRequest is what a person asks for; resolve() turns it into a Config by
// the problem's recipe; a Config written to config.json runs again as it is, also after the problem file has
// changed.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/objective.hpp"

namespace lather::train {

// Stop when `quantity` (residual, l2, h1, loss) is at or below `value`.
struct Target {
  std::string quantity;
  double value = 0;
};
Target parse_target(const std::string& text);  // "residual=1e-6"

// When to stop. Not part of a run's identity: a run may be resumed with other limits.
struct StopOptions {
  std::int64_t steps = 0;
  double seconds = 0;  // 0: no limit; of training, without measuring, all sittings together
  std::optional<Target> target;
};

// How often to write things down; 0: chosen by the number of steps.
struct RecordOptions {
  std::int64_t record_every = 0, validate_every = 0, checkpoint_every = 0;
  double checkpoint_seconds = 60;
  bool reference = true;
  void fields(FieldVisitor& v) {
    v.integer("record_every", record_every, "steps between lines of the history; 0: 500 lines in all",
              non_negative());
    v.integer("validate_every", validate_every,
              "steps between looks at held-out points and the reference; 0: 100 in all", non_negative());
    v.integer("checkpoint_every", checkpoint_every, "steps between checkpoints; 0: by time only",
              non_negative());
    v.boolean("reference", reference, "compare with the reference solution; false spares computing it");
    v.real("checkpoint_seconds", checkpoint_seconds, "seconds between checkpoints; 0: by steps only",
           non_negative());
  }
};

struct ConfigRequest {
  std::string problem;                  // a name or a file
  std::string size = "quick";           // the recipe: [training.SIZE]
  std::string optimizer;                // empty: the recipe's
  std::vector<pde::Override> settings;  // optimizer.…, training.…, and any path of the problem file
  std::uint64_t seed = 0;
  int threads = 0;  // 0: all cores
  pde::Precision precision = pde::Precision::float64;
  std::string device = "cpu";
  std::optional<std::int64_t> steps;
  std::optional<double> seconds;
  std::optional<Target> target;
};

struct Config {
  std::string problem_name, problem_file, problem_text;
  std::vector<pde::Override> overrides;  // of the problem file: network, parameters, weights, …
  std::string size;
  nlohmann::json optimizer;  // name, options, wrappers; all of them, defaults included
  nlohmann::json
      training;  // points, sampling, weighting: what pde/sampling/sampling.hpp and train/weighting/weighting.hpp take
  StopOptions stop;
  RecordOptions record;
  std::uint64_t seed = 0;
  int threads = 1;
  pde::Precision precision = pde::Precision::float64;
  std::string device = "cpu";
};

// Throws Error for unknown names and keys (with the nearest), bad values, and devices this build does not
// have.
Config resolve(const ConfigRequest& request);

nlohmann::json to_json(const Config& config);
Config config_from_json(const nlohmann::json& json);
// Of all that determines the numbers, not of the limits.
std::uint64_t identity(const Config& config);

pde::Problem read_problem(const Config& config);

// All options of an optimizer and its wrappers, with defaults filled in.
nlohmann::json resolve_optimizer(const nlohmann::json& settings);

}  // namespace lather::train
