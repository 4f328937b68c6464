// What a reduction of a gradient by NCCL costs inside a CUDA graph, with one rank: the least that several ranks pay.
//   nvcc -O2 -std=c++17 -arch=native bench/nccl_reduction.cu -lnccl      (scripts/gpu-check.sh ranks)
#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call, ok, text)                                       \
  do {                                                              \
    const auto status = (call);                                     \
    if (status != ok) {                                             \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, text(status)); \
      std::exit(1);                                                 \
    }                                                               \
  } while (0)
#define CUDA(call) CHECK(call, cudaSuccess, cudaGetErrorString)
#define NCCL(call) CHECK(call, ncclSuccess, ncclGetErrorString)

__global__ void fill(double* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = i + 0.25;
}

// Microseconds of one of the `count` launches that `enqueue` puts into a graph; the median of 20 replays.
template <class Enqueue>
double time_in_graph(cudaStream_t stream, int count, const Enqueue& enqueue) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < count; ++i) enqueue();
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphInstantiate(&executable, graph, 0));
  cudaEvent_t begin, end;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = 0; i < 23; ++i) {
    CUDA(cudaEventRecord(begin, stream));
    CUDA(cudaGraphLaunch(executable, stream));
    CUDA(cudaEventRecord(end, stream));
    CUDA(cudaEventSynchronize(end));
    float milliseconds = 0;
    CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
    if (i >= 3) times.push_back(milliseconds * 1e3f / count);
  }
  std::nth_element(times.begin(), times.begin() + 10, times.end());
  CUDA(cudaGraphExecDestroy(executable));
  CUDA(cudaGraphDestroy(graph));
  return times[10];
}

int main() {
  int device = 0, version = 0;
  CUDA(cudaSetDevice(device));
  ncclComm_t ranks;
  NCCL(ncclGetVersion(&version));
  NCCL(ncclCommInitAll(&ranks, 1, &device));
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::printf("NCCL %d, one rank, in a graph of 20; us\n%10s %10s %14s %10s\n", version, "doubles", "kernel",
              "with reduction", "reduction");
  for (const int n : {13000, 50000, 200000, 1000000}) {
    double* gradient;
    CUDA(cudaMalloc(&gradient, n * sizeof(double)));
    const double alone = time_in_graph(stream, 20, [&] { fill<<<128, 256, 0, stream>>>(gradient, n); });
    const double both = time_in_graph(stream, 20, [&] {
      fill<<<128, 256, 0, stream>>>(gradient, n);
      NCCL(ncclAllReduce(gradient, gradient, n, ncclDouble, ncclSum, ranks, stream));
    });
    std::vector<double> result(n);
    CUDA(cudaMemcpy(result.data(), gradient, n * sizeof(double), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i)
      if (result[i] != i + 0.25) {
        std::printf("wrong sum at %d: %.17g\n", i, result[i]);
        return 1;
      }
    std::printf("%10d %10.2f %14.2f %10.2f\n", n, alone, both, both - alone);
    CUDA(cudaFree(gradient));
  }
  NCCL(ncclCommDestroy(ranks));
  return 0;
}
