#pragma once
// Jobs of the kernels that do not depend on the problem (jobs.cuh); host and kernels read this file.

namespace lather::pde {

// Copies W (rows × columns, double, times column factors if given) to `to` in the engine's precision with
// padded rows; and its transpose, unless null.
struct WeightJob {
  const double *from, *scale;
  void *to, *transposed;
  int rows, columns, leading, transposed_leading;
};

// Column sums of partial sums (matrix == 0), or a matrix in the engine's precision (matrix == 1), into
// the gradient or the losses.
struct CloseJob {
  const void* from;
  double* to;
  int rows, columns, leading, matrix;
};

// W = V diag(g): V_bar = W_bar diag(g), g_bar = column sums of W_bar * V. `weight_bar` holds W_bar and
// becomes V_bar.
struct FactorJob {
  const double *weight, *scale;
  double *weight_bar, *scale_bar;
  int rows, columns;
};

// sums[q] = sum over j of values[q * group + j], for groups q in [first, first + groups)
struct GroupSumKernelArgs {
  const void* values;  // in the engine's precision
  double* sums;
  int first, groups, group, unused;
};

struct JobList {
  const void* jobs;
};

}  // namespace lather::pde
