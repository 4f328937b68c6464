#pragma once
// Arguments of the kernels in path.cuh; host and kernels read this file.

namespace lather::optim {

constexpr int kPathPoints = 3;  // at most, at a time

struct DampingKernelArgs {
  const double* diagonal;  // of J^T J
  double* shift;           // lambda D
  double lambda;
  int size;
  int marquardt;
};

// Points x + s d + s^2/2 a, one after another.
struct PathKernelArgs {
  const double* x;
  const double* d;
  const double* a;  // null: zero
  double* to;
  double s[kPathPoints];
  long long size;
};

struct NegateKernelArgs {
  const double* from;
  double* to;
  long long size;
};

struct BendKernelArgs {
  const double* d;
  double* a;
  long long size;
};

}  // namespace lather::optim
