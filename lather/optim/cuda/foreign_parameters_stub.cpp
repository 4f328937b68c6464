#include "lather/core/error.hpp"
#include "lather/optim/foreign_parameters.hpp"

namespace lather::optim {

std::unique_ptr<ForeignParameters> make_foreign_parameters_on_device(const ParameterLayout&) {
  throw Error("device cuda: " + cuda_report().text);
}

double gradient_on_device(Objective&, const double*, double*, void*) {
  throw Error("device cuda: " + cuda_report().text);
}

}  // namespace lather::optim
