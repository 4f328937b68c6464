#include "lather/optim/cuda/make_on_device.hpp"

namespace lather::optim {

std::unique_ptr<Optimizer> make_on_device(const ParameterLayout&, const AdamOptions&) { return nullptr; }
std::unique_ptr<Optimizer> make_on_device(const ParameterLayout&, const SsEsoapOptions&) { return nullptr; }
std::unique_ptr<Optimizer> make_on_device(const ParameterLayout&, const SoapOptions&) { return nullptr; }
std::unique_ptr<Optimizer> make_on_device(const ParameterLayout&, const PurifyingShampooOptions&) {
  return nullptr;
}
std::unique_ptr<Optimizer> make_on_device(const ParameterLayout&, const SgdOptions&) { return nullptr; }
std::unique_ptr<Optimizer> make_on_device(const ParameterLayout&, const MuonOptions&) { return nullptr; }
std::unique_ptr<Optimizer> make_on_device(const ParameterLayout&, const ShampooOptions&) { return nullptr; }
std::unique_ptr<Optimizer> make_on_device(const ParameterLayout&, const MultiAdamOptions&) { return nullptr; }

}  // namespace lather::optim
