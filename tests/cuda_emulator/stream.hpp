#pragma once
// Streams of the emulated device. Nothing is done before the host waits, and then what streams hold is done in an
// order drawn by lot (LATHER_EMULATED_SEED), as far as it does not wait for other work. Who forgets to wait finds old
// numbers, here at every run and not, as on a GPU, now and then. While a stream is captured, work goes to a graph,
// of which the same holds.

#include <cuda_runtime_api.h>

#include <functional>

namespace lather::emulator {

void enqueue(cudaStream_t stream, std::function<void()> work);
// The same for work in which other processes have a part: they may wait for it without waiting for this host.
void enqueue_shared(cudaStream_t stream, std::function<void()> work);
bool is_captured(cudaStream_t stream);

}  // namespace lather::emulator
