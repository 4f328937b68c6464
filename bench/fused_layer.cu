// Is a layer as one kernel (FP64 tensor cores, tanh jets in registers) faster than cuBLAS and a pointwise kernel?
// Width 128, derivatives u, u_x, u_t, u_xx, 8192 points. Not part of the library: docs/decisions.md says why.
//   nvcc -O3 -std=c++17 -arch=sm_90 -o /tmp/fused_layer bench/fused_layer.cu -lcublas && /tmp/fused_layer
//
// One block of several groups of warps per multiprocessor; W stays in shared memory. A group takes 8 or 16 points with their
// 4 components (32 or 64 rows) at a time; a warp takes all those rows by some columns, so that the components of a point and
// column meet in the registers of one thread. Groups never wait for each other, so one's epilogue may overlap
// another's product.
//
// Fragments of mma.m16n8k8 in FP64 (PTX ISA), lane = 4 high + low:
//   A  a[i]: row high + 8 (i % 2), k = low + 4 (i / 2)      B  b[i]: k = low + 4 i, column high
//   C  c[i]: row high + 8 (i / 2), column 2 low + i % 2
// Shared memory is not padded: W[k][column] is at column ^ 4 (k % 4), A[row][k] at k ^ 4 (row % 4), so that
// the 16 lanes of half a warp hit 16 different pairs of banks.
//
// Bounds, H200 (132 multiprocessors, 1.98 GHz): products 1.07 GFLOP at 256 FLOP/clk each: 16 us. The epilogue's FP64
// operations at 64/clk: see main; if they share a pipe with the tensor cores, the two times add. Shared memory, 128 B/clk:
// a warp of r rows and c columns reads 64 (r + c) bytes for r c / 16 clocks of tensor core of its multiprocessor, so it is busy
// for (r + c) / (r c) * 8 of that time: 3/8 (64 x 32, 32 x 64), 1/2 (32 x 32), 3/4 (32 x 16).
#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

constexpr int kWidth = 128, kComponents = 4, kCount = 8192;
constexpr std::size_t kUnit = static_cast<std::size_t>(kComponents) * kCount * kWidth;
constexpr double kForwardOps = 50,
                 kBackwardOps = 21;  // FP64, per point and column; tanh: 37, both its branches

// P points per group, a pipeline of `Stages` times `Chunk` of k.
template <int P, int Groups, int Warps, int Chunk, int Stages>
struct Shape {
  static constexpr int kPoints = P, kGroups = Groups, kChunk = Chunk, kStages = Stages;
  static constexpr int kGroupThreads = 32 * Warps, kThreads = Groups * kGroupThreads;
  static constexpr int kRows = P * kComponents, kRowTiles = kRows / 16;
  static constexpr int kColumns = kWidth / Warps, kColumnTiles = kColumns / 8;  // of a warp
  static constexpr int kParts = kWidth / Chunk;
  static constexpr int kUnroll = kThreads > 384 ? 1 : Chunk / 16;  // more would spill
  static constexpr std::size_t kShared = (kWidth * kWidth + Groups * Stages * kRows * Chunk) * sizeof(double);
  static_assert(P % 8 == 0 && Chunk % 16 == 0 && Stages >= 2 && kShared + kParts * 8 <= 227 * 1024, "fits");
  static void print() {
    std::printf("%2d points x %3d columns a warp, %d x %d warps, %d x %2d in flight", P, kColumns, Groups,
                Warps, Stages, Chunk);
  }
};

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("CUDA: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

enum class Epilogue { none, forward, backward };

// Row c * points + p of every matrix is component c of point p.
struct Layer {
  const double *in, *weights, *bias;
  double* value;  // tanh(z), read backward; forward it is component 0 of `out`
  double* stash;  // z_x, z_t, z_xx as components 1 to 3: written forward, read backward
  double *out, *bias_gradient;
};

__device__ void multiply_add(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}

template <class T>
__device__ unsigned in_shared(T* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ void copy_async(double* to, const double* from) {  // 16 bytes
  asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(in_shared(to)), "l"(from));
}

// As assembly: for every load it sees, the compiler keeps an address in a register, and spills.
__device__ double load(unsigned at) {
  double x;
  asm volatile("ld.shared.f64 %0,[%1];" : "=d"(x) : "r"(at));
  return x;
}

__device__ void barrier(int id, int threads) {
  asm volatile("bar.sync %0,%1;" ::"r"(id), "r"(threads) : "memory");
}

// Counts this thread once all copies it has started have arrived.
__device__ void arrive_after_copies(unsigned long long* ready) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(in_shared(ready)) : "memory");
}
__device__ void wait_until(unsigned long long* ready) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done,[%0],0;\n@!done bra "
      "again;\n}" ::"r"(in_shared(ready))
      : "memory");
}

