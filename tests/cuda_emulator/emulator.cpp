// A CUDA device made of one CPU thread, for tests on machines without a GPU: the part of the runtime, cuBLAS
// and NVRTC that Lather uses, linked in place of the real ones. Kernel source is compiled by the C++
// compiler; the threads of a block are fibers that take turns and meet at barriers. Slow, and blind to races
// and to what only hardware does; it checks that kernels, indices, sums and the order of work are right.

// glibc's checked longjmp refuses to change stacks.
#undef _FORTIFY_SOURCE

#include <dlfcn.h>
#include <setjmp.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "emulator.hpp"
#include "lather/core/cuda/runtime.hpp"
#include "lather/core/error.hpp"
#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/factorizations.hpp"

namespace lather::emulator {
int matrices_diagonalized = 0, failing_dimension = 0;
}

namespace {

constexpr const char* kShim = R"(
#include <cmath>
#include <cstddef>
using std::fma, std::exp, std::log, std::log1p, std::sin, std::cos, std::tan, std::sinh, std::cosh, std::tanh, std::asinh, std::atan, std::erf, std::fabs, std::fmax, std::fmin, std::pow, std::sqrt;
#define __device__
#define __forceinline__ inline
#define __global__
#define __shared__ static
#define __launch_bounds__(n)
struct Index { unsigned x, y, z; };
extern "C" { Index threadIdx, blockIdx, blockDim, gridDim; void (*emulator_block_barrier)(); void (*emulator_warp_barrier)(); double emulator_exchange[1024]; }
struct double2 { double x, y; };
struct float4 { float x, y, z, w; };
inline double __dmul_rn(double a, double b) { return a * b; }
template <class T> inline T __ldg(const T* p) { return *p; }
inline void __syncthreads() { emulator_block_barrier(); }
inline void __syncwarp() { emulator_warp_barrier(); }
template <class T> inline T __shfl_xor_sync(unsigned, T value, int mask) {
  const int t = threadIdx.y * blockDim.x + threadIdx.x;
  emulator_exchange[t] = value;
  emulator_warp_barrier();
  const T other = T(emulator_exchange[t ^ mask]);
  emulator_warp_barrier();
  return other;
}
)";

struct Index {
  unsigned x, y, z;
};

struct Library {
  void* handle;
};
struct Kernel {
  void (*function)(const void*);
  Index *thread, *block, *block_size, *grid_size;
};

// The threads of one block as fibers. They are made once and switched by setjmp and longjmp: swapcontext
// would call the kernel for the signal mask every time.
class Block {
 public:
  static Block* current;
  void run(const Kernel& kernel, const void* parameter, unsigned threads) {
    current = this;
    kernel_ = &kernel, parameter_ = parameter;
    while (fibers_.size() < threads) fibers_.push_back(std::make_unique<Fiber>());
    alive_ = static_cast<int>(threads);
    arrived_ = 0, generation_ = 0;
    warp_arrived_.assign(threads / 32 + 1, 0);
    warp_generation_.assign(threads / 32 + 1, 0);
    for (unsigned t = 0; t < threads; ++t) fibers_[t]->done = false;
    const unsigned width = kernel.block_size->x;
    while (alive_ > 0)
      for (unsigned t = 0; t < threads; ++t) {
        Fiber& f = *fibers_[t];
        if (f.done || (f.wait && *f.wait == f.wait_generation)) continue;
        running_ = t;
        *kernel.thread = {t % width, t / width, 0};
        resume(f);
      }
  }
  static void block_barrier() {
    Block& b = *current;
    b.meet(b.arrived_, b.generation_, b.alive_);
  }
  static void warp_barrier() {
    Block& b = *current;
    b.meet(b.warp_arrived_[b.running_ / 32], b.warp_generation_[b.running_ / 32], 32);
  }

