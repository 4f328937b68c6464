#include "lather/net/activation.hpp"

#include <numbers>

namespace lather::net {

symbolic::Expr activation_value(ActivationName activation, symbolic::Expr z) {
  switch (activation) {
    case ActivationName::tanh: return tanh(z);
    case ActivationName::sin: return sin(z);
    case ActivationName::versine: {  // 1 - cos z, accurate to the last digit for small z
      const symbolic::Expr s = sin(0.5 * z);
      return 2.0 * s * s;
    }
    case ActivationName::swish: return z * sigmoid(z);
    case ActivationName::gelu: return 0.5 * z * (1.0 + erf(z / std::numbers::sqrt2));
    default: return softplus(z);
  }
}

}  // namespace lather::net
