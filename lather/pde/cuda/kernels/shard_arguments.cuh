#pragma once
// Arguments of the kernels in shards.cuh; host and kernels read this file.

namespace lather::pde {

// slots[a][k] += slots[b][k] for k in [first, first + count), one pair (a, b) after another.
struct ShardPairsKernelArgs {
  double* slots;
  const int* pairs;
  long long stride, first, count;  // of a slot; of its numbers
  int pairs_count, unused;
};

// Upper triangles (row-major, n × n): to += from.
struct AddTriangleKernelArgs {
  double* to;
  const double* from;
  long long n, stride;  // from row to row
};

// to[k] += from[k] for k in [0, count).
struct AddNumbersKernelArgs {
  double* to;
  const double* from;
  long long count;
};

// A sum, and whether a rank was lost before it was complete.
struct LostSumKernelArgs {
  double* sum;
  const int* lost;
};

}  // namespace lather::pde
