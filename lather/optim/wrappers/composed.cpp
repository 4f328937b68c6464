#include "lather/optim/wrappers/composed.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "lather/core/error.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/optim/wrappers/clipped.hpp"
#include "lather/optim/wrappers/schedule_free.hpp"
#include "lather/optim/wrappers/scheduled.hpp"
#include "lather/optim/wrappers/switching.hpp"

namespace lather::optim {
namespace {

using Json = nlohmann::json;

// Takes `key` out of `settings`; null if it is not there.
Json take(Json& settings, const std::string& key) {
  const auto found = settings.find(key);
  if (found == settings.end()) return nullptr;
  Json value = std::move(*found);
  settings.erase(found);
  return value;
}

Json take_object(Json& settings, const std::string& key) {
  Json value = take(settings, key);
  if (!value.is_null() && !value.is_object())
    throw Error(key + ": expected an object of options, got " + value.dump());
  return value;
}

template <class Options>
Options read(const std::string& owner, const Json& settings) {
  Options options;
  options::set_all(options, owner, settings);
  return options;
}

}  // namespace

std::unique_ptr<Optimizer> make_composed(const ParameterLayout& layout, const Json& given, Device device) {
  if (!given.is_object()) throw Error("optimizer: expected an object with a name, got " + given.dump());
  Json settings = given;
  const Json name = take(settings, "name");
  if (!name.is_string()) throw Error("optimizer: expected a name, as in {\"name\": \"adam\"}");
  const Json clip = take_object(settings, "clip"), schedule = take_object(settings, "schedule"),
             average = take_object(settings, "schedule_free");
  Json then = take_object(settings, "then");

  const OptimizerEntry& entry = find_optimizer(name.get<std::string>());
  std::unique_ptr<Optimizer> optimizer;
  const auto clipping = clip.is_null() ? std::optional<ClipOptions>() : read<ClipOptions>("clip", clip);
  if (device == Device::cuda && entry.make_on_device && average.is_null()) {
    optimizer = entry.make_on_device(layout, settings);
    if (optimizer && clipping && !optimizer->clip_gradients(*clipping)) optimizer.reset();
  }
  if (!optimizer) {
    optimizer = entry.make(layout, settings);
    if (clipping) optimizer = std::make_unique<Clipped>(std::move(optimizer), *clipping);
  }
  if (!average.is_null())
    optimizer = std::make_unique<ScheduleFree>(std::move(optimizer),
                                               read<ScheduleFreeOptions>("schedule_free", average));
  if (!schedule.is_null())
    optimizer =
        std::make_unique<Scheduled>(std::move(optimizer), read<ScheduleOptions>("schedule", schedule));
  if (then.is_null()) return optimizer;

  SwitchOptions switch_options;
  for (const auto& field : options::describe(switch_options))
    if (const Json value = take(then, field.name); !value.is_null())
      options::set(switch_options, "then", field.name, value);
  return std::make_unique<Switching>(std::move(optimizer), make_composed(layout, then, device),
                                     switch_options);
}

}  // namespace lather::optim
