#include "lather/core/threads.hpp"

#include <sched.h>

namespace lather {

ThreadTeam::ThreadTeam(int size) {
  for (int thread = 1; thread < size; ++thread) workers_.emplace_back([this, thread] { work(thread); });
}

ThreadTeam::~ThreadTeam() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  start_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadTeam::run_erased(Call call, void* context) {
  {
    std::lock_guard lock(mutex_);
    call_ = call;
    context_ = context;
    running_ = static_cast<int>(workers_.size());
    failure_ = nullptr;
    ++generation_;
  }
  if (!workers_.empty()) start_.notify_all();
  guarded_call(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return running_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void ThreadTeam::work(int thread) {
  unsigned long seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stopping_ || generation_ != seen; });
      if (stopping_) return;
      seen = generation_;
    }
    guarded_call(thread);
    std::lock_guard lock(mutex_);
    if (--running_ == 0) done_.notify_one();
  }
}

void ThreadTeam::guarded_call(int thread) {
  try {
    call_(context_, thread);
  } catch (...) {
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  const unsigned count = std::thread::hardware_concurrency();
  return count > 0 ? static_cast<int>(count) : 1;
}

}  // namespace lather
