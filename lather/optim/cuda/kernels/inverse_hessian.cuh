#pragma once
// A dense symmetric matrix and its rank-three corrections.

#include "lather/optim/cuda/kernels/arguments.cuh"

namespace lather::optim {

extern "C" __global__ void __launch_bounds__(256)
    set_to_identity(const __grid_constant__ InverseHessianKernelArgs w) {
  double* row = w.H + blockIdx.x * w.n;
  for (long long j = threadIdx.x; j < w.n; j += 256) row[j] = j == blockIdx.x ? w.scale : 0;
}

extern "C" __global__ void __launch_bounds__(256)
    correct(const __grid_constant__ InverseHessianKernelArgs w) {
  double* row = w.H + blockIdx.x * w.n;
  const double p = w.p[blockIdx.x], q = w.q[blockIdx.x], r = w.r[blockIdx.x];
  for (long long j = threadIdx.x; j < w.n; j += 256) {
    // Separate products, not fused: entries (i, j) and (j, i) get the same bits.
    const double pp = __dmul_rn(p, w.p[j]), qq = __dmul_rn(q, w.q[j]), rr = __dmul_rn(r, w.r[j]);
    row[j] = row[j] * w.scale - pp + w.sign * qq + rr;
  }
}

}  // namespace lather::optim
