#pragma once
// A mutex that is free in a forked process, where the thread that held it does not exist. For locks of
// the whole process that are held for long, such as those of references being computed.

#include <atomic>
#include <memory>
#include <mutex>

#include "lather/core/threads.hpp"

namespace lather {

class ProcessMutex {
 public:
  ProcessMutex() : state_(new State{process_generation(), nullptr}) {}
  ~ProcessMutex() { delete state_.load(); }
  ProcessMutex(const ProcessMutex&) = delete;
  ProcessMutex& operator=(const ProcessMutex&) = delete;

  void lock() { current().mutex.lock(); }
  void unlock() { state_.load()->mutex.unlock(); }

 private:
  struct State {
    State(unsigned long process, State* parents) : process(process), parents(parents) {}
    const unsigned long process;
    State* const parents;  // of the process that forked this one: it may be locked, so it is never destroyed
    std::mutex mutex;
  };
  State& current() {
    State* state = state_.load();
    if (state->process == process_generation()) return *state;
    auto* const fresh = new State(process_generation(), state);
    if (!state_.compare_exchange_strong(state, fresh)) {
      delete fresh;
      return *state;
    }
    return *fresh;
  }
  std::atomic<State*> state_;
};

}  // namespace lather
