#pragma once
// The CUDA runtime and its libraries with owning types and checked calls. Only files in folders named cuda
// include this.

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <nvrtc.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lather/core/memory.hpp"

namespace lather::cuda {

// Where a function was called, as a default argument. clang 14 has no std::source_location.
struct CallSite {
  const char* file;
  int line;
  static constexpr CallSite here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// Throw Error saying which call failed and why.
void check(cudaError_t status, CallSite where = CallSite::here());
void check(cublasStatus_t status, CallSite where = CallSite::here());
void check(cusolverStatus_t status, CallSite where = CallSite::here());

// Concurrent trainings share the GPU's context. When one captured a graph while another created or released
// memory, code or handles, calls failed ("cuBLAS: status 13") and programs crashed (CUDA 13, H200), although
// each had its own stream and captures were thread-local: such work is done by one thread at a time.
[[nodiscard]] std::unique_lock<std::recursive_mutex> alone();

// Throws Error unless a GPU can be used; says what is missing.
void require_device();

// Libraries are loaded at their first use; a missing one is an Error that names it.
struct BlasLibrary {
  decltype(&cublasCreate) create;
  decltype(&cublasDestroy) destroy;
  decltype(&cublasSetStream) set_stream;
  decltype(&cublasSetWorkspace) set_workspace;
  decltype(&cublasDgemm) dgemm;
  decltype(&cublasSgemm) sgemm;
  decltype(&cublasDgemmBatched) dgemm_batched;
  decltype(&cublasDgemv) dgemv;
  decltype(&cublasDsyrk) dsyrk;
  decltype(&cublasDtrsm) dtrsm;
  decltype(&cublasDtrsv) dtrsv;
  decltype(&cublasDtrmm) dtrmm;
};
const BlasLibrary& blas_library();

struct SolverLibrary {
  decltype(&cusolverDnCreate) create;
  decltype(&cusolverDnDestroy) destroy;
  decltype(&cusolverDnSetStream) set_stream;
  decltype(&cusolverDnCreateParams) create_params;
  decltype(&cusolverDnDestroyParams) destroy_params;
  decltype(&cusolverDnXsyevBatched_bufferSize) syev_batched_size;
  decltype(&cusolverDnXsyevBatched) syev_batched;
  decltype(&cusolverDnXpotrs) potrs;
};
const SolverLibrary& solver_library();

struct RtcLibrary {
  decltype(&nvrtcVersion) version;
  decltype(&nvrtcCreateProgram) create;
  decltype(&nvrtcDestroyProgram) destroy;
  decltype(&nvrtcCompileProgram) compile;
  decltype(&nvrtcGetProgramLogSize) log_size;
  decltype(&nvrtcGetProgramLog) log;
  decltype(&nvrtcGetCUBINSize) cubin_size;
  decltype(&nvrtcGetCUBIN) cubin;
};
const RtcLibrary& rtc_library();

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(handle_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return handle_; }
  void synchronize() const { check(cudaStreamSynchronize(handle_)); }

