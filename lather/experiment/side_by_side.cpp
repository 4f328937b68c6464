#include "lather/experiment/side_by_side.hpp"

#include <thread>
#include <vector>

namespace lather::experiment {

void SideBySide::add(Task task, Where where) {
  {
    std::lock_guard lock(mutex_);
    where == Where::first ? waiting_.push_front(std::move(task)) : waiting_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void SideBySide::run(int threads, const std::function<bool()>& stop) {
  std::vector<std::thread> team;
  for (int i = 0; i < threads; ++i) team.emplace_back([&] { work(stop); });
  for (auto& thread : team) thread.join();
  waiting_.clear();
  if (failure_) std::rethrow_exception(failure_);
}

void SideBySide::work(const std::function<bool()>& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !waiting_.empty() || running_ == 0 || failure_; });
    if (waiting_.empty() || failure_ || stop()) break;
    const Task task = std::move(waiting_.front());
    waiting_.pop_front();
    ++running_;
    lock.unlock();
    try {
      task();
      lock.lock();
    } catch (...) {
      lock.lock();
      if (!failure_) failure_ = std::current_exception();
    }
    --running_;
    changed_.notify_all();
  }
  changed_.notify_all();
}

}  // namespace lather::experiment
