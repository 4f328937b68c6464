#include "lather/core/threads.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "lather/core/error.hpp"
#include "lather/core/interrupt.hpp"

namespace lather {

unsigned long process_generation() {
  static std::atomic<unsigned long> generation{0};
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++generation; });
  static_cast<void>(registered);
  return generation.load(std::memory_order_relaxed);
}

// The threads besides the caller's, and what they share with it.
class ThreadTeam::Crew {
 public:
  explicit Crew(int workers) {
    try {
      for (int thread = 1; thread <= workers; ++thread)
        workers_.emplace_back([this, thread] { work(thread); });
    } catch (const std::system_error& error) {
      const auto started = workers_.size() + 1;
      end();
      throw Error(fmt::format("{} threads cannot be started, {} can: {}", workers + 1, started,
                              error.code().message()));
    }
  }
  ~Crew() { end(); }

  void start(Call call, void* context) {
    {
      std::lock_guard lock(mutex_);
      call_ = call;
      context_ = context;
      scope_ = StopScope::current();
      running_ = workers_.size();
      failure_ = nullptr;
      ++round_;
    }
    if (!workers_.empty()) start_.notify_all();
    guarded_call(0);
  }

  void finish() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return running_ == 0; });
    if (failure_) std::rethrow_exception(failure_);
  }

  // For those of another process: their threads do not exist here, so nothing of them can be ended or freed.
  static void abandon(std::unique_ptr<Crew> crew) {
    static auto* const abandoned = new std::vector<Crew*>;
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    abandoned->push_back(crew.release());
  }

 private:
  void work(int thread) {
    unsigned long seen = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        start_.wait(lock, [&] { return stopping_ || round_ != seen; });
        if (stopping_) return;
        seen = round_;
      }
      guarded_call(thread);
      std::lock_guard lock(mutex_);
      if (--running_ == 0) done_.notify_one();
    }
  }

  void end() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    start_.notify_all();
    for (auto& worker : workers_) worker.join();
  }

  void guarded_call(int thread) {
    try {
      if (thread == 0 || !scope_) return call_(context_, thread);
      const auto of_the_caller = StopScope::like(scope_);
      call_(context_, thread);
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  Call call_ = nullptr;
  void* context_ = nullptr;
  const StopScope* scope_ = nullptr;
  std::exception_ptr failure_;
  unsigned long round_ = 0;
  std::size_t running_ = 0;
  bool stopping_ = false;
};

ThreadTeam::ThreadTeam(int size)
    : size_(size > 1 ? size : 1), process_(process_generation()), crew_(std::make_unique<Crew>(size_ - 1)) {}

ThreadTeam::~ThreadTeam() {
  if (process_ != process_generation()) Crew::abandon(std::move(crew_));
}

void ThreadTeam::run_erased(Call call, void* context) {
  if (process_ != process_generation()) {
    Crew::abandon(std::exchange(crew_, std::make_unique<Crew>(size_ - 1)));
    process_ = process_generation();
  }
  crew_->start(call, context);
  if (process_ != process_generation())
    throw Error("the process was forked while its threads were at work; their part is missing here");
  crew_->finish();
}

int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  const unsigned count = std::thread::hardware_concurrency();
  return count > 0 ? static_cast<int>(count) : 1;
}

}  // namespace lather
