#include "lather/optim/wrappers/composed.hpp"

#include "lather/optim/wrappers/clipped.hpp"
#include "lather/optim/wrappers/schedule_free.hpp"
#include "lather/optim/wrappers/scheduled.hpp"
#include "lather/optim/wrappers/switching.hpp"

namespace lather::optim {

std::unique_ptr<Optimizer> make_composed(const ParameterLayout& layout, const OptimizerSpec& spec,
                                         Device device) {
  const OptimizerEntry& entry = spec.entry();
  const auto& [schedule, clip, average, then] = spec.wrappers;
  std::unique_ptr<Optimizer> optimizer;
  if (device == Device::cuda && entry.construct_on_device && !average) {
    optimizer = entry.construct_on_device(layout, spec.options);
    if (optimizer && clip && !optimizer->clip_gradients(*clip)) optimizer.reset();
  }
  if (!optimizer) {
    optimizer = entry.construct(layout, spec.options);
    if (clip) optimizer = std::make_unique<Clipped>(std::move(optimizer), *clip);
  }
  if (average) optimizer = std::make_unique<ScheduleFree>(std::move(optimizer), *average);
  if (schedule) optimizer = std::make_unique<Scheduled>(std::move(optimizer), *schedule);
  if (!then) return optimizer;
  return std::make_unique<Switching>(std::move(optimizer), make_composed(layout, *then->optimizer, device),
                                     then->when);
}

}  // namespace lather::optim
