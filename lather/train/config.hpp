#pragma once
// Everything a run depends on. A ConfigRequest is what the user asks for; resolve() turns it into a Config
// using the problem's recipe; a Config written to config.json can be run again as is, even after the problem
// file has changed.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lather/core/device.hpp"
#include "lather/core/options.hpp"
#include "lather/optim/optimizer_spec.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/objective.hpp"
#include "lather/train/starting_point.hpp"
#include "lather/train/training_options.hpp"

namespace lather::train {

// Shards of a run started on several ranks: enough for that many ranks and threads together, few enough to
// keep their memory and time low.
inline constexpr int kShardsOfRanks = 16;

// Stop when `quantity` (residual, l2, h1, loss) is at or below `value`.
struct Target {
  std::string quantity;
  double value = 0;
  void fields(FieldVisitor& v);
};
Target parse_target(const std::string& text);  // "residual=1e-6"

// When to stop. Not part of a run's identity: a run may be resumed with other limits.
struct StopOptions {
  std::int64_t steps = 1;
  std::int64_t patience = 0;  // validations without a better held-out loss; 0: no limit
  double seconds = 0;         // of training, without validations, over all sessions of the run; 0: no limit
  std::optional<Target> target;
  void fields(FieldVisitor& v);
};

// A problem file as it was, and the changes made to it: network, parameters, weights, …
struct ProblemSource {
  std::string name, file, text;
  std::vector<pde::Override> overrides;
  std::string data_folder;  // where a run keeps its data files; empty: they are where the file says
  void fields(FieldVisitor& v);
  const TomlValue& tree() const;  // of the text, parsed once
  pde::Problem read(const std::vector<pde::Override>& more = {}) const;

 private:
  mutable std::shared_ptr<const TomlValue> tree_;
};

// Every member has an initializer, so a few can be set by name: resolve({.problem = "burgers", .seed = 2}).
struct ConfigRequest {
  std::string problem = {};                  // a name or a file
  std::string text = {};                     // of the problem; `problem` is then only its name in messages
  std::string recipe = {};                   // [training.RECIPE]; empty: quick, or best on the GPU
  std::string optimizer = {};                // empty: the recipe's
  std::vector<pde::Override> settings = {};  // optimizer.…, training.…, and any path of the problem file
  std::uint64_t seed = 0;
  int threads = 0;                          // 0: all cores
  int shards = 0;                           // 0: as many as threads, or kShardsOfRanks
  parallel::Communicator* ranks = nullptr;  // processes that share the points; null: this one alone
  pde::Precision precision = pde::Precision::float64;
  Device device = Device::cpu;
  std::optional<std::int64_t> steps = {};
  std::optional<double> seconds = {};
  std::optional<Target> target = {};
  std::int64_t patience = 0;
};

struct Config {
  ProblemSource problem;
  std::string recipe;
  std::string adapted;  // what was replaced in it for an optimizer of another family; empty: nothing
  optim::OptimizerSpec optimizer;
  TrainingOptions training;
  StopOptions stop;
  RecordOptions record;
  std::string from;                            // the run whose network is the starting point; empty: none
  std::shared_ptr<const StartingPoint> start;  // that network; stored next to config.json as start.json
  std::uint64_t seed = 0;
  std::int64_t threads = 1;
  std::int64_t shards = 0;  // parts of sums over points; 0: as many as threads. The bits depend on it alone
  parallel::Communicator* ranks = nullptr;  // processes that share the points; not saved
  pde::Precision precision = pde::Precision::float64;
  Device device = Device::cpu;
  std::vector<std::string> chosen;  // reasons for the settings of a file without recipes; not saved
  void fields(FieldVisitor& v);
};

// Throws Error for unknown names and keys (naming the nearest), bad values, and devices this build does not
// have; also in unused recipes.
Config resolve(const ConfigRequest& request);

Device parse_device(const std::string& name);
// Throws Error if `device` is the GPU and no GPU can be used.
void require_device(Device device);

nlohmann::json to_json(const Config& config);
Config config_from_json(const nlohmann::json& json);
// The same from text; errors name the line.
Config config_from_text(std::string_view text, const std::string& file);
// Reads a config.json that the user names, and what its run folder keeps next to it: data files, the starting
// point.
Config read_config(const std::filesystem::path& file);
// The same for that of a run folder, where links are refused.
Config read_config_of_run(const std::filesystem::path& run);
// Throws Error if the target is an error and there is no reference to measure it by.
void require_measurable_target(const Config& config, const pde::Problem& problem);
// A checksum of everything that determines the results, without the limits.
std::uint64_t identity(const Config& config);

inline pde::Problem read_problem(const Config& config) { return config.problem.read(); }
// What the problem reads beside its own file: data, tables, meshes.
std::vector<std::filesystem::path> external_files(const Config& config);

}  // namespace lather::train