__device__ void tanh_jets(double bias, double (&v)[4]) {
  const double t = tanh(v[0] + bias), s1 = 1 - t * t, s2 = -2 * t * s1, x = v[1];
  v[0] = t, v[1] *= s1, v[2] *= s1, v[3] = s2 * x * x + s1 * v[3];
}

__device__ void tanh_jets_adjoint(const double (&stash)[4], double (&v)[4]) {
  const double t = stash[0], x = stash[1], s1 = 1 - t * t, s2 = -2 * t * s1, s3 = s1 * (6 * t * t - 2);
  v[0] = s1 * v[0] + s2 * (x * v[1] + stash[2] * v[2]) + (s3 * x * x + s2 * stash[3]) * v[3];
  v[1] = s1 * v[1] + 2 * s2 * x * v[3], v[2] *= s1, v[3] *= s1;
}

template <class S, Epilogue kEpilogue>
__global__ void __launch_bounds__(S::kThreads, 1) fused_layer(const __grid_constant__ Layer w) {
  extern __shared__ double shared[];
  __shared__ unsigned long long ready[S::kParts];  // parts of W
  const int group = threadIdx.x / S::kGroupThreads, t = threadIdx.x % S::kGroupThreads;
  const int lane = t % 32, high = lane / 4, low = lane % 4, first_column = t / 32 * S::kColumns;
  double *W = shared, *A = shared + kWidth * kWidth + group * S::kStages * S::kRows * S::kChunk;
  constexpr int kTiles = kCount / S::kPoints;
  const int step = gridDim.x * S::kGroups, first = blockIdx.x + gridDim.x * group;
  const auto at = [](int tile, int c, int p) {
    return (static_cast<std::size_t>(c) * kCount + tile * S::kPoints + p) * kWidth;
  };

  // A thread copies 16 bytes of every kRowStep-th row of a part.
  constexpr int kRowThreads = S::kChunk / 2, kRowStep = S::kGroupThreads / kRowThreads;
  static_assert(kRowStep % 4 == 0 && (kRowStep % S::kPoints == 0 || S::kPoints % kRowStep == 0),
                "rows in step");
  const int copy_row = t / kRowThreads, copy_k = t % kRowThreads * 2;
  const double* from = w.in + at(first, copy_row / S::kPoints, copy_row % S::kPoints) + copy_k;
  double* const to = A + copy_row * S::kChunk + (copy_k ^ copy_row % 4 * 4);
  int load_tile = first, load_part = 0;
  const auto load_next = [&](int stage) {
    if (load_tile < kTiles)
#pragma unroll
      for (int row = 0; row < S::kRows; row += kRowStep)
        copy_async(to + (stage * S::kRows + row) * S::kChunk,
                   from + at(0, row / S::kPoints, row % S::kPoints));
    asm volatile("cp.async.commit_group;");
    from += S::kChunk;
    if (++load_part == S::kParts) load_part = 0, load_tile += step, from += at(step, 0, 0) - kWidth;
  };
  if (threadIdx.x < S::kParts)
    asm volatile("mbarrier.init.shared::cta.b64 [%0],%1;" ::"r"(in_shared(ready + threadIdx.x)),
                 "r"(S::kThreads));
  __syncthreads();
  constexpr int kAhead = S::kStages - 1;
  for (int part = 0; part < (S::kParts > kAhead ? S::kParts : kAhead); ++part) {
    if (part < S::kParts) {
      for (int e = threadIdx.x; e < S::kChunk * kWidth / 2; e += S::kThreads) {
        const int k = part * S::kChunk + e / (kWidth / 2), column = e % (kWidth / 2) * 2;
        copy_async(W + k * kWidth + (column ^ k % 4 * 4), w.weights + k * kWidth + column);
      }
      arrive_after_copies(ready + part);
    }
    if (part < kAhead) load_next(part);
  }

  int swap_a[4], swap_w[2];  // positions of k = 4 i + low in a row and of column 8 i + high in W
  for (int i = 0; i < 4; ++i) swap_a[i] = (4 * i ^ high % 4 * 4) + low;
  for (int i = 0; i < 2; ++i) swap_w[i] = (8 * i + high) ^ 4 * low;
  int stage = 0;
  for (int tile = first; tile < kTiles; tile += step) {
    if (kEpilogue == Epilogue::backward)
      for (int e = t; e < S::kRows * kWidth / 16; e += S::kGroupThreads) {
        const int row = e / (kWidth / 16), c = row / S::kPoints;
        asm volatile("prefetch.global.L2 [%0];" ::"l"(
            (c == 0 ? w.value : w.stash) + at(tile, c, row % S::kPoints) + e % (kWidth / 16) * 16));
      }
    double z[S::kRowTiles][S::kColumnTiles][4] = {};
#pragma unroll 1
    for (int part = 0; part < S::kParts; ++part) {
      asm volatile("cp.async.wait_group %0;" ::"n"(S::kStages - 2) : "memory");
      barrier(group, S::kGroupThreads);
      load_next(stage == 0 ? kAhead : stage - 1);
      wait_until(ready + part);
      const unsigned rows = in_shared(A) + 8 * (stage * S::kRows + high) * S::kChunk,
                     columns = in_shared(W) + 8 * ((part * S::kChunk + low) * kWidth + first_column);
#pragma unroll S::kUnroll
      for (int k16 = 0; k16 < S::kChunk; k16 += 16)
#pragma unroll
        for (int k = 0; k < 16; k += 8) {
          double a[S::kRowTiles][4];
          for (int m = 0; m < S::kRowTiles; ++m)
            for (int i = 0; i < 4; ++i)
              a[m][i] = load(rows + 8 * swap_a[k / 4 + i / 2] + 8 * ((16 * m + i % 2 * 8) * S::kChunk + k16));
          for (int j = 0; j < S::kColumnTiles; ++j) {
            double b[2];
            for (int i = 0; i < 2; ++i)
              b[i] = load(columns + 8 * swap_w[j % 2] + 8 * ((k16 + k + 4 * i) * kWidth + j / 2 * 16));
            for (int m = 0; m < S::kRowTiles; ++m) multiply_add(z[m][j], a[m], b);
          }
        }
      if (++stage == S::kStages) stage = 0;
    }
#pragma unroll
    for (int j = 0; j < S::kColumnTiles; ++j) {
      const int column = first_column + 8 * j + 2 * low;
      double sums[2] = {};
#pragma unroll
      for (int p = 0; p < S::kPoints; p += 8) {
        const std::size_t offset = at(tile, 0, p + high) + column;
        const auto pair = [&](double* base, int c) {
          return reinterpret_cast<double2*>(base + offset + at(0, c, 0));
        };
        double v[2][4], stash[2][4];
        for (int c = 0; c < kComponents; ++c) {
          const int row = c * S::kPoints + p;
          v[0][c] = z[row / 16][j][row / 8 % 2 * 2], v[1][c] = z[row / 16][j][row / 8 % 2 * 2 + 1];
          if (kEpilogue == Epilogue::forward && c > 0) __stcs(pair(w.stash, c), double2{v[0][c], v[1][c]});
          if (kEpilogue != Epilogue::backward) continue;
          const double2 s = __ldcs(pair(c == 0 ? w.value : w.stash, c));
          stash[0][c] = s.x, stash[1][c] = s.y;
        }
        for (int q = 0; q < 2; ++q) {
          if (kEpilogue == Epilogue::forward) tanh_jets(w.bias[column + q], v[q]);
          if (kEpilogue == Epilogue::backward) tanh_jets_adjoint(stash[q], v[q]), sums[q] += v[q][0];
        }
        for (int c = 0; c < kComponents; ++c) *pair(w.out, c) = {v[0][c], v[1][c]};
      }
      if (kEpilogue == Epilogue::backward)
        for (int q = 0; q < 2; ++q) {
          for (int other = 4; other < 32; other *= 2) sums[q] += __shfl_xor_sync(~0u, sums[q], other);
          double* to = w.bias_gradient + (blockIdx.x * S::kGroups + group) * kWidth + column + q;
          if (high == 0 && tile == first) *to = sums[q];
          if (high == 0 && tile != first) atomicAdd(to, sums[q]);  // no other thread adds here: a fixed order
        }
    }
  }
}

