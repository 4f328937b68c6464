// libFuzzer on the cache of references; run by tests/hostile/readers.sh.
#include <unistd.h>

#include "targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  static const std::filesystem::path folder = "/dev/shm/lather-fuzz-" + std::to_string(::getpid());
  lather::testing::try_reference_cache({reinterpret_cast<const char*>(bytes), size}, folder);
  return 0;
}
