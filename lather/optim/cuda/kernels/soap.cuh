#pragma once
// SOAP.

#include "lather/optim/cuda/kernels/bases.cuh"
#include "lather/optim/cuda/kernels/householder.cuh"
#include "lather/optim/formulas/soap.hpp"

namespace lather::optim {

extern "C" __global__ void __launch_bounds__(256) soap_direction(const __grid_constant__ SoapKernelArgs w) {
  const StepKernelArgs& s = w.e.s;
  if (s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double g = layer.has_basis ? w.e.rotated[i] : s.gradient[i];
    const double m = first_moment(s.beta1, w.e.m[i], g),
                 v = second_moment(s.beta2, weight_of_new(s.beta2), w.e.v[i], g);
    w.e.m[i] = m, w.e.v[i] = v;
    const double u = soap_element(m, v, s.epsilon);
    w.e.U_rotated[i] = u;
    if (!layer.has_basis) w.e.U[i] = u;
  }
}

extern "C" __global__ void __launch_bounds__(256) soap_squares(const __grid_constant__ SoapKernelArgs w) {
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  double sum = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256)
    sum += w.e.U[layer.offset + k] * w.e.U[layer.offset + k];
  sum = block_sum(sum);
  if (threadIdx.x == 0) w.partials[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// W <- W - alpha N, and only then W <- W - rate lambda W.
extern "C" __global__ void __launch_bounds__(256) soap_descend(const __grid_constant__ SoapKernelArgs w) {
  const StepKernelArgs& s = w.e.s;
  const Control& c = *s.control;
  if (c.halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  const double alpha = soap_rate(w.e.correct_bias, c.rate, s.beta1, s.beta2, (double)(c.t - 1));
  const double decay = c.rate * s.weight_decay;
  double divisor = 1;
  if (w.normalize) {
    const double squares = ordered_sum(w.partials + blockIdx.y * gridDim.x, gridDim.x, 1);
    divisor = soap_divisor(squares / ((double)layer.rows * layer.cols));
  }
  double sum = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double change = soap_change(alpha, decay, s.x[i], w.e.U[i] / divisor);
    s.change[i] = change;
    sum += change * change;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) s.change_norms[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// The first gradient only builds the bases.
extern "C" __global__ void __launch_bounds__(256) soap_skip(const __grid_constant__ SoapKernelArgs w) {
  const StepKernelArgs& s = w.e.s;
  if (s.control->halt) return;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < s.size; i += (i64)gridDim.x * 256) s.change[i] = 0;
  for (int i = (int)(blockIdx.x * 256 + threadIdx.x); i < s.change_blocks; i += gridDim.x * 256)
    s.change_norms[i] = 0;
  for (int i = (int)(blockIdx.x * 256 + threadIdx.x); i < w.k.side_count; i += gridDim.x * 256)
    w.k.changed[i] = 1;
  if (blockIdx.x == 0 && threadIdx.x == 0) s.control->basis_updates += layers_with_factors(w.k);
}

// One block per side. `product` holds A Q: columns sorted by diag(Q^T A Q), into `result`.
extern "C" __global__ void __launch_bounds__(256) soap_sort(const __grid_constant__ SoapKernelArgs w) {
  if (w.e.s.control->halt) return;
  const DeviceSide s = w.k.sides[blockIdx.y];
  const int d = s.d, t = threadIdx.x;
  int* order = w.order + s.first;
  double* estimate = s.scratch;
  for (int j = t; j < d; j += 256) {
    double sum = 0;
    for (int i = 0; i < d; ++i) sum += s.basis[(i64)i * d + j] * s.product[(i64)i * d + j];
    estimate[j] = sum;
  }
  __syncthreads();
  for (int j = t; j < d; j += 256) {
    int rank = 0;
    for (int k = 0; k < d; ++k) rank += estimate[k] > estimate[j] || (estimate[k] == estimate[j] && k < j);
    order[rank] = j;
  }
  __syncthreads();
  for (i64 i = t; i < (i64)d * d; i += 256) s.result[i] = s.product[i / d * d + order[i % d]];
}

// V is permuted with the columns.
extern "C" __global__ void __launch_bounds__(256) soap_permute(const __grid_constant__ SoapKernelArgs w) {
  if (w.e.s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  if (layer.left < 0 && layer.right < 0) return;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256) {
    int row = (int)(k / layer.cols), col = (int)(k % layer.cols);
    if (layer.left >= 0) row = w.order[w.k.sides[layer.left].first + row];
    if (layer.right >= 0) col = w.order[w.k.sides[layer.right].first + col];
    w.new_V[layer.offset + k] = w.e.v[layer.offset + (i64)row * layer.cols + col];
  }
}

extern "C" __global__ void __launch_bounds__(256) soap_carry_over(const __grid_constant__ SoapKernelArgs w) {
  if (w.e.s.control->halt) return;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0)
    w.e.s.control->basis_updates += layers_with_factors(w.k);
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  if (layer.left < 0 && layer.right < 0) return;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    w.e.v[i] = w.new_V[i];
    if (layer.has_basis) w.e.m[i] = w.new_M[i];
  }
}

}  // namespace lather::optim