 private:
  struct Fiber {
    std::vector<char> stack = std::vector<char>(1 << 16);
    jmp_buf place;
    bool started = false, done = false;
    int* wait = nullptr;
    int wait_generation = 0;
  };
  void resume(Fiber& f) {
    if (_setjmp(scheduler_) != 0) return;
    if (f.started) _longjmp(f.place, 1);
    f.started = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = f.stack.data();
    context.uc_stack.ss_size = f.stack.size();
    context.uc_link = nullptr;
    makecontext(
        &context, [] { current->live(); }, 0);
    setcontext(&context);
  }
  void leave(Fiber& f) {
    if (_setjmp(f.place) == 0) _longjmp(scheduler_, 1);
  }
  // One kernel after another.
  [[noreturn]] void live() {
    for (;;) {
      kernel_->function(parameter_);
      Fiber& f = *fibers_[running_];
      f.done = true;
      --alive_;
      leave(f);
    }
  }
  void meet(int& arrived, int& generation, int all) {
    if (++arrived == all) {
      arrived = 0;
      ++generation;
      return;
    }
    Fiber& f = *fibers_[running_];
    f.wait = &generation, f.wait_generation = generation;
    leave(f);
    f.wait = nullptr;
  }
  const Kernel* kernel_ = nullptr;
  const void* parameter_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<int> warp_arrived_, warp_generation_;
  jmp_buf scheduler_;
  unsigned running_ = 0;
  int alive_ = 0, arrived_ = 0, generation_ = 0;
};
Block* Block::current = nullptr;

// Work is done at once, or recorded while a stream is captured.
using Work = std::vector<std::function<void()>>;
Work* capture = nullptr;
void enqueue(std::function<void()> work) {
  if (capture)
    capture->push_back(std::move(work));
  else
    work();
}

void launch(const Kernel& kernel, dim3 grid, dim3 block, const void* parameter) {
  static Block fibers;
  *kernel.grid_size = {grid.x, grid.y, grid.z};
  *kernel.block_size = {block.x, block.y, block.z};
  for (unsigned y = 0; y < grid.y; ++y)
    for (unsigned x = 0; x < grid.x; ++x) {
      *kernel.block = {x, y, 0};
      fibers.run(kernel, parameter, block.x * block.y);
    }
}

constexpr std::size_t kParameterBytes = 4096;  // of cuda::Parameter

// C = alpha op(A) op(B) + beta C, column-major, as cuBLAS has it.
template <class T>
cublasStatus_t gemm(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                    const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc) {
  enqueue([=, al = *alpha, be = *beta] {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int l = 0; l < k; ++l)
          sum += static_cast<double>(ta == CUBLAS_OP_N ? a[i + static_cast<std::size_t>(l) * lda]
                                                       : a[l + static_cast<std::size_t>(i) * lda]) *
                 (tb == CUBLAS_OP_N ? b[l + static_cast<std::size_t>(j) * ldb]
                                    : b[j + static_cast<std::size_t>(l) * ldb]);
        T& target = c[i + static_cast<std::size_t>(j) * ldc];
        target = static_cast<T>(al * sum + (be == 0 ? 0 : be * target));
      }
  });
  return CUBLAS_STATUS_SUCCESS;
}

// The same for matrices whose addresses are read when the work is done.
cublasStatus_t gemm_batched(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                            int k, const double* alpha, const double* const* a, int lda,
                            const double* const* b, int ldb, const double* beta, double* const* c, int ldc,
                            int count) {
  for (int i = 0; i < count; ++i)
    gemm<double>(handle, ta, tb, m, n, k, alpha, a[i], lda, b[i], ldb, beta, c[i], ldc);
  return CUBLAS_STATUS_SUCCESS;
}

// A triangle of C = alpha op(A) op(A)^T + beta C; the other one is left alone.
cublasStatus_t syrk(cublasHandle_t, cublasFillMode_t fill, cublasOperation_t t, int n, int k,
                    const double* alpha, const double* a, int lda, const double* beta, double* c, int ldc) {
  enqueue([=, al = *alpha, be = *beta] {
    const auto entry = [&](int i, int l) {
      return t == CUBLAS_OP_N ? a[i + static_cast<std::size_t>(l) * lda]
                              : a[l + static_cast<std::size_t>(i) * lda];
    };
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        if (fill == CUBLAS_FILL_MODE_LOWER ? i < j : i > j) continue;
        double sum = 0;
        for (int l = 0; l < k; ++l) sum += entry(i, l) * entry(j, l);
        double& target = c[i + static_cast<std::size_t>(j) * ldc];
        target = al * sum + (be == 0 ? 0 : be * target);
      }
  });
  return CUBLAS_STATUS_SUCCESS;
}

// The entry of op(A) of an upper triangle.
double upper_entry(const double* a, int lda, cublasOperation_t op, int i, int j) {
  if (op == CUBLAS_OP_T) std::swap(i, j);
  return i > j ? 0 : a[i + static_cast<std::size_t>(j) * lda];
}

