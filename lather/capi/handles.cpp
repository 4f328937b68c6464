#include "lather/capi/handles.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>
#include <unordered_set>

#include "lather/core/threads.hpp"

namespace lather::capi {

// Everything about who uses what, under one lock, which nobody holds for long. It is never destroyed:
// objects may be freed while the program ends.
struct Turns {
  struct Wait {
    const Handle* handle;
    Use use;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::unordered_set<const Handle*> alive;
  std::unordered_map<std::thread::id, Wait> waiting;

  static Turns& all() {
    static auto* const turns = new Turns;
    return *turns;
  }

  Turns() {
    pthread_atfork([] { all().mutex.lock(); }, [] { all().mutex.unlock(); },
                   [] {
                     all().after_fork();
                     all().mutex.unlock();
                   });
  }

  // In the child only the thread that has forked exists.
  void after_fork() {
    const auto me = std::this_thread::get_id();
    for (const auto& [thread, wait] : waiting) --const_cast<Handle*>(wait.handle)->calls_;
    waiting.clear();
    for (const Handle* pointer : alive) {
      Handle& handle = *const_cast<Handle*>(pointer);
      handle.waiting_readers_ = 0;
      for (const auto& thread : {handle.user_, handle.runner_})
        if (thread != std::thread::id() && thread != me) handle.lost_ = true;
    }
    new (&changed) std::condition_variable;  // the old one counts threads that wait
  }

  Handle& find(const Handle* pointer, const char* kind, const char* name) const {
    if (!pointer) throw Error(fmt::format("{} is NULL", name));
    if (!alive.contains(pointer))
      throw Error(fmt::format("{} is no object of this library, or was freed", name));
    if (std::strcmp(pointer->kind(), kind) != 0)
      throw Error(fmt::format("{} points to an object of another kind: {}", name, pointer->kind()));
    return *const_cast<Handle*>(pointer);
  }

  static void require_usable(const Handle& handle, const char* name, Use use) {
    const auto me = std::this_thread::get_id();
    if (handle.lost_)
      throw Error(
          fmt::format("{} was in use by another thread when this process was forked; make a new one", name));
    if (handle.on_gpu() && handle.process_ != process_generation())
      throw Error(fmt::format(
          "{} is on a GPU, which a forked process cannot use: make it in the process that uses it", name));
    if (handle.user_ == me)
      throw Error(fmt::format("{} is in use by the call that invoked this function", name));
    if (handle.runner_ == me && use != Use::read)
      throw Error(
          fmt::format("{} is being run by the call that invoked this function, which may read it, but "
                      "not change it",
                      name));
  }

  static std::thread::id holder(const Wait& wait) {
    const bool held = wait.handle->user_ != std::thread::id() || wait.use == Use::read;
    return held ? wait.handle->user_ : wait.handle->runner_;
  }

  // Whether the holder waits, perhaps by way of others, for this thread.
  bool would_never_end(Wait wait) const {
    for (;;) {
      const auto thread = holder(wait);
      if (thread == std::this_thread::get_id()) return true;
      const auto next = waiting.find(thread);
      if (next == waiting.end()) return false;
      wait = next->second;
    }
  }

  // With the lock held; it may be released meanwhile.
  void take(std::unique_lock<std::mutex>& lock, Handle& handle, const char* name, Use use) {
    const auto me = std::this_thread::get_id();
    const Wait wait{&handle, use};
    while (holder(wait) != std::thread::id()) {
      if (would_never_end(wait))
        throw Error(fmt::format(
            "{} is in use by a thread that waits for what the call that invoked this function uses", name));
      waiting.emplace(me, wait);
      handle.waiting_readers_ += use == Use::read;
      changed.wait(lock);
      handle.waiting_readers_ -= use == Use::read;
      waiting.erase(me);
      if (handle.freed_) throw Error(fmt::format("{} was freed while this call waited for it", name));
    }
    handle.user_ = me;
    if (use == Use::run) handle.runner_ = me;
  }

  static bool may_destroy(const Handle& handle) {
    const bool foreign = handle.on_gpu() && handle.process_ != process_generation();
    return handle.calls_ == 0 && !handle.lost_ && !foreign;
  }

  // A call has returned; whether it was the last one of an object that was freed.
  bool end_call(Handle& handle) {
    --handle.calls_;
    changed.notify_all();
    return handle.freed_ && may_destroy(handle);
  }
};

Handle::Handle() : process_(process_generation()) {
  auto& turns = Turns::all();
  const std::lock_guard lock(turns.mutex);
  turns.alive.insert(this);
}

Handle::~Handle() {
  auto& turns = Turns::all();
  const std::lock_guard lock(turns.mutex);
  turns.alive.erase(this);
}

Turn::Turn(const Handle* pointer, const char* kind, const char* name, Use use) : use_(use) {
  auto& turns = Turns::all();
  bool last = false;
  {
    std::unique_lock lock(turns.mutex);
    handle_ = &turns.find(pointer, kind, name);
    if (use != Use::share) Turns::require_usable(*handle_, name, use);
    ++handle_->calls_;
    try {
      if (use != Use::share) turns.take(lock, *handle_, name, use);
      return;
    } catch (const Error&) {
      last = turns.end_call(*handle_);
      if (!last) throw;
    }
  }
  delete handle_;
  throw Error(fmt::format("{} was freed while this call waited for it", name));
}

Turn::~Turn() {
  auto& turns = Turns::all();
  bool last = false;
  {
    const std::lock_guard lock(turns.mutex);
    if (use_ != Use::share) handle_->user_ = {};
    if (use_ == Use::run) handle_->runner_ = {};
    last = turns.end_call(*handle_);
  }
  if (last) delete handle_;
}

Turn::Away::Away(const Turn& turn) : handle(*turn.handle_) {
  auto& turns = Turns::all();
  const std::lock_guard lock(turns.mutex);
  handle.user_ = {};
  turns.changed.notify_all();
}

Turn::Away::~Away() {
  auto& turns = Turns::all();
  std::unique_lock lock(turns.mutex);
  turns.changed.wait(lock, [&] { return handle.user_ == std::thread::id() && handle.waiting_readers_ == 0; });
  handle.user_ = std::this_thread::get_id();
}

void free_handle(Handle* pointer) noexcept {
  auto& turns = Turns::all();
  {
    const std::lock_guard lock(turns.mutex);
    if (turns.alive.erase(pointer) == 0) return;
    pointer->freed_ = true;
    if (pointer->calls_ > 0) pointer->freed_in_use();
    turns.changed.notify_all();
    if (!Turns::may_destroy(*pointer)) return;
  }
  delete pointer;
}

}  // namespace lather::capi
