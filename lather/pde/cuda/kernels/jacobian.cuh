#pragma once
// Rows of Jacobians from the signals of a pass.

#include "lather/optim/formulas/geodesic.hpp"
#include "lather/pde/cuda/kernels/jacobian_arguments.cuh"

namespace lather::pde {

__device__ __forceinline__ double weight_derivative(const JacobianLayerKernelArgs& w, int p, int i, int j) {
  double sum = 0;
  for (int c = 0; c < w.components; ++c)
    for (int k = 0; k < w.group; ++k) {
      const long long at = (long long)c * w.window + (long long)(w.first + p) * w.group + k;
      sum += w.in[at * w.in_stride + i] * w.out_bar[at * w.out_stride + j];
    }
  return sum;
}

extern "C" __global__ void __launch_bounds__(256)
    jacobian_layer(const __grid_constant__ JacobianLayerKernelArgs w) {
  for (int p = blockIdx.x; p < w.residuals; p += gridDim.x) {
    double* row = w.rows + p * w.stride;
    const double root = w.root_weights[p];
    for (int e = threadIdx.x; e < w.inputs * w.outputs; e += 256) {
      const int j = e % w.outputs;
      row[w.weight + e] = root * weight_derivative(w, p, e / w.outputs, j) * (w.g ? w.g[j] : 1.0);
    }
    for (int j = threadIdx.x; j < w.outputs; j += 256) {
      double sum = 0;
      for (int k = 0; k < w.group; ++k)
        sum += w.out_bar[((long long)(w.first + p) * w.group + k) * w.out_stride + j];
      if (w.bias >= 0) row[w.bias + j] = root * sum;
      if (!w.g) continue;
      sum = 0;
      for (int i = 0; i < w.inputs; ++i) sum += w.V[i * w.outputs + j] * weight_derivative(w, p, i, j);
      row[w.scale + j] = root * sum;
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
