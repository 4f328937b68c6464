// Is a layer as one kernel (FP64 tensor cores, tanh jets in registers) faster than cuBLAS and a pointwise kernel?
// Width 128, derivatives u, u_x, u_t, u_xx, 8192 points. Not part of the library: docs/decisions.md says why.
//   nvcc -O3 -std=c++17 -arch=sm_90 -o /tmp/fused_layer bench/fused_layer.cu -lcublas && /tmp/fused_layer
//
// One block of 2 groups of 4 warps per multiprocessor; W stays in shared memory. A group takes 16 points with their 4 components
// (64 rows) at a time; a warp all 4 components of 16 points by 32 columns, so that the components of a point and column
// meet in the registers of one thread.
#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

constexpr int kWidth = 128, kPoints = 16, kComponents = 4, kStepsPerLaunch = kPoints * kComponents;
constexpr int kChunk = 16, kStages = 3, kGroups = 2, kGroupThreads = 128, kThreads = kGroups * kGroupThreads;
constexpr int kStrideA = kChunk + 4, kStrideW = kWidth + 4;  // no two lanes of a half warp meet in a bank
constexpr std::size_t kShared =
    (kWidth * kStrideW + kGroups * kStages * kStepsPerLaunch * kStrideA) * sizeof(double);

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("CUDA: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

enum class Epilogue { none, forward, backward };

// Row c * points + p of every matrix is component c of point p.
struct Layer {
  const double *in, *weights, *bias;
  double* stash;  // tanh(z), z_x, z_t, z_xx: written forward, read backward
  double *out, *bias_gradient;
  int points;
};

__device__ void multiply_add(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}

__device__ void copy_async(double* to, const double* from) {  // 16 bytes
  asm volatile(
      "cp.async.cg.shared.global [%0],[%1],16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from));
}

__device__ void tanh_jets(double bias, double (&v)[4], double (&stash)[4]) {
  const double t = tanh(v[0] + bias), s1 = 1 - t * t, s2 = -2 * t * s1, x = v[1];
  stash[0] = t, stash[1] = v[1], stash[2] = v[2], stash[3] = v[3];
  v[0] = t, v[1] *= s1, v[2] *= s1, v[3] = s2 * x * x + s1 * v[3];
}

__device__ void tanh_jets_adjoint(const double (&stash)[4], double (&v)[4]) {
  const double t = stash[0], x = stash[1], s1 = 1 - t * t, s2 = -2 * t * s1, s3 = s1 * (6 * t * t - 2);
  v[0] = s1 * v[0] + s2 * (x * v[1] + stash[2] * v[2]) + (s3 * x * x + s2 * stash[3]) * v[3];
  v[1] = s1 * v[1] + 2 * s2 * x * v[3], v[2] *= s1, v[3] *= s1;
}

template <Epilogue kEpilogue>
__global__ void __launch_bounds__(kThreads, 1) fused_layer(const __grid_constant__ Layer w) {
  extern __shared__ double shared[];
  const int group = threadIdx.x / kGroupThreads, t = threadIdx.x % kGroupThreads;
  const int lane = t % 32, high = lane / 4, low = lane % 4, first_column = t / 32 * 32;
  double *W = shared, *A = shared + kWidth * kStrideW + group * kStages * kStepsPerLaunch * kStrideA;
  const std::size_t n = w.points;
  const int tiles = w.points / kPoints, step = gridDim.x * kGroups, first = blockIdx.x + gridDim.x * group;

  int load_tile = first, load_chunk = 0;
  const auto load_next = [&](int stage) {
    if (load_tile == first)  // W comes along with the first tile
      for (int e = threadIdx.x; e < kChunk * kWidth / 2; e += kThreads) {
        const int k = load_chunk * kChunk + e / (kWidth / 2), column = e % (kWidth / 2) * 2;
        copy_async(W + k * kStrideW + column, w.weights + k * kWidth + column);
      }
    if (load_tile < tiles)
      for (int e = t; e < kStepsPerLaunch * kChunk / 2; e += kGroupThreads) {
        const int row = e / (kChunk / 2), k = e % (kChunk / 2) * 2, c = row / kPoints, p = row % kPoints;
        copy_async(A + (stage * kStepsPerLaunch + row) * kStrideA + k,
                   w.in + (c * n + static_cast<std::size_t>(load_tile) * kPoints + p) * kWidth +
                       load_chunk * kChunk + k);
      }
    asm volatile("cp.async.commit_group;");
    if (++load_chunk == kWidth / kChunk) load_chunk = 0, load_tile += step;
  };
  for (int i = 0; i < kStages - 1; ++i) load_next(i);

  double bias_sums[4][2] = {};
  int stage = 0;
  for (int tile = first; tile < tiles; tile += step) {
    double z[kComponents][4][4] = {};
#pragma unroll 1
    for (int chunk = 0; chunk < kWidth / kChunk; ++chunk) {
      asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2));
      if (tile == first)
        __syncthreads();
      else
        asm volatile("bar.sync %0,%1;" ::"r"(group + 1), "n"(kGroupThreads));
      load_next((stage + kStages - 1) % kStages);
#pragma unroll
      for (int k = 0; k < kChunk; k += 8) {
        double b[4][2];
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            b[j][i] = W[(chunk * kChunk + k + 4 * i + low) * kStrideW + first_column + 8 * j + high];
#pragma unroll
        for (int c = 0; c < kComponents; ++c) {
          const double* row = A + (stage * kStepsPerLaunch + c * kPoints + high) * kStrideA + k + low;
          const double a[4] = {row[0], row[8 * kStrideA], row[4], row[8 * kStrideA + 4]};
#pragma unroll
          for (int j = 0; j < 4; ++j) multiply_add(z[c][j], a, b[j]);
        }
      }
      stage = (stage + 1) % kStages;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int column = first_column + 8 * j + 2 * low;
        const std::size_t at = (static_cast<std::size_t>(tile) * kPoints + high + 8 * half) * kWidth + column;
        const auto pair = [&](double* base, int c) -> double2& {
          return *reinterpret_cast<double2*>(base + c * n * kWidth + at);
        };
        double v[2][4], stash[2][4];
#pragma unroll
        for (int c = 0; c < kComponents; ++c) {
          v[0][c] = z[c][j][2 * half], v[1][c] = z[c][j][2 * half + 1];
          if (kEpilogue == Epilogue::backward)
            stash[0][c] = pair(w.stash, c).x, stash[1][c] = pair(w.stash, c).y;
        }
#pragma unroll
        for (int q = 0; q < 2; ++q) {
          if (kEpilogue == Epilogue::forward) tanh_jets(w.bias[column + q], v[q], stash[q]);
          if (kEpilogue == Epilogue::backward) tanh_jets_adjoint(stash[q], v[q]), bias_sums[j][q] += v[q][0];
        }
#pragma unroll
        for (int c = 0; c < kComponents; ++c) {
          pair(w.out, c) = {v[0][c], v[1][c]};
          if (kEpilogue == Epilogue::forward) pair(w.stash, c) = {stash[0][c], stash[1][c]};
        }
      }
  }
  if (kEpilogue == Epilogue::backward)
    for (int i = 0; i < 8; ++i) {
      double sum = bias_sums[i / 2][i % 2];
      for (int other = 4; other < 32; other *= 2) sum += __shfl_xor_sync(~0u, sum, other);
      if (high == 0)
        w.bias_gradient[(blockIdx.x * kGroups + group) * kWidth + first_column + i / 2 * 8 + 2 * low +
                        i % 2] = sum;
    }
}

