#include "lather/train/event_log.hpp"

#include <algorithm>

namespace lather::train {

namespace {

// Adds what step i of the log says about the layer of an earlier event.
void add_fit(const optim::BasisLog& log, std::size_t i, LoggedEvent& event) {
  const auto layer = std::ranges::find(log.tau, event.layer, &optim::TauCounts::block);
  if (layer == log.tau.end()) return;
  const auto at = i * log.tau.size() + static_cast<std::size_t>(layer - log.tau.begin());
  if (at >= log.fits.size()) return;
  event.rho_after_10 = log.fits[at].rho;
  event.gradient_cosine_after_10 = log.fits[at].gradient_cosine;
}

}  // namespace

void EventLog::add(const optim::BasisLog& log, std::int64_t steps_before, double loss) {
  const std::vector<double> only{loss};
  const auto& losses = log.losses.empty() ? only : log.losses;
  auto event = log.events.begin();
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const std::int64_t step = steps_before + static_cast<std::int64_t>(i) + 1;
    for (auto& earlier : waiting_) {  // this loss is the result of their steps
      if (step == earlier.step + 1) earlier.loss_after_1 = losses[i];
      if (step != earlier.step + 10) continue;
      earlier.loss_after_10 = losses[i];
      add_fit(log, i, earlier);
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
                          &e.loss_after_10, &e.rho_after_10, &e.gradient_cosine_after_10})
      v.real("event", *value);
  }
}

}  // namespace lather::train
