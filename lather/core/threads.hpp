#pragma once
// A team of threads that stays alive between steps. `run(f)` calls f(0) …
// f(size-1), one call per thread, and returns when all are done. Work is split
// by the caller, statically, so that sums come out the same from run to run.
// In a forked process, which has none of the threads, the team starts new ones.

#include <cstddef>
#include <memory>
#include <type_traits>

namespace lather {

class ThreadTeam {
 public:
  explicit ThreadTeam(int size);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return size_; }

  // The first exception thrown by a call is rethrown here. Does not allocate.
  template <class F>
  void run(F&& f) {
    run_erased(
        [](void* context, int thread) { (*static_cast<std::remove_reference_t<F>*>(context))(thread); },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  using Call = void (*)(void* context, int thread);
  class Crew;
  void run_erased(Call call, void* context);

  int size_;
  unsigned long process_;  // whose threads they are, as process_generation() tells
  std::unique_ptr<Crew> crew_;
};

// Changes in a forked process: threads, and locks that they held, are not those of the parent.
unsigned long process_generation();

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
