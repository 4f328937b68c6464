#pragma once
// For whoever trains several times in one process and wants the peak of each.

namespace lather {

// From now on peak_host_memory_bytes() and peak_device_memory_bytes()
// are about what comes: as if the process had just begun.
void forget_peak_memory();

}  // namespace lather
