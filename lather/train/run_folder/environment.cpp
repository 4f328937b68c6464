#include "lather/train/run_folder/environment.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lather/core/device.hpp"
#include "lather/core/memory.hpp"
#include "lather/core/threads.hpp"
#include "lather/core/version.hpp"
#include "lather/linalg/simd.hpp"

#include LATHER_COMMIT_HEADER

namespace lather::train {

namespace fs = std::filesystem;

namespace {

// The value of the first line "key : value" of a file under /proc.
std::string proc_value(const char* file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(key))
      if (const auto colon = line.find(':'); colon != std::string::npos) {
        const auto begin = line.find_first_not_of(" \t", colon + 1);
        return begin == std::string::npos ? "" : line.substr(begin);
      }
  return "";
}

void find_cpu(Environment& e) {
  e.cpu = proc_value("/proc/cpuinfo", "model name");
  e.cores = available_cores();
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse2")) e.instruction_sets.push_back("sse2"), e.widest_doubles = 2;
  if (__builtin_cpu_supports("avx2")) e.instruction_sets.push_back("avx2"), e.widest_doubles = 4;
  if (__builtin_cpu_supports("fma")) e.instruction_sets.push_back("fma");
  if (__builtin_cpu_supports("avx512f")) e.instruction_sets.push_back("avx512f"), e.widest_doubles = 8;
  if (__builtin_cpu_supports("avx512dq")) e.instruction_sets.push_back("avx512dq");
#endif
  e.vector_doubles = static_cast<int>(linalg::kLanes<double>);
}

void find_gpus(Environment& e) {
  std::error_code status;
  for (const auto& entry : fs::directory_iterator("/proc/driver/nvidia/gpus", status))
    e.gpus.push_back(proc_value((entry.path() / "information").c_str(), "Model"));
  e.gpu_driver = proc_value("/proc/driver/nvidia/version", "NVRM version");
  e.cuda = cuda_report().text;
}

}  // namespace

Environment find_environment() {
  Environment e;
  e.version = version();
  e.commit = LATHER_COMMIT;
  e.compiler = fmt::format("{} {}",
#if defined(__clang__)
                           "Clang",
#else
                           "GCC",
#endif
                           __VERSION__);
  e.build = LATHER_BUILD;
  find_cpu(e);
  find_gpus(e);
  e.memory_gib = physical_memory_bytes() / kGiB;
  utsname system{};
  if (::uname(&system) == 0) {
    e.host = system.nodename;
    e.system = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  }
  return e;
}

nlohmann::json to_json(const Environment& e) {
  return {{"version", e.version},
          {"commit", e.commit},
          {"compiler", e.compiler},
          {"build", e.build},
          {"cpu", e.cpu},
          {"host", e.host},
          {"system", e.system},
          {"instruction_sets", e.instruction_sets},
          {"vector_doubles", e.vector_doubles},
          {"widest_doubles", e.widest_doubles},
          {"cores", e.cores},
          {"memory_gib", e.memory_gib},
          {"gpus", e.gpus},
          {"gpu_driver", e.gpu_driver},
          {"cuda", e.cuda}};
}

}  // namespace lather::train
