#pragma once
// Activations, written once as values; their derivatives are derived.

#include "lather/net/architecture.hpp"

namespace lather::net {

symbolic::Expr activation_value(ActivationName activation, symbolic::Expr z);

}  // namespace lather::net
