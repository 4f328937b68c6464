#include "lather/train/rewind.hpp"

#include "lather/core/interrupt.hpp"

namespace lather::train {

void Rewind::keep(Trainer& trainer, RunState own) {
  const Stopwatch watch;
  StateWriter writer(std::move(bytes_));
  own.state(writer);
  trainer.state(writer);
  bytes_ = writer.take();
  cost_ = watch.seconds();
  since_.restart();
}

bool Rewind::go_back(Trainer& trainer, RunState& own) {
  if (bytes_.empty()) return false;
  const auto undisturbed = StopScope::only(nullptr);
  StateReader reader(bytes_);
  own.state(reader);
  trainer.state(reader);
  return true;
}

}  // namespace lather::train
