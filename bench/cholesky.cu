// A Cholesky factorization of general products and one small kernel beside cuSOLVER's; and what leading dimensions that
// are odd cost cuBLAS.
//   nvcc -O3 -std=c++17 -arch=sm_90 -o /tmp/cholesky bench/cholesky.cu -lcublas -lcusolver && /tmp/cholesky [N M]
#include <cublas_v2.h>
#include <cusolverDn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kBlock = 64;

#define CHECK(x)                                             \
  do {                                                       \
    if (const int error = static_cast<int>(x); error != 0) { \
      std::printf("line %d: error %d\n", __LINE__, error);   \
      std::exit(1);                                          \
    }                                                        \
  } while (0)

// P[i][c] = A[from + i][from + c], taken from above the diagonal.
__global__ void load_panel(const double* A, long long ld, int n, int from, int width, double* P, int ldp) {
  __shared__ double tile[32][33];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32, row = blockIdx.x * 32, column = blockIdx.y * 32;
  // element (i, c) of P = A[from + c][from + i], or where i < c A[from + i][from + c]
  for (int k = y; k < 32; k += 8) {
    const int c = column + k, i = row + x;
    if (c < width && from + i < n)
      tile[k][x] = A[(long long)(from + (c < i ? c : i)) * ld + from + (c < i ? i : c)];
  }
  __syncthreads();
  for (int k = y; k < 32; k += 8) {
    const int i = row + k, c = column + x;
    if (c < width && from + i < n) P[(long long)i * ldp + c] = tile[x][k];
  }
}

__global__ void store_panel(double* A, long long ld, int n, int from, int width, const double* P, int ldp,
                            const double* D) {
  const int c = blockIdx.y * 32 + threadIdx.x % 32;
  for (int k = threadIdx.x / 32; k < 32; k += 8) {
    const int i = blockIdx.x * 32 + k;
    if (c >= width || from + i >= n || c > i) continue;
    const bool diagonal = i / kBlock == c / kBlock;
    A[(long long)(from + i) * ld + from + c] =
        diagonal ? D[i * kBlock + c % kBlock] : P[(long long)i * ldp + c];
  }
}

// Factors the width x width block at P, and solves for the rows below it. Every thread block does the former for itself.
__global__ void __launch_bounds__(256)
    factor_block(double* P, int ldp, int width, int below, int rows_per_block, double* D, int* info) {
  __shared__ double column[2][kBlock];
  __shared__ double roots[kBlock], inverse[kBlock];
  __shared__ __align__(16) double Lt[kBlock][kBlock];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  double a[4][4];
#pragma unroll
  for (int p = 0; p < 4; ++p)
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const int i = tx + 16 * p, k = ty + 16 * q;
      a[p][q] = i < width && k < width ? P[(long long)(i > k ? i : k) * ldp + (i > k ? k : i)]
                                       : (i == k ? 1.0 : 0.0);
    }
#pragma unroll
  for (int q0 = 0; q0 < 4; ++q0)
    for (int jj = 0; jj < 16; ++jj) {
      const int j = 16 * q0 + jj, buffer = j & 1;
      if (ty == jj)
#pragma unroll
        for (int p = 0; p < 4; ++p) column[buffer][tx + 16 * p] = a[p][q0];
      __syncthreads();
      const double pivot = 1 / column[buffer][j];
      double of_row[4];
#pragma unroll
      for (int p = q0; p < 4; ++p) of_row[p] = column[buffer][tx + 16 * p];
#pragma unroll
      for (int q = q0; q < 4; ++q) {
        const double scaled = column[buffer][ty + 16 * q] * pivot;
        if (q > q0 || ty > jj)
#pragma unroll
          for (int p = q0; p < 4; ++p) a[p][q] = fma(-of_row[p], scaled, a[p][q]);
      }
    }
#pragma unroll
  for (int p = 0; p < 4; ++p)
    if (tx == ty) {
      roots[tx + 16 * p] = sqrt(a[p][p]);
      inverse[tx + 16 * p] = 1 / sqrt(a[p][p]);
      if (!(a[p][p] > 0)) *info = 1;
    }
  __syncthreads();
#pragma unroll
  for (int p = 0; p < 4; ++p)
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const int i = tx + 16 * p, k = ty + 16 * q;
      const double value = i > k ? a[p][q] * inverse[k] : i == k ? roots[k] : 0.0;
      Lt[k][i] = value;
      if (blockIdx.x == 0) D[i * kBlock + k] = value;
    }
  __syncthreads();
  const int row = blockIdx.x * rows_per_block + threadIdx.x;
  if (threadIdx.x >= rows_per_block || row >= below) return;
  double* at = P + (long long)(width + row) * ldp;
  double b[kBlock];
#pragma unroll
  for (int k = 0; k < kBlock; k += 2) {
    const double2 two = *reinterpret_cast<const double2*>(at + k);
    b[k] = two.x, b[k + 1] = two.y;
  }
