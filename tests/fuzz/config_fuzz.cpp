// libFuzzer on config.json of run folders; run by tests/hostile/readers.sh.
#include "targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  lather::testing::try_config_text({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
