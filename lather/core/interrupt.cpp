#include "lather/core/interrupt.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace lather {

namespace {

constinit thread_local const StopScope* current_scope = nullptr;

std::int64_t now() noexcept {  // clock_gettime may be called in signal handlers
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

std::int64_t after(double seconds) noexcept { return now() + static_cast<std::int64_t>(1e9 * seconds); }

void lower(std::atomic<std::int64_t>& due, std::int64_t time) noexcept {
  std::int64_t old = due.load(std::memory_order_relaxed);
  while (time < old && !due.compare_exchange_weak(old, time, std::memory_order_relaxed)) {
  }
}

}  // namespace

bool Stop::ask() noexcept {
  constexpr std::int64_t kSame = 200'000'000;
  std::int64_t first = kNever;
  if (asked_at_.compare_exchange_strong(first, now())) {
    lower(due_, after(kGrace));
    return false;
  }
  if (now() - first < kSame) return false;
  lower(due_, now());
  return true;
}

void Stop::end_in(double seconds) noexcept {
  constexpr double kLong = 1e9;  // seconds
  due_ = seconds < kLong ? after(std::max(seconds, 0.0)) : kNever;
}

bool Stop::asked() const noexcept {
  return asked_at_.load(std::memory_order_relaxed) != kNever || (other_ && other_->asked()) ||
         (flag_ && __atomic_load_n(flag_, __ATOMIC_RELAXED) != 0);
}

bool Stop::is_due() noexcept {
  if (other_ && other_->is_due()) return true;
  const bool noted = asked_at_.load(std::memory_order_relaxed) != kNever;
  if (!noted && flag_ && asked()) ask();  // the grace begins when the flag is seen
  const std::int64_t due = due_.load(std::memory_order_relaxed);
  return due != kNever && now() >= due;
}

void Stop::withdraw() noexcept {
  due_ = kNever;
  asked_at_ = kNever;
}

StopScope::StopScope(Stop* stop, const StopScope* around) noexcept
    : stop_(stop), around_(around), before_(current_scope) {
  current_scope = stop ? this : around;
}
StopScope::~StopScope() { current_scope = before_; }

const StopScope* StopScope::current() noexcept { return current_scope; }

bool StopScope::is_due() const noexcept {
  for (const StopScope* scope = this; scope; scope = scope->around_)
    if (scope->stop_ && scope->stop_->is_due()) return true;
  return false;
}

bool StopScope::is_asked() const noexcept {
  for (const StopScope* scope = this; scope; scope = scope->around_)
    if (scope->stop_ && scope->stop_->asked()) return true;
  return false;
}

bool stop_is_asked() noexcept { return current_scope && current_scope->is_asked(); }
bool stop_is_due() noexcept { return current_scope && current_scope->is_due(); }

void poll_stop() {
  if (stop_is_due()) throw Interrupted();
}

void run_aside(std::function<void()> f) {
  if (!current_scope) return f();
  poll_stop();
  struct Work {
    std::function<void()> f;
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
    std::exception_ptr failure;
  };
  const auto work = std::make_shared<Work>();
  work->f = std::move(f);
  std::thread([work] {
    std::exception_ptr failure;
    try {
      work->f();
    } catch (...) {
      failure = std::current_exception();
    }
    work->f = nullptr;
    const std::lock_guard lock(work->mutex);
    work->failure = failure;
    work->done = true;
    work->ended.notify_one();
  }).detach();
  std::unique_lock lock(work->mutex);
  while (!work->done) {
    poll_stop();
    work->ended.wait_for(lock, std::chrono::milliseconds(50));
  }
  if (work->failure) std::rethrow_exception(work->failure);
}

}  // namespace lather