#pragma unroll
  for (int j = 0; j < kBlock; ++j) {
    b[j] *= inverse[j];
#pragma unroll
    for (int i = (j + 1) & ~1; i < kBlock; i += 2) {
      const double2 l = *reinterpret_cast<const double2*>(&Lt[j][i]);
      if (i > j) b[i] = fma(-b[j], l.x, b[i]);
      b[i + 1] = fma(-b[j], l.y, b[i + 1]);
    }
  }
#pragma unroll
  for (int k = 0; k < kBlock; k += 2) *reinterpret_cast<double2*>(at + k) = make_double2(b[k], b[k + 1]);
}

__global__ void fill(double* to, long long count, unsigned seed) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
    unsigned long long z = (i + 1) * 0x9E3779B97F4A7C15ull + seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    to[i] = (double)(z >> 11) / 9007199254740992.0 - 0.5;
  }
}
__global__ void add_diagonal(double* A, long long ld, int n, double value) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) A[i * ld + i] += value;
}

cudaStream_t stream;
cublasHandle_t blas;
cusolverDnHandle_t solver;
int processors = 132;

// Row-major C (m x n) -= A (m x k) B^T (B n x k).
void subtract(int m, int n, int k, const double* A, int lda, const double* B, int ldb, double* C, int ldc) {
  const double minus = -1, one = 1;
  CHECK(cublasDgemm(blas, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &minus, B, ldb, A, lda, &one, C, ldc));
}

void cholesky(double* A, int ld, int n, int outer, double* P, double* D, int* info) {
  for (int from = 0; from < n; from += outer) {
    const int width = std::min(outer, n - from), rows = n - from;
    const dim3 tiles((rows + 31) / 32, (width + 31) / 32);
    load_panel<<<tiles, 256, 0, stream>>>(A, ld, n, from, width, P, outer);
    const double* before = A + static_cast<size_t>(from) * ld;
    if (from > 0) subtract(rows, width, from, before, ld, before, ld, P, outer);
    for (int k = 0; k < width; k += kBlock) {
      const int block = std::min(kBlock, width - k), below = rows - k - block, right = width - k - block;
      double* corner = P + static_cast<size_t>(k) * outer + k;
      const int rows_per_block = std::clamp((below + processors - 1) / processors, 32, 256);
      const int blocks = std::max(1, (below + rows_per_block - 1) / rows_per_block);
      factor_block<<<blocks, 256, 0, stream>>>(corner, outer, block, below, rows_per_block, D + k * kBlock,
                                               info);
      double* under = corner + static_cast<size_t>(block) * outer;
      if (right > 0) subtract(below, right, block, under, outer, under, outer, under + block, outer);
    }
    store_panel<<<tiles, 256, 0, stream>>>(A, ld, n, from, width, P, outer, D);
  }
}

