#pragma once
// Muon, notation of optim/first_order/muon.cpp; the Newton–Schulz products are batched.

#include "lather/optim/cuda/kernels/arguments.cuh"
#include "lather/optim/cuda/kernels/reductions.cuh"
#include "lather/optim/formulas/muon.hpp"

namespace lather::optim {

// M and the direction U of every layer, squares of U.
extern "C" __global__ void __launch_bounds__(256) muon_momentum(const __grid_constant__ MuonKernelArgs w) {
  const StepKernelArgs& s = w.e.s;
  if (s.control->halt) return;
  const MuonLayer layer = w.layers[blockIdx.y];
  const double mu = w.momentum;
  double sum = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.d * layer.length;
       k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double g = s.gradient[i], m = muon_momentum(mu, w.e.m[i], g),
                 u = muon_direction(w.nesterov, mu, m, g);
    w.e.m[i] = m;
    w.e.U[i] = u;
    sum += u * u;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) w.partials[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// Where element k of X (d × length) is in the block.
__device__ __forceinline__ i64 muon_position(const MuonLayer& layer, i64 k) {
  return layer.offset + (layer.tall ? k % layer.length * layer.d + k / layer.length : k);
}

// X = U / (|U| + guard)
extern "C" __global__ void __launch_bounds__(256) muon_start(const __grid_constant__ MuonKernelArgs w) {
  const MuonLayer layer = w.layers[blockIdx.y];
  const double scale =
      1 / (sqrt(ordered_sum(w.partials + blockIdx.y * gridDim.x, gridDim.x, 1)) + w.norm_guard);
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.d * layer.length;
       k += (i64)gridDim.x * 256)
    w.X[layer.offset + k] = scale * w.e.U[muon_position(layer, k)];
}

// P = a I + b A, to which the product c A A is added.
extern "C" __global__ void __launch_bounds__(256) muon_polynomial(const __grid_constant__ MuonKernelArgs w) {
  const MuonLayer layer = w.layers[blockIdx.y];
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.d * layer.d; k += (i64)gridDim.x * 256)
    w.P[layer.square + k] = w.b * w.A[layer.square + k] + (k / layer.d == k % layer.d ? w.a : 0);
}

// U = gain X, squares of U.
extern "C" __global__ void __launch_bounds__(256) muon_finish(const __grid_constant__ MuonKernelArgs w) {
  const MuonLayer layer = w.layers[blockIdx.y];
  double sum = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.d * layer.length;
       k += (i64)gridDim.x * 256) {
    const double u = layer.gain * w.X[layer.offset + k];
    w.e.U[muon_position(layer, k)] = u;
    sum += u * u;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) w.partials[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// One block per layer.
extern "C" __global__ void __launch_bounds__(256) muon_length(const __grid_constant__ MuonKernelArgs w) {
  if (w.e.s.control->halt || threadIdx.x != 0) return;
  w.lengths[w.layers[blockIdx.y].block] =
      sqrt(ordered_sum(w.partials + blockIdx.y * w.partial_blocks, w.partial_blocks, 1));
}

// Between two orthogonalizations: the plain direction at the last orthogonal length.
extern "C" __global__ void __launch_bounds__(256) muon_rescale(const __grid_constant__ MuonKernelArgs w) {
  if (w.e.s.control->halt) return;
  const MuonLayer layer = w.layers[blockIdx.y];
  const double length = sqrt(ordered_sum(w.partials + blockIdx.y * gridDim.x, gridDim.x, 1));
  const double scale = muon_rescaling(w.lengths[layer.block], length);
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.d * layer.length;
       k += (i64)gridDim.x * 256)
    w.e.U[layer.offset + k] *= scale;
}

}  // namespace lather::optim
