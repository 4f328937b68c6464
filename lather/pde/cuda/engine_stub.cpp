#include "lather/core/device.hpp"
#include "lather/core/error.hpp"
#include "lather/pde/engine/engine.hpp"

namespace lather::pde {

std::unique_ptr<Engine> make_cuda_engine(const Problem&, const EngineOptions&) {
  throw Error("device cuda: " + cuda_report().text);
}

}  // namespace lather::pde
