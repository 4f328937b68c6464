#pragma once
// Which optimizer, with which options and wrappers, as written in
// problem files, `--set optimizer.…` and config.json:
//
//   optimizer = "adam"
//   optimizer = {name = "adam", learning_rate = 1e-3, clip = {limit = 1},
//                schedule = {decay = "cosine", total_steps = 20000},
//                then = {name = "lbfgs", at_step = 20000}}
//
// Keys other than `name` and those of the wrappers are options of the named optimizer. Clipping is innermost,
// then averaging, then the schedule. `then` holds the options of SwitchOptions along with those of the
// second optimizer, which may have wrappers of its own.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "lather/core/options.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/optim/wrappers/clipped.hpp"
#include "lather/optim/wrappers/schedule.hpp"
#include "lather/optim/wrappers/schedule_free.hpp"
#include "lather/optim/wrappers/switching.hpp"

namespace lather::optim {

struct OptimizerSpec;

// A copyable pointer: a second optimizer is described like the first.
struct SecondOptimizer {
  SwitchOptions when;
  std::string name;
  std::shared_ptr<const OptimizerSpec> optimizer;  // null until it has a name
  void fields(FieldVisitor& v);
};

struct Wrappers {
  std::optional<ScheduleOptions> schedule;
  std::optional<ClipOptions> clip;
  std::optional<ScheduleFreeOptions> schedule_free;
  std::optional<SecondOptimizer> then;
  void fields(FieldVisitor& v);
};

struct OptimizerSpec {
  std::string name;
  AnyOptions options;  // of the optimizer of that name
  Wrappers wrappers;

  OptimizerSpec() = default;
  explicit OptimizerSpec(const std::string& optimizer);  // with defaults; throws Error for an unknown name
  const OptimizerEntry& entry() const { return find_optimizer(name); }
  void fields(FieldVisitor& v);
  // Throws Error for faults that no single option is to blame for: lists that do not fit together, a second
  // optimizer that would never get its turn.
  void validate() const;
};

// Throws Error, with the location of the fault, for unknown names and keys and for values out of range.
OptimizerSpec read_optimizer(const TomlValue& table, const std::string& owner = "optimizer");
OptimizerSpec optimizer_spec(const nlohmann::json& settings);  // {"name": "adam", "learning_rate": 1e-3}

}  // namespace lather::optim
