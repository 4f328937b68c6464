#pragma once
// Streams of the emulated device. Nothing is done until the host waits; then the streams' work is done in
// random order (LATHER_EMULATED_SEED), unless it waits for other work. Code that forgets to wait finds old
// numbers, here in every run rather than now and then as on a GPU. While a stream is captured, work goes to a
// graph, for which the same holds.

#include <cuda_runtime_api.h>

#include <functional>

namespace lather::emulator {

void enqueue(cudaStream_t stream, std::function<void()> work);
// The same for work that involves other processes: they may wait for it without waiting for this host.
void enqueue_shared(cudaStream_t stream, std::function<void()> work);
bool is_captured(cudaStream_t stream);

}  // namespace lather::emulator
