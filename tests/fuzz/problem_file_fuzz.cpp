// libFuzzer on problem files and --set; run by tests/hostile/readers.sh.
#include <unistd.h>

#include "targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  static const std::filesystem::path file = "/dev/shm/lather-fuzz-" + std::to_string(::getpid()) + ".toml";
  lather::testing::try_problem_text({reinterpret_cast<const char*>(bytes), size}, file);
  return 0;
}