template <class F>
double milliseconds(int repeats, const F& f) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = -1; i < repeats; ++i) {
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventRecord(begin, stream));
    f();
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 0) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void measure(int n, int m) {
  const int repeats = n > 20000 ? 1 : n > 10000 ? 3 : 9;
  std::printf("\n%d x %d\n", n, m);
  const int most = (n + 15) / 16 * 16;
  double *J, *A, *P, *D, *v, *w;
  int* info;
  CHECK(cudaMalloc(&J, sizeof(double) * most * m));
  CHECK(cudaMalloc(&A, sizeof(double) * most * n));
  CHECK(cudaMalloc(&P, sizeof(double) * n * 1024));
  CHECK(cudaMalloc(&D, sizeof(double) * 1024 * kBlock));
  CHECK(cudaMalloc(&v, sizeof(double) * n));
  CHECK(cudaMalloc(&w, sizeof(double) * n));
  CHECK(cudaMalloc(&info, sizeof(int)));
  fill<<<1024, 256, 0, stream>>>(J, static_cast<long long>(most) * m, 1);
  const double one = 1, zero = 0;
  for (const int ld : {n, (n + 1) / 2 * 2, most}) {
    const auto square = [&] {  // row-major upper
      CHECK(cublasDsyrk(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, m, &one, J, ld, &zero, A, ld));
    };
    const auto blocks = [&](int block) {
      for (int i = 0; i < n; i += block) {
        const int width = std::min(block, n - i), below = n - i - width;
        double* corner = A + static_cast<size_t>(i) * ld + i;
        CHECK(cublasDsyrk(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, width, m, &one, J + i, ld, &zero, corner,
                          ld));
        if (below > 0)
          CHECK(cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, below, width, m, &one, J + i + width, ld, J + i,
                            ld, &zero, corner + width, ld));
      }
    };
    std::printf("leading dimension %d: syrk %.2f ms", ld, milliseconds(repeats, square));
    for (const int parts : {4, 8, 16})
      std::printf(", %d blocks %.2f", parts,
                  milliseconds(repeats, [&] { blocks((n / parts + 63) / 64 * 64); }));
    // cuSOLVER, on the same triangle (row-major upper is column-major lower)
    size_t device_bytes = 0, host_bytes = 0;
    cusolverDnParams_t params;
    CHECK(cusolverDnCreateParams(&params));
    CHECK(cusolverDnXpotrf_bufferSize(solver, params, CUBLAS_FILL_MODE_UPPER, n, CUDA_R_64F, A, ld,
                                      CUDA_R_64F, &device_bytes, &host_bytes));
    void* work;
    CHECK(cudaMalloc(&work, device_bytes));
    std::vector<char> host(host_bytes + 1);
    // The lower triangle (row-major) is made by load and store of a "panel" of no factorization: simply both triangles.
    const auto both = [&] {
      CHECK(cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, m, &one, J, ld, J, ld, &zero, A, ld));
      add_diagonal<<<64, 256, 0, stream>>>(A, ld, n, 0.01 * m);
    };
    std::vector<double> x(n), y(n), z(n);
    for (int i = 0; i < n; ++i) x[i] = std::sin(1.0 + i);
    CHECK(cudaMemcpy(v, x.data(), sizeof(double) * n, cudaMemcpyHostToDevice));
    const auto residual = [&](const char* name) {  // |C C^T x - A x| / |A x|; A x by J
      double* t;
      CHECK(cudaMalloc(&t, sizeof(double) * std::max(n, m)));
      CHECK(cudaMemcpy(w, v, sizeof(double) * n, cudaMemcpyDeviceToDevice));
      // row-major lower C = column-major upper U = C^T: C^T x = U x
      CHECK(cublasDtrmv(blas, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, n, A, ld, w, 1));
      CHECK(cublasDtrmv(blas, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, n, A, ld, w, 1));
      CHECK(cudaStreamSynchronize(stream));
      CHECK(cudaMemcpy(y.data(), w, sizeof(double) * n, cudaMemcpyDeviceToHost));
      CHECK(cublasDgemv(blas, CUBLAS_OP_T, n, m, &one, J, ld, v, 1, &zero, t, 1));
      CHECK(cublasDgemv(blas, CUBLAS_OP_N, n, m, &one, J, ld, t, 1, &zero, w, 1));
      CHECK(cudaStreamSynchronize(stream));
      CHECK(cudaMemcpy(z.data(), w, sizeof(double) * n, cudaMemcpyDeviceToHost));
      double sum = 0, all = 0;
      for (int i = 0; i < n; ++i) {
        z[i] += 0.01 * m * x[i];
        sum += (y[i] - z[i]) * (y[i] - z[i]);
        all += z[i] * z[i];
      }
      int failed;
      CHECK(cudaMemcpy(&failed, info, sizeof(int), cudaMemcpyDeviceToHost));
      std::printf("   %s: info %d, off by %.1e\n", name, failed, std::sqrt(sum / all));
      CHECK(cudaFree(t));
    };
    const auto potrf = [&] {
      CHECK(cusolverDnXpotrf(solver, params, CUBLAS_FILL_MODE_UPPER, n, CUDA_R_64F, A, ld, CUDA_R_64F, work,
                             device_bytes, host.data(), host_bytes, info));
    };
    const double product = milliseconds(repeats, both);
    std::printf(", general %.2f\n   potrf %.2f", product, milliseconds(repeats, [&] {
                                                            both();
                                                            potrf();
                                                          }) - product);
    residual("");
    for (const int outer : {256, 512, 1024}) {
      CHECK(cudaMemset(info, 0, sizeof(int)));
      const double ms = milliseconds(repeats,
                                     [&] {
                                       both();
                                       cholesky(A, ld, n, outer, P, D, info);
                                     }) -
                        product;
      std::printf("   panels of %d: %.2f", outer, ms);
      residual("");
    }
    CHECK(cudaFree(work));
    std::fflush(stdout);
  }
  // one panel kernel alone
  for (const int below : {0, 1000, 4000, 16000})
    if (below < n)
      std::printf(
          "   factor_block, %d rows below: %.4f ms\n", below,
          milliseconds(9, [&] {
            for (int i = 0; i < 10; ++i) {
              const int rows_per_block = std::clamp((below + processors - 1) / processors, 32, 256);
              factor_block<<<std::max(1, (below + rows_per_block - 1) / rows_per_block), 256, 0, stream>>>(
                  P, 512, 64, below, rows_per_block, D, info);
            }
          }) / 10);
  for (void* p : {(void*)J, (void*)A, (void*)P, (void*)D, (void*)v, (void*)w, (void*)info})
    CHECK(cudaFree(p));
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cublasCreate(&blas));
  CHECK(cublasSetStream(blas, stream));
  CHECK(cusolverDnCreate(&solver));
  CHECK(cusolverDnSetStream(solver, stream));
  if (argc == 3) {
    measure(std::atoi(argv[1]), std::atoi(argv[2]));
    return 0;
  }
  measure(2001, 9000);
  measure(4353, 12000);
  measure(7562, 12000);
  measure(16897, 20000);
  measure(33537, 8000);
}
