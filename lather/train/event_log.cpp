#include "lather/train/event_log.hpp"

#include <algorithm>

namespace lather::train {

void EventLog::add(const optim::BasisLog& log, std::int64_t steps_before, double loss) {
  const std::vector<double> only{loss};
  const auto& losses = log.losses.empty() ? only : log.losses;
  auto event = log.events.begin();
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const std::int64_t step = steps_before + static_cast<std::int64_t>(i) + 1;
    for (auto& earlier : waiting_) {  // this loss is what their steps have led to
      if (step == earlier.step + 1) earlier.loss_after_1 = losses[i];
      if (step == earlier.step + 10) earlier.loss_after_10 = losses[i];
    }
    while (!waiting_.empty() && step >= waiting_.front().step + 10) {
      complete_.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    for (; event != log.events.end() && event->step == log.first_step + static_cast<std::int64_t>(i); ++event)
      waiting_.push_back({step, std::string(event->block), event->rho_left, event->rho_right, event->gamma,
                          event->gradient_cosine, losses[i]});
  }
}

std::vector<LoggedEvent> EventLog::take(bool all) {
  std::vector<LoggedEvent> events;
  events.swap(complete_);
  if (!all) return events;
  events.insert(events.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
  return events;
}

void EventLog::state(StateVisitor& v) {
  auto count = static_cast<std::int64_t>(waiting_.size());
  v.integer("events", count);
  if (v.reading()) {
    waiting_.assign(static_cast<std::size_t>(count), {});
    complete_.clear();
  }
  for (auto& e : waiting_) {
    v.integer("event_step", e.step);
    std::vector<double> name(e.layer.begin(), e.layer.end());  // states hold numbers
    v.array("event_layer", name);
    e.layer.assign(name.begin(), name.end());
    for (double* value : {&e.rho_left, &e.rho_right, &e.gamma, &e.gradient_cosine, &e.loss, &e.loss_after_1,
                          &e.loss_after_10})
      v.real("event", *value);
  }
}

}  // namespace lather::train
