#include "lather/capi/interrupts.hpp"

#include <signal.h>

#include <atomic>

#include "lather/capi/guard.hpp"

namespace lather::capi {

namespace {

thread_local bool call_was_interrupted = false;

// Signals belong to the process, so there is one of each.
Stop interrupts;
std::atomic<const void*> catcher =
    nullptr;  // the thread that catches them, by the address of a variable of its own
struct sigaction before {};

void note_interrupt(int) {
  if (!interrupts.ask() || before.sa_handler != SIG_DFL) return;
  ::sigaction(SIGINT, &before, nullptr);
  ::raise(SIGINT);  // delivered when this function returns
}

bool catches() noexcept { return catcher.load() == &call_was_interrupted; }

}  // namespace

Stop* interrupts_of_this_thread() noexcept { return catches() ? &interrupts : nullptr; }

void heed_interrupt() noexcept {
  interrupts.withdraw();
  call_was_interrupted = true;
}

CallScope::CallScope() noexcept : scope_(StopScope::with(interrupts_of_this_thread())) {
  call_was_interrupted = false;
}

extern "C" {

std::int32_t lather_catch_interrupts() {
  return guarded([] {
    const void* nobody = nullptr;
    if (!catcher.compare_exchange_strong(nobody, &call_was_interrupted)) {
      if (catches()) return;
      throw Error("another thread catches interrupts already");
    }
    struct sigaction wanted {};
    wanted.sa_handler = note_interrupt;
    wanted.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &wanted, &before);
    if (before.sa_handler == SIG_IGN) ::sigaction(SIGINT, &before, nullptr);
  });
}

std::int32_t lather_release_interrupts() {
  if (!catches()) return 0;
  ::sigaction(SIGINT, &before, nullptr);
  const bool unheeded = interrupts.asked();
  interrupts.withdraw();
  catcher = nullptr;
  return unheeded;
}

std::int32_t lather_interrupted() { return call_was_interrupted; }

}  // extern "C"

}  // namespace lather::capi
