// glibc's checked longjmp refuses to change stacks.
#undef _FORTIFY_SOURCE

#include "thread_block.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <memory>
#include <vector>

namespace lather::emulator {

namespace {

// The threads of one block as fibers. They are made once and switched by setjmp and longjmp: swapcontext
// would call the kernel for the signal mask every time.
class Block {
 public:
  static Block* current;
  void run(const Kernel& kernel, const void* parameter, unsigned threads) {
    current = this;
    kernel_ = &kernel, parameter_ = parameter;
    while (fibers_.size() < threads) fibers_.push_back(std::make_unique<Fiber>());
    alive_ = static_cast<int>(threads);
    arrived_ = 0, generation_ = 0;
    warp_arrived_.assign(threads / 32 + 1, 0);
    warp_generation_.assign(threads / 32 + 1, 0);
    for (unsigned t = 0; t < threads; ++t) fibers_[t]->done = false;
    const unsigned width = kernel.block_size->x;
    while (alive_ > 0)
      for (unsigned t = 0; t < threads; ++t) {
        Fiber& f = *fibers_[t];
        if (f.done || (f.wait && *f.wait == f.wait_generation)) continue;
        running_ = t;
        *kernel.thread = {t % width, t / width, 0};
        resume(f);
      }
  }
  void meet_block() { meet(arrived_, generation_, alive_); }
  void meet_warp() { meet(warp_arrived_[running_ / 32], warp_generation_[running_ / 32], 32); }

 private:
  struct Fiber {
    std::vector<char> stack = std::vector<char>(1 << 16);
    jmp_buf place;
    bool started = false, done = false;
    int* wait = nullptr;
    int wait_generation = 0;
  };
  void resume(Fiber& f) {
    if (_setjmp(scheduler_) != 0) return;
    if (f.started) _longjmp(f.place, 1);
    f.started = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = f.stack.data();
    context.uc_stack.ss_size = f.stack.size();
    context.uc_link = nullptr;
    makecontext(
        &context, [] { current->live(); }, 0);
    setcontext(&context);
  }
  void leave(Fiber& f) {
    if (_setjmp(f.place) == 0) _longjmp(scheduler_, 1);
  }
  // One kernel after another.
  [[noreturn]] void live() {
    for (;;) {
      kernel_->function(parameter_);
      Fiber& f = *fibers_[running_];
      f.done = true;
      --alive_;
      leave(f);
    }
  }
  void meet(int& arrived, int& generation, int all) {
    if (++arrived == all) {
      arrived = 0;
      ++generation;
      return;
    }
    Fiber& f = *fibers_[running_];
    f.wait = &generation, f.wait_generation = generation;
    leave(f);
    f.wait = nullptr;
  }
  const Kernel* kernel_ = nullptr;
  const void* parameter_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<int> warp_arrived_, warp_generation_;
  jmp_buf scheduler_;
  unsigned running_ = 0;
  int alive_ = 0, arrived_ = 0, generation_ = 0;
};
Block* Block::current = nullptr;

}  // namespace

void block_barrier() { Block::current->meet_block(); }
void warp_barrier() { Block::current->meet_warp(); }

void launch(const Kernel& kernel, dim3 grid, dim3 block, const void* parameter) {
  static Block fibers;
  *kernel.grid_size = {grid.x, grid.y, grid.z};
  *kernel.block_size = {block.x, block.y, block.z};
  for (unsigned y = 0; y < grid.y; ++y)
    for (unsigned x = 0; x < grid.x; ++x) {
      *kernel.block = {x, y, 0};
      fibers.run(kernel, parameter, block.x * block.y);
    }
}

}  // namespace lather::emulator
