// cuBLAS, cuSOLVER and NVRTC, loaded at first use.
#include <dlfcn.h>
#include <fmt/format.h>

#include "lather/core/cuda/runtime.hpp"
#include "lather/core/error.hpp"

namespace lather::cuda {

namespace {

// The library from the system's search path, or from the toolkit this program was built with.
class SharedLibrary {
 public:
  explicit SharedLibrary(const char* name) : name_(name) {
    for (const std::string& path : {std::string(name), fmt::format("{}/{}", LATHER_CUDA_LIBRARY_DIR, name)})
      if ((handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))) return;
    throw Error(
        fmt::format("CUDA: {} was not found ({}); add its folder to LD_LIBRARY_PATH", name, dlerror()));
  }
  template <class Function>
  void find(Function& function, const char* symbol) const {
    function = reinterpret_cast<Function>(dlsym(handle_, symbol));
    if (!function) throw Error(fmt::format("CUDA: {} has no {}", name_, symbol));
  }

 private:
  std::string name_;
  void* handle_ = nullptr;  // stays open until the program ends
};

// Library headers map names to versioned symbols with macros: the second macro sees the mapped name.
#define LATHER_STRING(text) #text
#define LATHER_FIND(member, function) library.find(member, LATHER_STRING(function))

}  // namespace

const BlasLibrary& blas_library() {
  static const BlasLibrary table = [] {
    const SharedLibrary library(fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR).c_str());
    BlasLibrary t;
    LATHER_FIND(t.create, cublasCreate);
    LATHER_FIND(t.destroy, cublasDestroy);
    LATHER_FIND(t.set_stream, cublasSetStream);
    LATHER_FIND(t.set_workspace, cublasSetWorkspace);
    LATHER_FIND(t.dgemm, cublasDgemm);
    LATHER_FIND(t.sgemm, cublasSgemm);
    LATHER_FIND(t.dgemm_batched, cublasDgemmBatched);
    LATHER_FIND(t.dgemv, cublasDgemv);
    LATHER_FIND(t.dsyrk, cublasDsyrk);
    LATHER_FIND(t.dtrsm, cublasDtrsm);
    LATHER_FIND(t.dtrsv, cublasDtrsv);
    LATHER_FIND(t.dtrmm, cublasDtrmm);
    return t;
  }();
  return table;
}

const SolverLibrary& solver_library() {
  static const SolverLibrary table = [] {
    const SharedLibrary library(fmt::format("libcusolver.so.{}", CUSOLVER_VER_MAJOR).c_str());
    SolverLibrary t;
    LATHER_FIND(t.create, cusolverDnCreate);
    LATHER_FIND(t.destroy, cusolverDnDestroy);
    LATHER_FIND(t.set_stream, cusolverDnSetStream);
    LATHER_FIND(t.create_params, cusolverDnCreateParams);
    LATHER_FIND(t.destroy_params, cusolverDnDestroyParams);
    LATHER_FIND(t.syev_batched_size, cusolverDnXsyevBatched_bufferSize);
    LATHER_FIND(t.syev_batched, cusolverDnXsyevBatched);
    LATHER_FIND(t.potrs, cusolverDnXpotrs);
    return t;
  }();
  return table;
}

const RtcLibrary& rtc_library() {
  static const RtcLibrary table = [] {
    const SharedLibrary library(fmt::format("libnvrtc.so.{}", CUDART_VERSION / 1000).c_str());
    RtcLibrary t;
    LATHER_FIND(t.version, nvrtcVersion);
    LATHER_FIND(t.create, nvrtcCreateProgram);
    LATHER_FIND(t.destroy, nvrtcDestroyProgram);
    LATHER_FIND(t.compile, nvrtcCompileProgram);
    LATHER_FIND(t.log_size, nvrtcGetProgramLogSize);
    LATHER_FIND(t.log, nvrtcGetProgramLog);
    LATHER_FIND(t.cubin_size, nvrtcGetCUBINSize);
    LATHER_FIND(t.cubin, nvrtcGetCUBIN);
    return t;
  }();
  return table;
}

}  // namespace lather::cuda
