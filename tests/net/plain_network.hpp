#pragma once
// The networks, written out as plainly as possible over any number type: the specification of lather/net.

#include <stdexcept>
#include <string>
#include <vector>

#include "lather/net/architecture.hpp"
#include "taylor.hpp"

namespace lather::test {

template <class Real>
class PlainNetwork {
 public:
  using Number = Taylor<Real>;
  using Vector = std::vector<Number>;

  PlainNetwork(const net::NetworkOptions& options, const net::Tape& tape, std::vector<Real> parameters,
               std::vector<double> frozen)
      : options_(options), tape_(tape), parameters_(std::move(parameters)), frozen_(std::move(frozen)) {}

  Vector operator()(const Vector& inputs) const {
    if (options_.networks == 1) return network(inputs);
    Vector all;
    for (int k = 1; k <= options_.networks; ++k) {
      prefix_ = "network" + std::to_string(k) + ".";
      for (const auto& y : network(inputs)) all.push_back(y);
    }
    return all;
  }

 private:
  Vector network(const Vector& inputs) const {
    using net::NetworkType;
    Vector x = embedded(inputs);
    Vector u, v;
    if (options_.type != NetworkType::mlp) {
      u = layer(x, "gate_u");
      v = layer(x, "gate_v");
    }
    const auto gate = [&](const Vector& f) {
      Vector h;
      for (std::size_t j = 0; j < f.size(); ++j) h.push_back(f[j] * u[j] + (Number(Real(1)) - f[j]) * v[j]);
      return h;
    };
    for (int i = 1; i <= options_.depth; ++i) {
      if (options_.type == NetworkType::mlp) {
        x = layer(x, "layer" + std::to_string(i));
      } else if (options_.type == NetworkType::modified_mlp) {
        x = gate(layer(x, "layer" + std::to_string(i)));
      } else {
        const std::string block = "block" + std::to_string(i);
        const Vector f = gate(layer(x, block + ".1"));
        const Vector g = gate(layer(f, block + ".2"));
        const Vector r = layer(g, block + ".3");
        const Number alpha(at(block + ".alpha", 0));
        Vector next;
        for (std::size_t j = 0; j < x.size(); ++j)
          next.push_back(alpha * r[j] + (Number(Real(1)) - alpha) * x[j]);
        x = next;
      }
    }
    if (options_.skip) x.insert(x.end(), inputs.begin(), inputs.end());
    return dense(x, "output");
  }

  Vector layer(const Vector& in, const std::string& name) const {
    Vector z = dense(in, name);
    const Real frequency =
        options_.frequency_trainable ? at(name + ".frequency", 0) : Real(options_.frequency);
    for (auto& a : z) a = Number(frequency) * a;
    return activated(z);
  }

  Vector embedded(const Vector& inputs) const {
    if (options_.fourier_features == 0) return inputs;
    const Vector z = dense(inputs, "fourier");
    Vector features;
    for (const auto& a : z) features.push_back(compose(shift_quarter(sin_series(a.value()), a.value()), a));
    for (const auto& a : z) features.push_back(compose(sin_series(a.value()), a));
    return features;
  }
  // cos(a) = sin(a + pi/2)
  static std::vector<Real> shift_quarter(const std::vector<Real>&, Real a) {
    const Real pi = Real(4) * atan(Real(1));
    return sin_series(a + pi / Real(2));
  }

  Vector activated(const Vector& z) const {
    Vector out;
    for (const auto& a : z) {
      switch (options_.activation) {
        case net::ActivationName::tanh: out.push_back(compose(tanh_series(a.value()), a)); break;
        case net::ActivationName::sin: out.push_back(compose(sin_series(a.value()), a)); break;
        case net::ActivationName::versine: out.push_back(compose(versine_series(a.value()), a)); break;
        case net::ActivationName::swish: out.push_back(compose(swish_series(a.value()), a)); break;
        case net::ActivationName::gelu: out.push_back(compose(gelu_series(a.value()), a)); break;
        default: out.push_back(compose(softplus_series(a.value()), a));
      }
    }
    return out;
  }

  const optim::ParameterBlock* find(const optim::ParameterLayout& layout, const std::string& name) const {
    for (const auto& block : layout.blocks())
      if (block.name == prefix_ + name) return &block;
    return nullptr;
  }
  Real at(const std::string& name, std::size_t i) const {
    if (const auto* block = find(tape_.parameters(), name)) return parameters_[block->offset + i];
    if (const auto* block = find(tape_.frozen(), name)) return Real(frozen_[block->offset + i]);
    throw std::runtime_error("no block " + name);
  }
  bool has(const std::string& name) const {
    return find(tape_.parameters(), name) || find(tape_.frozen(), name);
  }

  Vector dense(const Vector& in, const std::string& name) const {
    const auto* block = find(tape_.parameters(), name + ".weight");
    if (!block) block = find(tape_.frozen(), name + ".weight");
    Vector out;
    for (std::size_t j = 0; j < block->cols; ++j) {
      Number sum(has(name + ".bias") ? at(name + ".bias", j) : Real(0));
      for (std::size_t i = 0; i < block->rows; ++i) {
        Real w = at(name + ".weight", i * block->cols + j);
        if (has(name + ".scale")) w = w * at(name + ".scale", j);
        sum = sum + Number(w) * in[i];
      }
      out.push_back(sum);
    }
    return out;
  }

  net::NetworkOptions options_;
  const net::Tape& tape_;
  std::vector<Real> parameters_;
  std::vector<double> frozen_;
  mutable std::string prefix_;  // of the names of the network that is evaluated
};

}  // namespace lather::test