// B (m x n) = op(A)^{-1} B or B op(A)^{-1}, A upper triangular, as Lather asks for it.
cublasStatus_t trsm(cublasHandle_t, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,
                    cublasDiagType_t, int m, int n, const double* alpha, const double* a, int lda, double* b,
                    int ldb) {
  if (fill != CUBLAS_FILL_MODE_UPPER || *alpha != 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  enqueue([=] {
    const bool left = side == CUBLAS_SIDE_LEFT;
    const int size = left ? m : n, others = left ? n : m;
    // One right-hand side after another: T y = b with T = op(A), or with T = op(A)^T for rows of B.
    const bool from_the_last = (op == CUBLAS_OP_N) == left;
    for (int k = 0; k < others; ++k)
      for (int step = 0; step < size; ++step) {
        const int i = from_the_last ? size - 1 - step : step;
        const auto at = [&](int l) -> double& {
          return left ? b[l + static_cast<std::size_t>(k) * ldb] : b[k + static_cast<std::size_t>(l) * ldb];
        };
        double sum = at(i);
        for (int before = 0; before < step; ++before) {
          const int l = from_the_last ? size - 1 - before : before;
          sum -= (left ? upper_entry(a, lda, op, i, l) : upper_entry(a, lda, op, l, i)) * at(l);
        }
        at(i) = sum / upper_entry(a, lda, op, i, i);
      }
  });
  return CUBLAS_STATUS_SUCCESS;
}

// C (m x n) = A B, A upper triangular.
cublasStatus_t trmm(cublasHandle_t, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,
                    cublasDiagType_t, int m, int n, const double* alpha, const double* a, int lda,
                    const double* b, int ldb, double* c, int ldc) {
  if (side != CUBLAS_SIDE_LEFT || fill != CUBLAS_FILL_MODE_UPPER || *alpha != 1)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  enqueue([=] {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int l = 0; l < m; ++l)
          sum += upper_entry(a, lda, op, i, l) * b[l + static_cast<std::size_t>(j) * ldb];
        c[i + static_cast<std::size_t>(j) * ldc] = sum;
      }
  });
  return CUBLAS_STATUS_SUCCESS;
}

// Rows of the result are eigenvectors; values ascend.
void eigenvectors(int d, double* matrix, double* values, int* info) {
  std::vector<double> vectors(static_cast<std::size_t>(d) * d), descending(d);
  const auto n = static_cast<std::size_t>(d);
  ++lather::emulator::matrices_diagonalized;
  *info = d == lather::emulator::failing_dimension ||
          !lather::linalg::eigenvectors({matrix, n, n}, descending, {vectors.data(), n, n});
  if (*info) return;
  for (int k = 0; k < d; ++k) {
    values[k] = descending[d - 1 - k];
    for (int i = 0; i < d; ++i) matrix[k * d + i] = vectors[static_cast<std::size_t>(i) * d + d - 1 - k];
  }
}

std::string compiled_path;  // of the last program

// A kernel's parameter is a reference here: blocks share it.
void write(const std::filesystem::path& file, const std::string& before, const std::string& text) {
  static const std::regex parameter(R"(const __grid_constant__ (\w+) (\w+)\))");
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << before << std::regex_replace(text, parameter, "const $1& $2)");
}

// Where the toolkit's own compiler is installed (it needs no GPU) it must take the text too.
struct Source {
  std::string text;
  std::vector<std::string> header_names, header_texts;
};
Source source;

bool real_compiler_takes(int count, const char* const* options) {
  static void* const library = dlopen(LATHER_NVRTC, RTLD_NOW | RTLD_LOCAL);
  if (!library) return true;
  const auto find = [](const char* name) { return dlsym(library, name); };
  const auto create = reinterpret_cast<decltype(&nvrtcCreateProgram)>(find("nvrtcCreateProgram"));
  const auto compile = reinterpret_cast<decltype(&nvrtcCompileProgram)>(find("nvrtcCompileProgram"));
  const auto log_size = reinterpret_cast<decltype(&nvrtcGetProgramLogSize)>(find("nvrtcGetProgramLogSize"));
  const auto log = reinterpret_cast<decltype(&nvrtcGetProgramLog)>(find("nvrtcGetProgramLog"));
  const auto destroy = reinterpret_cast<decltype(&nvrtcDestroyProgram)>(find("nvrtcDestroyProgram"));
  nvrtcProgram program = nullptr;
  std::vector<const char*> names, texts;
  for (const auto& name : source.header_names) names.push_back(name.c_str());
  for (const auto& text : source.header_texts) texts.push_back(text.c_str());
  if (create(&program, source.text.c_str(), "lather.cu", static_cast<int>(names.size()), texts.data(),
             names.data()) != NVRTC_SUCCESS)
    return false;
  const bool taken = compile(program, count, options) == NVRTC_SUCCESS;
  if (!taken) {
    std::size_t size = 0;
    log_size(program, &size);
    std::string words(size, '\0');
    log(program, words.data());
    std::fprintf(stderr, "%s\n", words.c_str());
  }
  destroy(&program);
  return taken;
}

}  // namespace