// The same after a product by cuBLAS. In place, as the library does it: `out` may be `z`.
template <Epilogue kEpilogue>
__global__ void pointwise(const double* z, Layer w) {
  const std::size_t unit = static_cast<std::size_t>(w.points) * kWidth;
  for (std::size_t i = blockIdx.x * 256ull + threadIdx.x; i < unit; i += gridDim.x * 256ull) {
    double v[4], stash[4];
    for (int c = 0; c < 4; ++c) {
      v[c] = z[c * unit + i];
      if (kEpilogue == Epilogue::backward) stash[c] = w.stash[c * unit + i];
    }
    if (kEpilogue == Epilogue::forward)
      tanh_jets(w.bias[i % kWidth], v, stash);
    else
      tanh_jets_adjoint(stash, v);
    for (int c = 0; c < 4; ++c) {
      w.out[c * unit + i] = v[c];
      if (kEpilogue == Epilogue::forward && (c == 0 || w.stash != z)) w.stash[c * unit + i] = stash[c];
    }
  }
}

template <class F>
double microseconds(F&& enqueue) {
  constexpr int kRepeats = 20;
  cudaStream_t stream;
  check(cudaStreamCreate(&stream));
  enqueue(stream);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kRepeats; ++i) enqueue(stream);
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<float> times(15);
  for (float& ms : times) {
    check(cudaEventRecord(begin, stream));
    check(cudaGraphLaunch(executable, stream));
    check(cudaEventRecord(end, stream));
    check(cudaEventSynchronize(end));
    check(cudaEventElapsedTime(&ms, begin, end));
  }
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  return times[7] * 1000 / kRepeats;
}

