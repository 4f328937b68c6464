// NVRTC of the emulated device: kernel source is compiled by the C++ compiler
// into a shared library, whose path is the "code". If the toolkit's own compiler is
// installed (it needs no GPU), it must accept the text too.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "emulator.hpp"
#include "lather/core/cuda/runtime.hpp"

namespace lather::emulator {
int programs_compiled = 0;
}

namespace lather::cuda {

namespace {

std::string compiled_path;  // of the last program

// A kernel's parameter becomes a reference here: blocks share it.
void write(const std::filesystem::path& file, const std::string& text) {
  static const std::regex parameter(R"(const __grid_constant__ (\w+) (\w+)\))");
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << std::regex_replace(text, parameter, "const $1& $2)");
}

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
        ++emulator::programs_compiled;
        if (!real_compiler_takes(count, options)) return NVRTC_ERROR_COMPILATION;
        char folder[] = "/tmp/lather-emulator-XXXXXX";
        if (!mkdtemp(folder)) return NVRTC_ERROR_COMPILATION;
        compiled_path = std::string(folder) + "/kernels.so";
        for (std::size_t k = 0; k < source.header_names.size(); ++k)
          write(std::string(folder) + "/" + source.header_names[k], source.header_texts[k]);
        write(std::string(folder) + "/kernels.cpp", source.text);
        const std::string command = "c++ -std=c++20 -O0 -w -shared -fPIC -include " LATHER_KERNEL_SHIM " -I" +
                                    std::string(folder) + " -o " + compiled_path + " " + folder +
                                    "/kernels.cpp";
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
