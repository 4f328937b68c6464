#pragma once
// For callers that train several times in one process and want the peak of each training.

namespace lather {

// All threads allocate from one heap, so that forget_peak_memory() can give back what was freed in others than
// this one. To be called before any other thread is started.
// Measured: with the heaps that glibc makes for threads, 39 MB of a small run were 27 MB that earlier ones had
// freed (malloc_trim leaves the end of such a heap); with one heap the run has the 13 MB of a new process.
void use_one_heap();

// Restarts peak_host_memory_bytes() and peak_device_memory_bytes() at what is in use now. Memory that was
// freed but kept for later allocations is given back to the system first (glibc only).
void forget_peak_memory();

}  // namespace lather
