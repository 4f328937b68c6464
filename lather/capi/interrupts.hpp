#pragma once
// Ctrl-C while a call of the C interface runs: lather_catch_interrupts().

#include "lather/core/interrupt.hpp"

namespace lather::capi {

// What Ctrl-C asks for the calls of this thread; null: it is not caught for them.
Stop* interrupts_of_this_thread() noexcept;
// The call ends because of it.
void heed_interrupt() noexcept;

// In every call: its work ends when Ctrl-C asks for it.
class CallScope {
 public:
  CallScope() noexcept;

 private:
  StopScope scope_;
};

}  // namespace lather::capi
