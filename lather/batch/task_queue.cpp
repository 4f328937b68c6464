#include "lather/batch/task_queue.hpp"

#include <thread>
#include <vector>

namespace lather::batch {

void TaskQueue::add(Task task, Where where) {
  {
    std::lock_guard lock(mutex_);
    auto& queue = where == Where::alone ? waiting_alone_ : waiting_;
    where == Where::first ? queue.push_front(std::move(task)) : queue.push_back(std::move(task));
  }
  changed_.notify_one();
}

void TaskQueue::run(int threads, const std::function<bool()>& stop) {
  std::vector<std::thread> team;
  for (int i = 0; i < threads; ++i) team.emplace_back([&] { work(stop); });
  for (auto& thread : team) thread.join();
  waiting_.clear();
  waiting_alone_.clear();
  if (failure_) std::rethrow_exception(failure_);
}

// A task may start, or there will be none.
bool TaskQueue::may_go_on() const {
  return running_ == 0 || failure_ || (!waiting_.empty() && !one_is_alone_);
}

void TaskQueue::work(const std::function<bool()>& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return may_go_on(); });
    const bool alone = waiting_.empty();
    auto& queue = alone ? waiting_alone_ : waiting_;
    if (queue.empty() || failure_ || stop()) break;
    const Task task = std::move(queue.front());
    queue.pop_front();
    ++running_;
    one_is_alone_ = alone;
    lock.unlock();
    try {
      task();
      lock.lock();
    } catch (...) {
      lock.lock();
      if (!failure_) failure_ = std::current_exception();
    }
    --running_;
    one_is_alone_ = false;
    changed_.notify_all();
  }
  changed_.notify_all();
}

}  // namespace lather::batch
