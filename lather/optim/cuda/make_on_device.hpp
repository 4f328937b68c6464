#pragma once
// Methods that can live on the GPU. Each function returns null if this program was built without CUDA, or if
// the options ask for something that only the host does; the method then runs on the host with gradients from
// the device.

#include <memory>

#include "lather/optim/first_order/adam.hpp"
#include "lather/optim/first_order/multiadam.hpp"
#include "lather/optim/first_order/muon.hpp"
#include "lather/optim/first_order/sgd.hpp"
#include "lather/optim/kronecker/purifying_shampoo.hpp"
#include "lather/optim/kronecker/shampoo.hpp"
#include "lather/optim/kronecker/soap.hpp"
#include "lather/optim/kronecker/ss_esoap_options.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const AdamOptions& options);
std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const SsEsoapOptions& options);
std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const SoapOptions& options);
std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout,
                                          const PurifyingShampooOptions& options);
std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const SgdOptions& options);
std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const MuonOptions& options);
std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const ShampooOptions& options);
std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const MultiAdamOptions& options);

}  // namespace lather::optim