namespace lather::cuda {

const BlasLibrary& blas_library() {
  static const BlasLibrary table{[](cublasHandle_t* h) {
                                   *h = reinterpret_cast<cublasHandle_t>(1);
                                   return CUBLAS_STATUS_SUCCESS;
                                 },
                                 [](cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; },
                                 [](cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; },
                                 [](cublasHandle_t, void*, std::size_t) { return CUBLAS_STATUS_SUCCESS; },
                                 gemm<double>,
                                 gemm<float>,
                                 gemm_batched,
                                 syrk,
                                 trsm,
                                 trmm};
  return table;
}

const SolverLibrary& solver_library() {
  static const SolverLibrary table{
      [](cusolverDnHandle_t*) { return CUSOLVER_STATUS_SUCCESS; },
      [](cusolverDnHandle_t) { return CUSOLVER_STATUS_SUCCESS; },
      [](cusolverDnHandle_t, cudaStream_t) { return CUSOLVER_STATUS_SUCCESS; },
      [](cusolverDnParams_t*) { return CUSOLVER_STATUS_SUCCESS; },
      [](cusolverDnParams_t) { return CUSOLVER_STATUS_SUCCESS; },
      [](cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, cublasFillMode_t, std::int64_t,
         cudaDataType, const void*, std::int64_t, cudaDataType, const void*, cudaDataType,
         std::size_t* on_device, std::size_t* on_host, std::int64_t) {
        *on_device = *on_host = 0;
        return CUSOLVER_STATUS_SUCCESS;
      },
      [](cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, cublasFillMode_t, std::int64_t n,
         cudaDataType, void* a, std::int64_t, cudaDataType, void* values, cudaDataType, void*, std::size_t,
         void*, std::size_t, int* info, std::int64_t count) {
        enqueue([=] {
          for (std::int64_t i = 0; i < count; ++i)
            eigenvectors(static_cast<int>(n), static_cast<double*>(a) + i * n * n,
                         static_cast<double*>(values) + i * n, info + i);
        });
        return CUSOLVER_STATUS_SUCCESS;
      },
      [](cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, std::int64_t, cudaDataType, const void*,
         std::int64_t, cudaDataType, std::size_t* on_device, std::size_t* on_host) {
        *on_device = *on_host = 0;
        return CUSOLVER_STATUS_SUCCESS;
      },
      // The upper triangle of a column-major matrix is the lower one of a row-major matrix. The other one is
      // left alone.
      [](cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, std::int64_t n, cudaDataType, void* a,
         std::int64_t, cudaDataType, void*, std::size_t, void*, std::size_t, int* info) {
        const auto d = static_cast<std::size_t>(n);
        auto* const matrix = static_cast<double*>(a);
        std::vector<double> factor(matrix, matrix + d * d);
        *info = !lather::linalg::cholesky({factor.data(), d, d});
        for (std::size_t i = 0; i < d; ++i) std::copy_n(factor.data() + i * d, i + 1, matrix + i * d);
        return CUSOLVER_STATUS_SUCCESS;
      },
      [](cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, std::int64_t n, std::int64_t, cudaDataType,
         const void* a, std::int64_t, cudaDataType, void* b, std::int64_t, int* info) {
        const auto d = static_cast<std::size_t>(n);
        lather::linalg::cholesky_solve({static_cast<const double*>(a), d, d}, {static_cast<double*>(b), d});
        *info = 0;
        return CUSOLVER_STATUS_SUCCESS;
      }};
  return table;
}

const RtcLibrary& rtc_library() {
  static const RtcLibrary table{
      [](int* major, int* minor) {
        *major = 0, *minor = 0;
        return NVRTC_SUCCESS;
      },
      [](nvrtcProgram* p, const char* text, const char*, int headers, const char* const* texts,
         const char* const* names) {
        *p = reinterpret_cast<nvrtcProgram>(1);
        source.text = text;
        source.header_names.assign(names, names + headers);
        source.header_texts.assign(texts, texts + headers);
        return NVRTC_SUCCESS;
      },
      [](nvrtcProgram*) { return NVRTC_SUCCESS; },
      [](nvrtcProgram, int count, const char* const* options) {
        if (!real_compiler_takes(count, options)) return NVRTC_ERROR_COMPILATION;
        char folder[] = "/tmp/lather-emulator-XXXXXX";
        if (!mkdtemp(folder)) return NVRTC_ERROR_COMPILATION;
        compiled_path = std::string(folder) + "/kernels.so";
        for (std::size_t k = 0; k < source.header_names.size(); ++k)
          write(std::string(folder) + "/" + source.header_names[k], "", source.header_texts[k]);
        write(std::string(folder) + "/kernels.cpp", kShim, source.text);
        const std::string command = "c++ -std=c++20 -O0 -w -shared -fPIC -I" + std::string(folder) + " -o " +
                                    compiled_path + " " + folder + "/kernels.cpp";
        return std::system(command.c_str()) == 0 ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
      },
      [](nvrtcProgram, std::size_t* size) {
        *size = 1;
        return NVRTC_SUCCESS;
      },
      [](nvrtcProgram, char* log) {
        *log = 0;
        return NVRTC_SUCCESS;
      },
      [](nvrtcProgram, std::size_t* size) {
        *size = compiled_path.size() + 1;
        return NVRTC_SUCCESS;
      },
      [](nvrtcProgram, char* code) {
        std::strcpy(code, compiled_path.c_str());
        return NVRTC_SUCCESS;
      }};
  return table;
}

}  // namespace lather::cuda

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  std::memset(p, 0, sizeof *p);
  std::strcpy(p->name, "emulated device");
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0;  // kernels are compiled for sm_90
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const char* bytes = std::getenv("LATHER_EMULATED_BYTES");
  *free = *total = bytes ? std::strtoull(bytes, nullptr, 10) : std::size_t(1) << 30;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "error of the emulated device"; }

