#pragma once
// Streams of the emulated device: work is done at once, or recorded while a stream is captured.

#include <functional>
#include <vector>

namespace lather::emulator {

using Work = std::vector<std::function<void()>>;
extern Work* capture;  // null: nothing is recorded

inline void enqueue(std::function<void()> work) {
  if (capture)
    capture->push_back(std::move(work));
  else
    work();
}

}  // namespace lather::emulator
