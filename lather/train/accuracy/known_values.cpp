#include "lather/train/accuracy/known_values.hpp"

namespace lather::train {

KnownValues::Numbers KnownValues::get(const std::string& key, const std::function<Numbers()>& compute) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    auto& known = entries_[key];
    if (!known) known = std::make_shared<Entry>();
    entry = known;
  }
  const std::lock_guard alone(entry->mutex);
  if (entry->known) return entry->numbers;
  entry->numbers = compute();
  entry->known = true;
  const std::lock_guard lock(mutex_);
  kept_ += entry->numbers.size();
  if (kept_ > most_) {
    entries_.clear();
    kept_ = 0;
  }
  return entry->numbers;
}

void KnownValues::forget() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
  kept_ = 0;
}

KnownValues& known_values() {
  static KnownValues values(std::size_t(1) << 25);  // 256 MiB
  return values;
}

}  // namespace lather::train
