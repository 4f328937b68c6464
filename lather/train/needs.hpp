#pragma once
// The memory that a run will take, by parts, from its configuration alone: nothing is drawn, allocated or
// computed. One estimate for `train`, `check`, C and Python; a run that the machine cannot hold is refused
// before it starts.

#include <string>
#include <vector>

#include "lather/train/config.hpp"

namespace lather::train {

struct Need {
  std::string what;  // "points", …
  double bytes = 0;
};

// Of one process. What is needed only for a while, such as candidates of adaptive sampling or the copy that
// becomes a checkpoint, counts with the largest of it. Measured against the peaks of whole runs
// (tests/command/needs_test.cpp): between 0.6 and 2 times them, beyond some MiB of the program itself.
struct Needs {
  std::vector<Need> host, device;
  double host_bytes() const;
  double device_bytes() const;
  std::string text() const;  // "1.2 GiB: 900 MiB points, …", with what is on the GPU
};

Needs estimate_needs(const Config& config, const pde::Problem& problem);

// Throws OutOfMemory if this machine, its control group or the limit of address space cannot hold it, or the
// GPU: what it needs, what there is, and settings that would fit.
void require_room(const Config& config, const pde::Problem& problem);

// Why `lm` or `linear` cannot be chosen for so many columns of the Jacobian and residuals: its matrix is too
// large for this machine, or a step would take longer than a minute or than `seconds` (0: no limit). Empty: it
// can be.
std::string why_not(const std::string& method, std::int64_t columns, std::int64_t residuals, double seconds);

}  // namespace lather::train
