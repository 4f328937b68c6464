// SOAP and Purifying Shampoo.
#include "lather/optim/cuda/kernels.hpp"

namespace lather::optim {

const char* const kSoapKernels = R"(
// SOAP's Adam: no correction of the root, the rate is corrected instead; t - 1 steps have been taken before.
extern "C" __global__ void __launch_bounds__(256) soap_direction(const __grid_constant__ SoapKernelArgs w) {
  const StepKernelArgs& s = w.e.s;
  if (s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double g = layer.turns ? w.e.rotated[i] : s.gradient[i];
    const double m = s.beta1 * w.e.m[i] + (1 - s.beta1) * g, v = s.beta2 * w.e.v[i] + (1 - s.beta2) * g * g;
    w.e.m[i] = m, w.e.v[i] = v;
    const double u = m / (sqrt(v) + s.epsilon);
    w.e.U_rotated[i] = u;
    if (!layer.turns) w.e.U[i] = u;
  }
}

extern "C" __global__ void __launch_bounds__(256) soap_squares(const __grid_constant__ SoapKernelArgs w) {
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  double sum = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256)
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
  double alpha = c.rate;
  if (w.e.correct_bias) {
    const double t = (double)(c.t - 1);
    alpha = c.rate * sqrt(1 - pow(s.beta2, t)) / (1 - pow(s.beta1, t));
  }
  const double decay = c.rate * s.weight_decay;
  double divisor = 1;
  if (w.normalize) {
    const double squares = ordered_sum(w.partials + blockIdx.y * gridDim.x, gridDim.x, 1);
    divisor = 1e-30 + sqrt(squares / ((double)layer.rows * layer.cols));
  }
  double sum = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double u = w.e.U[i] / divisor, change = -alpha * u - decay * (s.x[i] - alpha * u);
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
  for (int i = (int)(blockIdx.x * 256 + threadIdx.x); i < s.change_blocks; i += gridDim.x * 256) s.change_norms[i] = 0;
  for (int i = (int)(blockIdx.x * 256 + threadIdx.x); i < w.k.side_count; i += gridDim.x * 256) w.k.changed[i] = 1;
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

// Columns first, first + 1, ... of X are reflected by column k of A below its diagonal, with a 1 on it.
__device__ void reflect(const double* A, int d, int k, double coefficient, double* X, int first) {
  __shared__ double shared[8][128];
  const int x = threadIdx.x, y = threadIdx.y;
  for (; first < d; first += 128) {
    const int j = first + x;
    double sum = 0;
    if (j < d) {
      for (int i = k + 1 + y; i < d; i += 8) sum += A[(i64)i * d + k] * X[(i64)i * d + j];
      if (y == 0) sum += X[(i64)k * d + j];
    }
    __syncthreads();
    shared[y][x] = sum;
    __syncthreads();
    if (j < d) {
      double whole = 0;
      for (int r = 0; r < 8; ++r) whole += shared[r][x];
      whole *= coefficient;
      for (int i = k + 1 + y; i < d; i += 8) X[(i64)i * d + j] -= whole * A[(i64)i * d + k];
      if (y == 0) X[(i64)k * d + j] -= whole;
    }
  }
}

// One block of 128 × 8 threads per side: `basis` = Q of a Householder factorization of `result`, which is overwritten.
extern "C" __global__ void __launch_bounds__(1024) orthonormal_factor(const __grid_constant__ SoapKernelArgs w) {
  if (w.e.s.control->halt) return;
  const DeviceSide s = w.k.sides[blockIdx.y];
  const int d = s.d, x = threadIdx.x, y = threadIdx.y, t = y * 128 + x;
  double *A = s.result, *Q = s.basis, *coefficient = s.scratch;
  __shared__ double shared[8][128];
  __shared__ double beta_of, scale_of, coefficient_of;
  for (i64 i = t; i < (i64)d * d; i += 1024) Q[i] = i / d == i % d;
  for (int k = 0; k < d; ++k) {
    double tail = 0;
    for (int i = k + 1 + t; i < d; i += 1024) tail += A[(i64)i * d + k] * A[(i64)i * d + k];
    shared[y][x] = tail;
    __syncthreads();
    for (int half = 512; half > 0; half /= 2) {
      if (t < half) shared[t / 128][t % 128] += shared[(t + half) / 128][(t + half) % 128];
      __syncthreads();
    }
    if (t == 0) {
      const double alpha = A[(i64)k * d + k], sum = shared[0][0];
      if (sum <= 2.2250738585072014e-308) {
        coefficient_of = 0, beta_of = alpha, scale_of = 0;
      } else {
        const double norm = sqrt(alpha * alpha + sum);
        beta_of = alpha >= 0 ? -norm : norm;
        scale_of = 1 / (alpha - beta_of);
        coefficient_of = (beta_of - alpha) / beta_of;
      }
      coefficient[k] = coefficient_of;
    }
    __syncthreads();
    for (int i = k + 1 + t; i < d; i += 1024) A[(i64)i * d + k] *= scale_of;  // the reflector; its first entry is 1
    __syncthreads();
    reflect(A, d, k, coefficient_of, A, k + 1);
    __syncthreads();
  }
  for (int k = d - 1; k >= 0; --k) {
    reflect(A, d, k, coefficient[k], Q, k);
    __syncthreads();
  }
}

// V goes with the columns.
extern "C" __global__ void __launch_bounds__(256) soap_permute(const __grid_constant__ SoapKernelArgs w) {
  if (w.e.s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  if (layer.left < 0 && layer.right < 0) return;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    int row = (int)(k / layer.cols), col = (int)(k % layer.cols);
    if (layer.left >= 0) row = w.order[w.k.sides[layer.left].first + row];
    if (layer.right >= 0) col = w.order[w.k.sides[layer.right].first + col];
    w.new_V[layer.offset + k] = w.e.v[layer.offset + (i64)row * layer.cols + col];
  }
}

extern "C" __global__ void __launch_bounds__(256) soap_carry_over(const __grid_constant__ SoapKernelArgs w) {
  if (w.e.s.control->halt) return;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) w.e.s.control->basis_updates += layers_with_factors(w.k);
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  if (layer.left < 0 && layer.right < 0) return;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    w.e.v[i] = w.new_V[i];
    if (layer.turns) w.e.m[i] = w.new_M[i];
  }
}
)";