cudaError_t cudaMalloc(void** p, std::size_t size) {
  return (*p = std::malloc(size)) ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void* p) {
  std::free(p);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** p, std::size_t size) { return cudaMalloc(p, size); }
cudaError_t cudaFreeHost(void* p) { return cudaFree(p); }
cudaError_t cudaMemset(void* p, int value, std::size_t size) {
  std::memset(p, value, size);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind) {
  std::memcpy(to, from, size);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind, cudaStream_t) {
  enqueue([=] { std::memcpy(to, from, size); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  *s = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  *e = nullptr;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  void* handle = dlopen(static_cast<const char*>(code), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return cudaErrorInvalidValue;
  *library = reinterpret_cast<cudaLibrary_t>(new Library{handle});
  return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  delete reinterpret_cast<Library*>(library);
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  static std::vector<std::unique_ptr<Kernel>> kernels;
  void* handle = reinterpret_cast<Library*>(library)->handle;
  const auto index = [&](const char* symbol) { return static_cast<Index*>(dlsym(handle, symbol)); };
  auto k = std::make_unique<Kernel>(Kernel{reinterpret_cast<void (*)(const void*)>(dlsym(handle, name)),
                                           index("threadIdx"), index("blockIdx"), index("blockDim"),
                                           index("gridDim")});
  if (!k->function) return cudaErrorInvalidValue;
  *static_cast<void (**)()>(dlsym(handle, "emulator_block_barrier")) = Block::block_barrier;
  *static_cast<void (**)()>(dlsym(handle, "emulator_warp_barrier")) = Block::warp_barrier;
  *kernel = reinterpret_cast<cudaKernel_t>(kernels.emplace_back(std::move(k)).get());
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t,
                             cudaStream_t) {
  std::vector<char> parameter(kParameterBytes);
  std::memcpy(parameter.data(), arguments[0], kParameterBytes);
  enqueue([=, parameter = std::move(parameter)] {
    launch(*static_cast<const Kernel*>(function), grid, block, parameter.data());
  });
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  capture = new Work;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = reinterpret_cast<cudaGraph_t>(std::exchange(capture, nullptr));
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, std::size_t* count) {
  *count = reinterpret_cast<Work*>(graph)->size();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = reinterpret_cast<cudaGraphExec_t>(new Work(*reinterpret_cast<Work*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Work*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete reinterpret_cast<Work*>(executable);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t) {
  for (const auto& work : *reinterpret_cast<Work*>(executable)) work();
  return cudaSuccess;
}

}  // extern "C"