 private:
  cudaStream_t handle_ = nullptr;
};

class Event {
 public:
  explicit Event(bool timed = false) {
    check(cudaEventCreateWithFlags(&handle_, timed ? cudaEventDefault : cudaEventDisableTiming));
  }
  ~Event() { cudaEventDestroy(handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return handle_; }

 private:
  cudaEvent_t handle_ = nullptr;
};

// Work enqueued on `to` from now on waits for the work enqueued on `from` so far.
inline void enqueue_behind(cudaStream_t from, cudaStream_t to, const Event& event) {
  check(cudaEventRecord(event, from));
  check(cudaStreamWaitEvent(to, event, 0));
}

// Device memory, zeroed when allocated.
template <class T>
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t size) : size_(size) {
    if (size == 0) return;
    const auto lock = alone();
    check(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)));
    count_device_memory(static_cast<std::ptrdiff_t>(bytes()));
    check(cudaMemset(data_, 0, size * sizeof(T)));
    check(cudaStreamSynchronize(nullptr));  // our streams do not wait for the default one
  }
  ~Memory() {
    if (!data_) return;
    const auto lock = alone();
    count_device_memory(-static_cast<std::ptrdiff_t>(bytes()));
    cudaFree(data_);
  }
  Memory(Memory&& other) noexcept : data_(other.data_), size_(other.size_) {
    other.data_ = nullptr, other.size_ = 0;
  }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

  void upload(std::span<const T> values, std::size_t at = 0) {
    check(cudaMemcpy(data_ + at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    check(cudaStreamSynchronize(nullptr));
  }
  void download(std::span<T> values, std::size_t at = 0) const {
    check(cudaMemcpy(values.data(), data_ + at, values.size() * sizeof(T), cudaMemcpyDeviceToHost));
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// Page-locked host memory: copies to and from it run at full speed and inside graphs.
template <class T>
class PinnedMemory {
 public:
  PinnedMemory() = default;
  explicit PinnedMemory(std::size_t size) : size_(size) {
    const auto lock = alone();
    check(cudaMallocHost(reinterpret_cast<void**>(&data_), std::max<std::size_t>(size, 1) * sizeof(T)));
  }
  ~PinnedMemory() {
    if (!data_) return;
    const auto lock = alone();
    cudaFreeHost(data_);
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// Row stride of a large matrix of doubles: cuBLAS is up to a fifth faster if rows begin at multiples of 128
// bytes than if they do not.
constexpr std::size_t row_stride(std::size_t columns) { return (columns + 15) / 16 * 16; }

// A cuBLAS handle bound to one stream, with its own workspace: results do not depend on what else runs.
class Blas {
 public:
  explicit Blas(cudaStream_t stream);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  operator cublasHandle_t() const { return handle_; }

  // Row-major C (m × n) = alpha op(A) op(B) + beta C, op(A) being m × k.
  struct Product {
    int m, n, k;
    bool transpose_a = false, transpose_b = false;
    double alpha = 1, beta = 0;
  };
  template <class T>
  void multiply(const Product& p, const T* a, int lda, const T* b, int ldb, T* c, int ldc) const;
  // The same for `count` matrices whose addresses are in arrays on the device.
  void multiply(const Product& p, int count, const double* const* a, int lda, const double* const* b, int ldb,
                double* const* c, int ldc) const;
  // Row-major A (rows × cols): out = A v + beta out, or, transposed, out = A^T v + beta out.
  struct VectorProduct {
    int rows, cols, stride;
    bool transpose = false;
    double beta = 0;
  };
  void multiply_vector(const VectorProduct& p, const double* a, const double* v, double* out) const;
  // Upper triangle (row-major) of C (n × n) = A^T A + beta C with A k × n, or A A^T + beta C with A n × k.
  struct Square {
    int n, k;
    bool of_rows = false;  // A A^T
    double beta = 0;
    int block = 0;  // columns computed at once; 0: chosen from n
  };
  void square(const Square& s, const double* a, int lda, double* c, int ldc) const;
  // With C lower triangular (n × n; the part above is not read): B (k × n) = B C^{-1}, or, left, B (n × k) =
  // C^{-1} B; transpose: with C^T instead of C.
  struct LowerSolve {
    int n, k;
    bool left = false, transpose = false;
  };
  void solve_lower(const LowerSolve& s, const double* c, int ldc, double* b, int ldb) const;
  void solve_transposed(int n, const double* c, int ldc, double* b) const;  // b = C^{-T} b
  // to (k × n) = B C; all three with the same stride
  void multiply_by_lower(int n, int k, int stride, const double* b, const double* c, double* to) const;
  void set_stream(cudaStream_t stream) const;

 private:
  cublasHandle_t handle_ = nullptr;
  Memory<std::byte> workspace_;
};

// A cuSOLVER handle bound to one stream.
class Solver {
 public:
  explicit Solver(cudaStream_t stream);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  void set_stream(cudaStream_t stream) const;

  // Replaces `count` consecutive symmetric d × d matrices by their eigenvectors: row k of each belongs to
  // values[k], values ascend. info is 0 for those that succeeded.
  void eigenvectors(int d, int count, double* matrices, double* values, int* info);

  // C C^T x = b with C lower triangular (row-major; the part above is not read), b overwritten.
  void cholesky_solve(int n, const double* factor, int stride, double* b, int* info);

 private:
  void reserve(std::size_t device_bytes, std::size_t host_bytes);
  cusolverDnHandle_t handle_ = nullptr;
  cusolverDnParams_t params_ = nullptr;
  Memory<std::byte> workspace_;
  std::vector<std::byte> host_workspace_;
  // Smaller ones from earlier calls: graphs captured with them keep using them.
  std::vector<Memory<std::byte>> outgrown_;
  std::vector<std::vector<std::byte>> outgrown_on_host_;
};

// Work captured once, replayed with one launch.
class Graph {
 public:
  Graph() = default;
  template <class F>
  Graph(cudaStream_t stream, F&& enqueue) {
    const auto lock = alone();
    begin(stream);
    try {
      enqueue();
    } catch (...) {
      give_up(stream);
      throw;
    }
    end(stream);
  }
  ~Graph();
  Graph(const Graph&) = delete;
  Graph(Graph&& other) noexcept : executable_(other.executable_), nodes_(other.nodes_) {
    other.executable_ = nullptr;
  }
  Graph& operator=(Graph&& other) noexcept {
    std::swap(executable_, other.executable_);
    std::swap(nodes_, other.nodes_);
    return *this;
  }
  explicit operator bool() const { return executable_ != nullptr; }
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream)); }
  std::size_t nodes() const { return nodes_; }

 private:
  void begin(cudaStream_t stream);
  void end(cudaStream_t stream);
  static void give_up(cudaStream_t stream);
  cudaGraphExec_t executable_ = nullptr;
  std::size_t nodes_ = 0;
};

}  // namespace lather::cuda
