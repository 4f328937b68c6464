#include "lather/optim/quasi_newton/inverse_hessian.hpp"
#include "lather/optim/quasi_newton/secant_history.hpp"

namespace lather::optim {

std::size_t device_memory_bytes() { return 0; }
std::unique_ptr<InverseHessian> make_device_inverse_hessian(std::size_t) { return nullptr; }
std::unique_ptr<DeviceSecants> make_device_secants(std::size_t, std::size_t) { return nullptr; }

}  // namespace lather::optim