double* on_device(std::size_t size, double scale, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-scale, scale);
  std::vector<double> values(size);
  for (double& v : values) v = uniform(generator);
  double* memory;
  check(cudaMalloc(&memory, size * sizeof(double)));
  check(cudaMemcpy(memory, values.data(), size * sizeof(double), cudaMemcpyHostToDevice));
  return memory;
}

double largest_difference(const double* a, const double* b, std::size_t size) {
  std::vector<double> x(size), y(size);
  check(cudaMemcpy(x.data(), a, size * sizeof(double), cudaMemcpyDeviceToHost));
  check(cudaMemcpy(y.data(), b, size * sizeof(double), cudaMemcpyDeviceToHost));
  double largest = 0;
  for (std::size_t i = 0; i < size; ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

}  // namespace

int main() {
  constexpr int kCount = 8192;
  constexpr std::size_t kUnit = static_cast<std::size_t>(kComponents) * kCount * kWidth;
  double *in = on_device(kUnit, 0.5, 1), *weights = on_device(kWidth * kWidth, 0.15, 2),
         *bias = on_device(kWidth, 0.5, 3);
  double *z = on_device(kUnit, 0, 4), *out = on_device(kUnit, 0, 5), *stash = on_device(kUnit, 0, 6);
  double *fused_out = on_device(kUnit, 0, 7), *fused_stash = on_device(kUnit, 0, 8),
         *sums = on_device(1024 * kWidth, 0, 9);
  int blocks = 0;
  check(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0));
  cublasHandle_t blas;
  cublasCreate(&blas);
  const auto product = [&](cudaStream_t s) {
    const double one = 1, zero = 0;
    cublasSetStream(blas, s);
    cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, kWidth, kComponents * kCount, kWidth, &one, weights, kWidth,
                in, kWidth, &zero, z, kWidth);
  };
  const Layer plain{in, weights, bias, stash, out, sums, kCount};
  Layer fused{in, weights, bias, fused_stash, fused_out, sums, kCount};
  const auto run = [&](auto kernel, cudaStream_t s) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
    kernel<<<blocks, kThreads, kShared, s>>>(fused);
  };
  const auto forward = [&](cudaStream_t s) {
    product(s), pointwise<Epilogue::forward><<<1024, 256, 0, s>>>(z, plain);
  };
  const auto backward = [&](cudaStream_t s) {
    product(s), pointwise<Epilogue::backward><<<1024, 256, 0, s>>>(z, plain);
  };

  forward(nullptr), run(fused_layer<Epilogue::forward>, nullptr);
  check(cudaDeviceSynchronize());
  std::printf("forward:  one kernel differs from two by %.0e\n", largest_difference(out, fused_out, kUnit));
  backward(nullptr), run(fused_layer<Epilogue::backward>, nullptr);
  check(cudaDeviceSynchronize());
  std::printf("backward: one kernel differs from two by %.0e\n", largest_difference(out, fused_out, kUnit));
  std::printf("product            cuBLAS %5.1f us                 one kernel %5.1f us\n",
              microseconds(product),
              microseconds([&](cudaStream_t s) { run(fused_layer<Epilogue::none>, s); }));
  // The library keeps z in place as the stash of all but the value.
  Layer in_place = plain;
  in_place.stash = z;
  std::printf("product, forward   cuBLAS and pointwise %5.1f us   one kernel %5.1f us\n",
              microseconds([&](cudaStream_t s) {
                product(s), pointwise<Epilogue::forward><<<1024, 256, 0, s>>>(z, in_place);
              }),
              microseconds([&](cudaStream_t s) { run(fused_layer<Epilogue::forward>, s); }));
  std::printf("product, backward  cuBLAS and pointwise %5.1f us   one kernel %5.1f us\n",
              microseconds(backward),
              microseconds([&](cudaStream_t s) { run(fused_layer<Epilogue::backward>, s); }));
}
