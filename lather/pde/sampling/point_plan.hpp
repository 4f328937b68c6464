#pragma once
// How the points of a problem are redrawn again and again, as numbers that a device can follow on its own.

#include <cstdint>
#include <vector>

#include "lather/pde/sampling/sampling.hpp"

namespace lather::pde {

// Labels of random-number streams: no two purposes share any.
enum Purpose : std::uint64_t {
  kTraining = 1,
  kCandidates = 2,
  kChoice = 3,
  kBatch = 4,
  kValidation = 5,
  kHeldOutRows = 6
};

// Points first ... first + count - 1 of a set. Draw number n takes them from points_in(box, piece, method,
// count, seed, stream_of({kTraining, set, n, index}), n * count).
struct PlannedPart {
  int set = 0;
  std::uint64_t index = 0;
  std::size_t first = 0, count = 0;
  SamplingMethod method = SamplingMethod::uniform;
  std::vector<Interval> box;
  Piece piece;
};

struct PointPlan {
  std::uint64_t seed = 0;
  std::int64_t every = 1;  // steps between draws; step s belongs to draw s / every
  std::vector<PlannedPart> parts;
};

}  // namespace lather::pde
