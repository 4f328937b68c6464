#pragma once
// Arguments of the kernels for least squares with many parameters; host and kernels read this file.

namespace lather::optim {

struct ScaleColumnsKernelArgs {
  double* rows;
  const double* scale;  // per column
  long long size;       // columns
  int count;
  int divide;
};

// to (rows × columns) = from C, C by groups of members (solvers/sketch.hpp)
struct FoldKernelArgs {
  const double* from;
  double* to;
  const unsigned int* starts;
  const unsigned int* members;
  const double* entries;
  long long from_stride;
  long long to_stride;
  int rows;
  int columns;
};

// to += R from for consecutive rows, `stride` numbers apart
struct HashRowsKernelArgs {
  const double* from;
  double* to;
  const unsigned int* bins;
  const double* entries;
  int rows;
  int columns;
  int hashes;
  int stride;
};

}  // namespace lather::optim
