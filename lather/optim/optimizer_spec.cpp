#include "lather/optim/optimizer_spec.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"

namespace lather::optim {

namespace {

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const auto& e : catalogue()) names.push_back(e.name);
  return names;
}

}  // namespace

OptimizerSpec::OptimizerSpec(const std::string& optimizer)
    : name(optimizer), options(find_optimizer(optimizer).defaults) {}

// The name decides which options there are.
void OptimizerSpec::fields(FieldVisitor& v) {
  const std::string before = name;
  v.word("name", name, "which optimizer", optimizer_names());
  if (name != before) options = entry().defaults;
  options.fields(v);
  wrappers.fields(v);
}

void Wrappers::fields(FieldVisitor& v) {
  v.table("schedule", schedule, "of the learning rate");
  v.table("clip", clip, "gradients that are too long");
  v.table("schedule_free", schedule_free, "averages instead of a schedule");
  v.table("then", then, "a second optimizer, with options of its own, and when to switch to it");
}

void SecondOptimizer::fields(FieldVisitor& v) {
  const std::string before = name;
  v.word("name", name, "a second optimizer, with options and wrappers of its own", optimizer_names());
  when.fields(v);
  if (name.empty()) return;
  OptimizerSpec own = optimizer && name == before ? *optimizer : OptimizerSpec(name);
  own.options.fields(v);
  own.wrappers.fields(v);
  optimizer = std::make_shared<const OptimizerSpec>(std::move(own));
}

void OptimizerSpec::validate() const {
  if (name.empty()) throw Error("optimizer: expected a name, as in {name = \"adam\"}");
  if (wrappers.schedule) wrappers.schedule->validate();
  if (!wrappers.then) return;
  const auto& second = *wrappers.then;
  if (second.name.empty()) throw Error("optimizer.then: expected the name of a second optimizer");
  const Family family = entry().family;
  const bool goes_on_for_ever = family == Family::first_order || family == Family::kronecker;
  if (goes_on_for_ever && second.when.at_step == 0 && second.when.plateau_steps == 0)
    throw Error(
        fmt::format("optimizer.then: {} never ends by itself, so {} would never begin; add at_step = 5000 "
                    "(switch before this step) or plateau_steps = 500 (switch on a plateau of the loss)",
                    name, second.name));
  second.optimizer->validate();
}

OptimizerSpec read_optimizer(const TomlValue& table, const std::string& owner) {
  OptimizerSpec spec;
  options::read(spec, owner, table);
  try {
    spec.validate();
  } catch (const Error& error) {
    throw Error(table.where, error.message());
  }
  return spec;
}

OptimizerSpec optimizer_spec(const nlohmann::json& settings) {
  return read_optimizer(toml_from_json(settings, {}));
}

}  // namespace lather::optim