// The same after a product by cuBLAS. Forward, z itself is the stash, as in the library.
template <Epilogue kEpilogue>
__global__ void pointwise(const double* z, Layer w) {
  const std::size_t unit = kUnit / kComponents;
  for (std::size_t i = blockIdx.x * 256ull + threadIdx.x; i < unit; i += gridDim.x * 256ull) {
    double v[4], stash[4];
    for (int c = 0; c < 4; ++c) {
      v[c] = z[c * unit + i];
      if (kEpilogue == Epilogue::backward) stash[c] = c == 0 ? w.value[i] : w.stash[c * unit + i];
    }
    if (kEpilogue == Epilogue::forward)
      tanh_jets(w.bias[i % kWidth], v);
    else
      tanh_jets_adjoint(stash, v);
    for (int c = 0; c < 4; ++c) w.out[c * unit + i] = v[c];
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

std::vector<double> on_host(const double* memory, std::size_t size) {
  std::vector<double> values(size);
  check(cudaMemcpy(values.data(), memory, size * sizeof(double), cudaMemcpyDeviceToHost));
  return values;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b, std::size_t first = 0) {
  double largest = 0;
  for (std::size_t i = first; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

std::vector<double> column_sums(const std::vector<double>& a, std::size_t rows) {
  std::vector<double> sums(kWidth);
  for (std::size_t i = 0; i < rows * kWidth; ++i) sums[i % kWidth] += a[i];
  return sums;
}

// What the two separate kernels compute from the same input.
struct Expected {
  std::vector<double> z, out, bar, bias_gradient;
};

template <class S, Epilogue kEpilogue>
void launch(const Layer& layer, int blocks, cudaStream_t s) {
  const auto kernel = fused_layer<S, kEpilogue>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kShared));
  kernel<<<blocks, S::kThreads, S::kShared, s>>>(layer);
  check(cudaGetLastError());
}

template <class S>
void measure(const Layer& forward, const Layer& backward, int blocks, const Expected& expected) {
  S::print();
  for (double* memory : {forward.out, forward.stash, backward.out})  // 1e306
    check(cudaMemset(memory, 0x7f, kUnit * sizeof(double)));
  launch<S, Epilogue::forward>(forward, blocks, nullptr);
  launch<S, Epilogue::backward>(backward, blocks, nullptr);
  const double differences[] = {
      largest_difference(expected.out, on_host(forward.out, kUnit)),
      largest_difference(expected.z, on_host(forward.stash, kUnit), kUnit / kComponents),
      largest_difference(expected.bar, on_host(backward.out, kUnit)),
      largest_difference(
          expected.bias_gradient,
          column_sums(on_host(backward.bias_gradient, blocks * S::kGroups * kWidth), blocks * S::kGroups))};
  std::printf("\n  differs by %.0e forward, %.0e stash, %.0e backward, %.0e bias gradient; %zu KiB shared\n",
              differences[0], differences[1], differences[2], differences[3], S::kShared / 1024);
  if (*std::max_element(differences, differences + 4) > 1e-9)
    return void(std::printf("  WRONG, not timed\n"));
  const auto time = [&](const char* name, auto kernel, const Layer& layer, auto run) {
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel));
    std::printf("  %-8s %5.1f us, %d registers, %zu B local\n", name,
                microseconds([&](cudaStream_t s) { run(layer, blocks, s); }), attributes.numRegs,
                attributes.localSizeBytes);
  };
  time("product", fused_layer<S, Epilogue::none>, forward, launch<S, Epilogue::none>);
  time("forward", fused_layer<S, Epilogue::forward>, forward, launch<S, Epilogue::forward>);
  time("backward", fused_layer<S, Epilogue::backward>, backward, launch<S, Epilogue::backward>);
}

}  // namespace

