#pragma once
// For callers that train several times in one process and want the peak of each training.

namespace lather {

// Restarts peak_host_memory_bytes() and peak_device_memory_bytes(),
// as if the process had just begun.
void forget_peak_memory();

}  // namespace lather
