#pragma once
// A team of threads that stays alive between steps. `run(f)` calls f(0) …
// f(size-1), one call per thread, and returns when all are done. Work is split
// by the caller, statically, so that sums come out the same from run to run.

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace lather {

class ThreadTeam {
 public:
  explicit ThreadTeam(int size);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // The first exception thrown by a call is rethrown here. Does not allocate.
  template <class F>
  void run(F&& f) {
    run_erased(
        [](void* context, int thread) { (*static_cast<std::remove_reference_t<F>*>(context))(thread); },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  using Call = void (*)(void* context, int thread);
  void run_erased(Call call, void* context);
  void work(int thread);
  void guarded_call(int thread);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  Call call_ = nullptr;
  void* context_ = nullptr;
  std::exception_ptr failure_;
  unsigned long generation_ = 0;
  int running_ = 0;
  bool stopping_ = false;
};

// The number of cores this process may use.
int available_cores();

// The half-open range of `count` items that thread `thread` of `threads` takes.
struct IndexRange {
  std::size_t begin, end;
};
inline IndexRange share_of(std::size_t count, int thread, int threads) {
  return {count * thread / threads, count * (thread + 1) / threads};
}

}  // namespace lather
