#pragma once
// What points are drawn from on the device (points.cuh); host and kernels read this file.

namespace lather::pde {

// How coordinates of [0, 1] are made: independent, a Sobol'
// sequence moved by a random digital shift, or the sequence itself.
enum class DrawnDesign { uniform, shifted_sobol, sobol_sequence };

// A coordinate is low + width * u; width 0: held fixed, and no random number is spent on it.
struct DrawnPart {
  void* coordinates;
  long long points, first, count;
  unsigned long long set, index;
  DrawnDesign design;
  int dimensions;
  double low[10], width[10];
};

struct DrawKernelArgs {
  const DrawnPart* parts;
  const unsigned* directions;  // of the Sobol' sequence, 32 per coordinate
  const long long* step;
  const int* index;
  int* changed;
  long long every;
  unsigned long long seed;
};

}  // namespace lather::pde
