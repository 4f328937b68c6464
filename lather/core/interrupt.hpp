#pragma once
// Ending long work early: a person has asked for it, or its time is over.
//
//   Stop stop;                        // asked from anywhere, also from a signal handler
//   const StopScope scope(stop);      // what this thread does now, and the thread teams it uses, is under it
//   for (…) { poll_stop(); … }        // long loops ask; throws Interrupted when the work is to end
//
// A poll costs a few nanoseconds and belongs into every loop that may last: per tile of points, block of a
// factorization, time step of a reference, trial of a line search. Whoever catches Interrupted finds objects
// as after any other exception: to go on with them, put them back into a state that was kept (train/rewind.hpp).

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

namespace lather {

// Not an Error: nothing is wrong, and whoever reports errors and goes on must not catch it.
class Interrupted final : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

class Stop {
 public:
  Stop() = default;
  // Also asks when `other` is asked, and once *flag is not 0; null: there is none.
  Stop(Stop* other, const std::int32_t* flag) : other_(other), flag_(flag) {}
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  // Work ends at its next poll after kGrace, so that short steps are finished and their results kept; asked
  // again, at its next poll: true. What follows the first request closely is the same one: `timeout` and some
  // shells send a signal to a process and to its group. Safe in signal handlers.
  bool ask() noexcept;
  // Work ends at its next poll after so many seconds; infinity: never.
  void end_in(double seconds) noexcept;
  // For loops with a better place to end than the next poll.
  bool asked() const noexcept;
  bool is_due() noexcept;    // polls under it throw
  void withdraw() noexcept;  // as if it had never been asked

  static constexpr double kGrace = 0.25;  // seconds

 private:
  static constexpr std::int64_t kNever = INT64_MAX;
  std::atomic<std::int64_t> due_ = kNever, asked_at_ = kNever;  // in nanoseconds of the steady clock
  Stop* const other_ = nullptr;
  const std::int32_t* const flag_ = nullptr;
};

class StopScope {
 public:
  // In addition to the scopes around it.
  explicit StopScope(Stop& stop) : StopScope(&stop, current()) {}
  static StopScope with(Stop* stop) { return {stop, current()}; }  // null: none in addition
  // Under no stop but this one; null: polls do nothing.
  static StopScope only(Stop* stop) { return {stop, nullptr}; }
  // As in the thread that made `scope`, which must outlive this one: for threads that work on its behalf.
  static StopScope like(const StopScope* scope) { return {nullptr, scope}; }
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  static const StopScope* current() noexcept;  // of this thread; null: nothing can stop what it does
  bool is_due() const noexcept;
  bool is_asked() const noexcept;

 private:
  StopScope(Stop* stop, const StopScope* around) noexcept;
  Stop* const stop_;
  const StopScope *const around_, *const before_;
};

// Throws Interrupted if the work of this thread is to end.
void poll_stop();
bool stop_is_due() noexcept;
bool stop_is_asked() noexcept;

// The result of f, a long computation that cannot poll. If this thread's work is to end before it has ended,
// throws Interrupted at once and leaves f to itself: it must own all it uses.
void run_aside(std::function<void()> f);
template <class F>
auto aside(F f) {
  const auto result = std::make_shared<decltype(f())>();
  run_aside([result, f = std::move(f)] { *result = f(); });
  return std::move(*result);
}

}  // namespace lather