const char* const kPurifyingShampooKernels = R"(
// `result` = A, the factor without its bias, plus epsilon on the diagonal.
extern "C" __global__ void __launch_bounds__(256) purify_factors(const __grid_constant__ PurifyKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  const StepKernelArgs& p = w.e.s;
  const double correction = w.e.correct_bias ? p.control->correction2 : 1;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < (i64)s.d * s.d; i += (i64)gridDim.x * 256)
    s.result[i] = s.factor[i] / correction + (i / s.d == i % s.d ? p.epsilon : 0);
}

// Squares off the diagonal of `product` and on it.
extern "C" __global__ void __launch_bounds__(256) purify_squares(const __grid_constant__ PurifyKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  double off = 0, on = 0;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < (i64)s.d * s.d; i += (i64)gridDim.x * 256) {
    const double b = s.product[i];
    if (i / s.d == i % s.d) on += b * b;
    else off += b * b;
  }
  put_squares(w.k, off, on);
}

extern "C" __global__ void __launch_bounds__(256) purify_check(const __grid_constant__ PurifyKernelArgs w) {
  Control& c = *w.e.s.control;
  if (c.halt) return;
  __shared__ int wanted;
  if (threadIdx.x == 0) wanted = 0;
  __syncthreads();
  for (int s = threadIdx.x; s < w.k.side_count; s += 256) {
    double off, whole;
    off_diagonal(w.k, s, &off, &whole);
    const int replace = w.always || !(off <= w.tolerance * whole);
    w.k.changed[s] = replace;
    if (replace) wanted = 1;
  }
  __syncthreads();
  if (threadIdx.x == 0 && wanted) c.halt = kBasisWanted;
}

extern "C" __global__ void __launch_bounds__(256) purify_resume(const __grid_constant__ PurifyKernelArgs w) {
  Control& c = *w.e.s.control;
  if (threadIdx.x != 0) return;
  for (int l = 0; l < w.k.layer_count; ++l) c.basis_updates += replaced(w.k, w.k.layers[l]);
  c.halt = kRunning;
}

// Corrected eigenvalues from the rotated gradient, momentum in parameter space.
extern "C" __global__ void __launch_bounds__(256) purify_moments(const __grid_constant__ PurifyKernelArgs w) {
  const StepKernelArgs& s = w.e.s;
  if (s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  const double fresh = s.beta2 < 1 ? 1 - s.beta2 : 1;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double g = s.gradient[i], G = layer.turns ? w.e.rotated[i] : g;
    w.e.v[i] = s.beta2 * w.e.v[i] + fresh * G * G;
    w.e.m[i] = s.beta1 * w.e.m[i] + (1 - s.beta1) * g;
  }
}

// `rotated` holds the momentum in the basis.
extern "C" __global__ void __launch_bounds__(256) purify_direction(const __grid_constant__ PurifyKernelArgs w) {
  const StepKernelArgs& s = w.e.s;
  if (s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  const double correction1 = w.e.correct_bias ? s.control->correction1 : 1;
  const double correction2 = w.e.correct_bias ? s.control->correction2 : 1;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double m = layer.turns ? w.e.rotated[i] : w.e.m[i];
    const double u = (m / correction1) / (sqrt(w.e.v[i] / correction2) + s.epsilon);
    w.e.U_rotated[i] = u;
    if (!layer.turns) w.e.U[i] = u;
  }
}
)";

}  // namespace lather::optim
