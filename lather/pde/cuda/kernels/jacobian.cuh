#pragma once
// Rows of Jacobians from the signals of a pass.

#include "lather/optim/formulas/geodesic.hpp"
#include "lather/pde/cuda/kernels/jacobian_arguments.cuh"

namespace lather::pde {

// What a residual's entries for one layer are made of: the layer's inputs and the signals at its outputs,
// component by component and, within each, point by point of its group.
struct SignalsInPlace {
  const JacobianLayersKernelArgs& w;
  const JacobianLayer& layer;
  long long point;  // the first of the group
  __device__ __forceinline__ long long at(int component, int k) const {
    return (long long)component * w.window + point + k;
  }
  __device__ __forceinline__ double signal(int k, int j) const {
    return layer.out_bar[at(0, k) * layer.out_stride + j];
  }
  __device__ __forceinline__ double product(int i, int j) const {
    double sum = 0;
    for (int c = 0; c < w.components; ++c)
      for (int k = 0; k < w.group; ++k)
        sum += layer.in[at(c, k) * layer.in_stride + i] * layer.out_bar[at(c, k) * layer.out_stride + j];
    return sum;
  }
};

// The same in shared memory, without gaps.
struct SignalsAtHand {
  const double *in, *out_bar;
  int parts, inputs, outputs;
  __device__ __forceinline__ double signal(int k, int j) const { return out_bar[k * outputs + j]; }
  __device__ __forceinline__ double product(int i, int j) const {
    double sum = 0;
    for (int q = 0; q < parts; ++q) sum += in[q * inputs + i] * out_bar[q * outputs + j];
    return sum;
  }
};

// Run by `threads` threads, of which this is number `t`; each stays in its columns, rows of weights are side
// by side.
template <class Signals>
__device__ __forceinline__ void write_layer(const JacobianLayer& l, int group, const Signals& signals,
                                            int threads, int t, double root, double* row) {
  const int columns = l.outputs < threads ? l.outputs : threads, side_by_side = threads / columns;
  const int first_row = t / columns;
  for (int j = t - first_row * columns; j < l.outputs && first_row < side_by_side; j += columns) {
    const double g = l.g ? l.g[j] : 1.0;
    double* to = row + l.weight + j;
    for (int i = first_row; i < l.inputs; i += side_by_side)
      to[i * l.outputs] = root * signals.product(i, j) * g;
  }
  for (int j = t; j < l.outputs; j += threads) {
    double sum = 0;
    for (int k = 0; k < group; ++k) sum += signals.signal(k, j);
    if (l.bias >= 0) row[l.bias + j] = root * sum;
    if (!l.g) continue;
    sum = 0;
    for (int i = 0; i < l.inputs; ++i) sum += l.V[i * l.outputs + j] * signals.product(i, j);
    row[l.scale + j] = root * sum;
  }
}

__device__ __forceinline__ void wait_for_team(int threads) {
  if (threads == 32)
    __syncwarp();
  else
    __syncthreads();
}

// A warp or, if layers are large, a whole thread block for every residual, layer after layer. It reads a
// layer's signals once, into its part of the shared memory, if they fit. Measured: a thread block for every
// residual of four layers of 32 neurons spends four fifths of its time on anything but the entries.
extern "C" __global__ void __launch_bounds__(256)
    jacobian_layers(const __grid_constant__ JacobianLayersKernelArgs w) {
  __shared__ double kept_by_all[kJacobianRoom];
  const int teams = 256 / w.threads, team = threadIdx.x / w.threads, t = threadIdx.x % w.threads;
  const int parts = w.components * w.group, room = kJacobianRoom / teams;
  double* const kept = kept_by_all + team * room;
  for (int p = blockIdx.x * teams + team; p < w.residuals; p += gridDim.x * teams) {
    double* row = w.rows + p * w.stride;
    const double root = w.root_weights[p];
    for (int number = 0; number < w.layers; ++number) {
      const JacobianLayer& l = w.layer[number];
      const SignalsInPlace in_place{w, l, (long long)(w.first + p) * w.group};
      if (parts * (l.inputs + l.outputs) > room) {
        write_layer(l, w.group, in_place, w.threads, t, root, row);
        continue;
      }
      double *in = kept, *out = kept + parts * l.inputs;
      const SignalsAtHand at_hand{in, out, parts, l.inputs, l.outputs};
      for (int c = 0; c < w.components; ++c)
        for (int k = 0; k < w.group; ++k, in += l.inputs, out += l.outputs) {
          const long long at = in_place.at(c, k);
          for (int i = t; i < l.inputs; i += w.threads) in[i] = l.in[at * l.in_stride + i];
          for (int j = t; j < l.outputs; j += w.threads) out[j] = l.out_bar[at * l.out_stride + j];
        }
      wait_for_team(w.threads);
      write_layer(l, w.group, at_hand, w.threads, t, root, row);
      wait_for_team(w.threads);  // before the next signals arrive
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
    jacobian_scalar(const __grid_constant__ JacobianScalarKernelArgs w) {
  for (int p = blockIdx.x * 256 + threadIdx.x; p < w.residuals; p += gridDim.x * 256) {
    double sum = 0;
    for (int k = 0; k < w.group; ++k)
      for (int j = 0; j < w.width; ++j) sum += w.from[((long long)p * w.group + k) * w.from_stride + j];
    w.to[p * w.stride] = w.root_weights[p] * sum;
  }
}

extern "C" __global__ void __launch_bounds__(256) bend_term(const __grid_constant__ BendTermKernelArgs w) {
  for (int p = blockIdx.x * 256 + threadIdx.x; p < w.residuals; p += gridDim.x * 256) {
    double here = 0, ahead = 0, behind = 0;
    for (long long i = (long long)p * w.group, end = i + w.group; i < end; ++i) {
      here += w.here[i];
      ahead += w.ahead[i];
      behind += w.behind[i];
    }
    w.to[p] = w.root_weights[p] * optim::second_difference(here, ahead, behind, w.h);
  }
}

extern "C" __global__ void __launch_bounds__(256)
    column_squares(const __grid_constant__ ColumnSquaresKernelArgs w) {
  for (long long i = blockIdx.x * 256 + threadIdx.x; i < w.size; i += gridDim.x * 256) {
    double sum = w.to[i];
    for (int k = 0; k < w.count; ++k) sum += w.rows[k * w.stride + i] * w.rows[k * w.stride + i];
    w.to[i] = sum;
  }
}

}  // namespace lather::pde
