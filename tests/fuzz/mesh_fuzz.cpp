// libFuzzer on meshes; run by tests/hostile/readers.sh.
#include "targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  lather::testing::try_mesh({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
