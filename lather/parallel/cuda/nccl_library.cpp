#include "lather/parallel/cuda/nccl_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "lather/core/error.hpp"

namespace lather::parallel {

const NcclLibrary& nccl_library() {
  static const NcclLibrary table = [] {
    constexpr const char* kName = "libnccl.so.2";
    const char* given = std::getenv("LATHER_NCCL");
    std::vector<std::string> places{given ? given : kName};
    if (!given) places.push_back(fmt::format("{}/{}", LATHER_CUDA_LIBRARY_DIR, kName));
    void* library = nullptr;
    for (const auto& place : places)
      if ((library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL))) break;
    if (!library)
      throw Error(fmt::format(
          "NCCL was not found ({}); install it and add its folder to LD_LIBRARY_PATH, or name the file in "
          "LATHER_NCCL",
          ::dlerror()));
    NcclLibrary t;
    const auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
      if (!function)
        throw Error(fmt::format("'{}' is not NCCL, or too old: it has no {}", given ? given : kName, symbol));
    };
    find(t.version, "ncclGetVersion");
    find(t.error, "ncclGetErrorString");
    find(t.make_id, "ncclGetUniqueId");
    find(t.join, "ncclCommInitRank");
    find(t.abort, "ncclCommAbort");
    find(t.begin_group, "ncclGroupStart");
    find(t.end_group, "ncclGroupEnd");
    find(t.send, "ncclSend");
    find(t.receive, "ncclRecv");
    find(t.sum, "ncclAllReduce");
    return t;
  }();
  return table;
}

}  // namespace lather::parallel