int main() {
  double *in = on_device(kUnit, 0.5, 1), *weights = on_device(kWidth * kWidth, 0.15, 2),
         *bias = on_device(kWidth, 0.5, 3), *sums = on_device(2048 * kWidth, 0, 4);
  double *z = on_device(kUnit, 0, 5), *out = on_device(kUnit, 0, 6), *out_bar = on_device(kUnit, 0, 7),
         *bar = on_device(kUnit, 0, 8);
  double *fused_stash = on_device(kUnit, 0, 9), *fused_out = on_device(kUnit, 0, 10),
         *fused_bar = on_device(kUnit, 0, 11);
  int blocks = 0, kilohertz = 0;
  check(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0));
  check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0));
  cublasHandle_t blas;
  cublasCreate(&blas);
  const auto product = [&](double* result, cudaStream_t s) {
    const double one = 1, zero = 0;
    cublasSetStream(blas, s);
    cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, kWidth, kComponents * kCount, kWidth, &one, weights, kWidth,
                in, kWidth, &zero, result, kWidth);
  };
  const auto forward = [&](cudaStream_t s) {
    product(z, s),
        pointwise<Epilogue::forward><<<1024, 256, 0, s>>>(z, {in, weights, bias, nullptr, z, out, nullptr});
  };
  const auto backward = [&](cudaStream_t s) {
    product(out_bar, s);
    pointwise<Epilogue::backward><<<1024, 256, 0, s>>>(out_bar, {in, weights, bias, out, z, bar, nullptr});
  };
  forward(nullptr), backward(nullptr);
  check(cudaDeviceSynchronize());
  const std::vector<double> host_bar = on_host(bar, kUnit);
  const Expected expected{on_host(z, kUnit), on_host(out, kUnit), host_bar, column_sums(host_bar, kCount)};

  const double clocks = blocks * kilohertz * 1e-3;  // of all multiprocessors per microsecond
  std::printf(
      "bounds at %d MHz: tensor cores %.1f us; FP64 of the epilogue %.1f us forward, %.1f backward; 4.2 TB/s "
      "%.1f "
      "and %.1f us\n",
      kilohertz / 1000, kUnit * kWidth / 128 / clocks, kUnit / 4 * kForwardOps / 64 / clocks,
      kUnit / 4 * kBackwardOps / 64 / clocks, kUnit * 2.75 * 8 / 4.2e6, kUnit * 3. * 8 / 4.2e6);
  std::printf("cuBLAS %.1f us, with pointwise kernels %.1f forward, %.1f backward\n",
              microseconds([&](cudaStream_t s) { product(z, s); }), microseconds(forward),
              microseconds(backward));

  const Layer first{in, weights, bias, nullptr, fused_stash, fused_out, sums},
      second{in, weights, bias, out, z, fused_bar, sums};
  const auto all = [&](auto... shapes) { (measure<decltype(shapes)>(first, second, blocks, expected), ...); };
  all(Shape<16, 2, 4, 16, 3>{}, Shape<8, 4, 4, 32, 3>{}, Shape<8, 3, 4, 32, 4>{});
}
