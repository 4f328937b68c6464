#include "lather/core/cuda/kernel_module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "lather/core/cache_folder.hpp"
#include "lather/core/cuda/kernel_files.hpp"
#include "lather/core/error.hpp"
#include "lather/core/version.hpp"

namespace lather::cuda {

namespace {

namespace fs = std::filesystem;

void check_rtc(nvrtcResult status, const char* what) {
  if (status != NVRTC_SUCCESS)
    throw Error(fmt::format("NVRTC: {} failed with status {}", what, static_cast<int>(status)));
}

// FNV-1a; two different starting values make 128 bits.
std::uint64_t hash(const std::string& text, std::uint64_t h) {
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3ull;
  return h;
}

// The cache is a convenience: without one, kernels are compiled each time.
std::optional<CacheFolder> open_cache() {
  const fs::path folder = default_cache_folder();
  if (folder.empty()) return {};
  try {
    return CacheFolder(folder);
  } catch (const Error&) {  // `lather doctor` says why
    return {};
  }
}

// The embedded files that a source includes, and those that they include.
void collect_files(const std::string& source, std::vector<KernelFile>& found) {
  static const std::string kInclude = "#include \"";
  for (std::size_t at = source.find(kInclude); at != std::string::npos; at = source.find(kInclude, at)) {
    at += kInclude.size();
    const std::string name = source.substr(at, source.find('"', at) - at);
    const auto named = [&](const KernelFile& file) { return file.name == name; };
    if (std::any_of(found.begin(), found.end(), named)) continue;
    const auto files = kernel_files();
    const auto file = std::find_if(files.begin(), files.end(), named);
    if (file == files.end()) throw Error(fmt::format("a kernel includes {}, which is not embedded", name));
    found.push_back(*file);
    collect_files(file->text, found);
  }
}
std::vector<KernelFile> included_files(const std::string& source) {
  std::vector<KernelFile> found;
  collect_files(source, found);
  return found;
}

std::string cache_file(const std::string& source, const std::string& architecture) {
  int major = 0, minor = 0;
  check_rtc(rtc_library().version(&major, &minor), "nvrtcVersion");
  std::string key = fmt::format("{} {} {}.{}\n{}", version(), architecture, major, minor, source);
  for (const KernelFile& file : included_files(source)) key += file.text;
  return fmt::format("{:016x}{:016x}.cubin", hash(key, 0xcbf29ce484222325ull),
                     hash(key, 0x84222325cbf29ce4ull));
}

// Empty: it is not there, or cannot be used.
std::string code_in(const std::optional<CacheFolder>& cache, const std::string& file) {
  try {
    return cache && cache->holds(file) ? cache->read(file) : "";
  } catch (const Error&) {
    return "";
  }
}

void keep_code(const std::optional<CacheFolder>& cache, const std::string& file, const std::string& code) {
  try {
    if (cache) cache->write(file, code);
  } catch (const Error&) {  // a full disk is no reason not to train
  }
}

// Concurrent trainings need the same kernels at the same time: one compiles them, the others find them in the
// cache.
std::shared_ptr<std::mutex> lock_of(const std::string& file) {
  static std::mutex guard;
  static std::map<std::string, std::shared_ptr<std::mutex>> locks;
  const std::lock_guard lock(guard);
  auto& found = locks[file];
  if (!found) found = std::make_shared<std::mutex>();
  return found;
}

}  // namespace

std::string compile(const std::string& source, const std::string& architecture) {
  const RtcLibrary& rtc = rtc_library();
  nvrtcProgram program = nullptr;
  std::vector<const char*> names, texts;
  for (const KernelFile& file : included_files(source)) {
    names.push_back(file.name);
    texts.push_back(file.text);
  }
  check_rtc(rtc.create(&program, source.c_str(), "lather.cu", static_cast<int>(names.size()), texts.data(),
                       names.data()),
            "nvrtcCreateProgram");
  const std::string target = "--gpu-architecture=" + architecture;
  const char* options[] = {target.c_str(), "--std=c++17", "--extra-device-vectorization"};
  const nvrtcResult status = rtc.compile(program, std::size(options), options);
  if (status != NVRTC_SUCCESS) {
    std::size_t size = 0;
    rtc.log_size(program, &size);
    std::string log(size, '\0');
    rtc.log(program, log.data());
    rtc.destroy(&program);
    throw Error(fmt::format("NVRTC could not compile a generated kernel:\n{}\n{}", log.c_str(), source));
  }
  std::size_t size = 0;
  check_rtc(rtc.cubin_size(program, &size), "nvrtcGetCUBINSize");
  std::string code(size, '\0');
  check_rtc(rtc.cubin(program, code.data()), "nvrtcGetCUBIN");
  rtc.destroy(&program);
  return code;
}

KernelModule::KernelModule(const std::string& source) {
  int device = 0, major = 0, minor = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  const std::string architecture = fmt::format("sm_{}{}", major, minor);
  const auto cache = open_cache();
  const std::string file = cache ? cache_file(source, architecture) : "";
  const auto mutex = lock_of(file);
  const std::lock_guard lock(*mutex);
  if (const std::string code = code_in(cache, file); !code.empty()) {
    const auto loading = alone();
    if (cudaLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) == cudaSuccess)
      return;
    cudaGetLastError();  // a damaged file: compile again
  }
  const std::string code = compile(source, architecture);
  const auto loading = alone();
  check(cudaLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  keep_code(cache, file, code);
}

KernelModule::~KernelModule() {
  if (!library_) return;
  const auto lock = alone();
  cudaLibraryUnload(library_);
}

cudaKernel_t KernelModule::kernel(const std::string& name) const {
  cudaKernel_t kernel = nullptr;
  check(cudaLibraryGetKernel(&kernel, library_, name.c_str()));
  return kernel;
}

void KernelModule::set_bytes(const std::string& name, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  void* variable = nullptr;
  std::size_t size = 0;
  check(cudaLibraryGetGlobal(&variable, &size, library_, name.c_str()));
  if (size < bytes.size())
    throw Error(
        fmt::format("a kernel's variable '{}' has {} bytes and should take {}", name, size, bytes.size()));
  check(cudaMemcpy(variable, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
}

void Parameter::throw_too_large() {
  throw Error(
      "device cuda: a problem with this many point sets needs kernels with more parameters than CUDA allows");
}

void launch(cudaKernel_t kernel, const Launch& shape, const Parameter& parameter, cudaStream_t stream) {
  void* arguments[] = {const_cast<void*>(parameter.data())};
  check(
      cudaLaunchKernel(reinterpret_cast<const void*>(kernel), shape.grid, shape.block, arguments, 0, stream));
}

}  // namespace lather::cuda
