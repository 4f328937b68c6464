#include "lather/net/architecture.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "lather/core/error.hpp"
#include "lather/net/activation.hpp"

namespace lather::net {

using optim::Role;
using symbolic::Expr;

void NetworkOptions::fields(FieldVisitor& v) {
  v.choice("type", type, "architecture",
           {{"mlp", NetworkType::mlp},
            {"modified-mlp", NetworkType::modified_mlp},
            {"piratenet", NetworkType::piratenet}});
  v.integer("width", width, "neurons per hidden layer", between(1, 1'000'000));
  v.integer("depth", depth, "hidden layers; for PirateNet, residual blocks of three layers",
            between(1, 1000));
  v.integer("networks", networks,
            "networks side by side, each for an equal share of the outputs in their order: one per subdomain",
            between(1, 64));
  v.choice("activation", activation, "nonlinearity",
           {{"tanh", ActivationName::tanh},
            {"sin", ActivationName::sin},
            {"versine", ActivationName::versine},
            {"swish", ActivationName::swish},
            {"gelu", ActivationName::gelu},
            {"softplus", ActivationName::softplus}});
  v.real("frequency", frequency, "hidden layers are activation(frequency * z): the frequency of sines",
         positive());
  v.boolean("frequency_trainable", frequency_trainable,
            "train the frequency too, one per hidden layer, from the given one");
  v.boolean("skip", skip, "the inputs go to the output layer too: a linear function beside the network");
  v.choice(
      "initialization", initialization,
      "normal weights of variance 2/(in+out) or 1/in; features: weights and biases of hidden layers "
      "uniform at the scale of the solution (with output_fit=all a start for lm); siren: uniform weights "
      "that keep sines of the given frequency in their range",
      {{"glorot", Initialization::glorot},
       {"lecun", Initialization::lecun},
       {"features", Initialization::features},
       {"siren", Initialization::siren}});
  v.real("feature_scale", feature_scale,
         "features: weights and biases are uniform within this times sqrt(2 / inputs of the layer)",
         positive());
  v.reals(
      "input_scales", input_scales,
      "features: factors of the first layer's weights, one per input of the network (a periodic coordinate "
      "has two)");
  v.choice("train", train,
           "which layers are trained; output: hidden layers keep the weights they were drawn with, and `lm` "
           "becomes Gauss-Newton on the output layer",
           {{"all", TrainedLayers::all}, {"output", TrainedLayers::output}});
  v.integer("fourier_features", fourier_features,
            "cosines and sines of random projections of the inputs, together; 0: none", between(0, 16384));
  v.real("fourier_scale", fourier_scale, "standard deviation of the random projections", positive());
  v.boolean("fourier_trainable", fourier_trainable, "train the projections too");
  v.boolean("weight_factorization", weight_factorization,
            "random weight factorization: W = V diag(g), both trained");
  v.real("factorization_mean", factorization_mean, "mean of log g at the start");
  v.real("factorization_deviation", factorization_deviation, "standard deviation of log g at the start",
         non_negative());
  v.choice("output_fit", output_fit,
           "least-squares start of the last layer: on no terms, on the conditions and data, or on all terms",
           {{"none", OutputFit::none}, {"conditions", OutputFit::conditions}, {"all", OutputFit::all}});
}

namespace {

class Builder {
 public:
  explicit Builder(int inputs) : tape_(inputs) {}

  // What follows belongs to this network; its names begin with the prefix.
  void begin(const NetworkOptions& options, std::string prefix, bool frozen = false) {
    options_ = options;
    prefix_ = std::move(prefix);
    frozen_ = frozen;
  }
  Value output(Value last, int outputs) {
    return dense(options_.skip ? with_inputs(last) : last, outputs, "output", Role::output);
  }

  Tape finish(Value output) {
    tape_.set_output(output);
    return std::move(tape_);
  }
  // Several outputs go side by side into one buffer and from there through an untrained matrix (see
  // initialize), so that the output of every network is that of one dense layer.
  Tape join(const std::vector<Value>& outputs, int joined) {
    int width = 0;
    for (const Value& v : outputs) width += v.width;
    const Value all = tape_.new_buffer(width);
    const Expr a = tape_.argument(0);
    int at = 0;
    for (const Value& v : outputs) {
      add({v}, Tape::columns(all, at, v.width), a, {a}, {});
      at += v.width;
    }
    return finish(
        tape_.dense(all, joined, {.name = "join", .role = Role::output, .bias = false, .frozen = true}));
  }

  // x -> [cos(x B), sin(x B)], B random.
  Value embedding() {
    const Value x = tape_.input();
    if (options_.fourier_features == 0) return x;
    const int half = static_cast<int>(options_.fourier_features / 2);
    const Value z = tape_.dense(x, half,
                                {.name = prefix_ + "fourier",
                                 .role = Role::input,
                                 .bias = false,
                                 .frozen = frozen_ || !options_.fourier_trainable});
    const Value features = tape_.new_buffer(2 * half);
    const Expr a = tape_.argument(0);
    tape_.pointwise({.in = {z},
                     .out = Tape::columns(features, 0, half),
                     .value = cos(a),
                     .arguments = {a},
                     .scalars = {},
                     .scalar_arguments = {},
                     .activation = {}});
    tape_.pointwise({.in = {z},
                     .out = Tape::columns(features, half, half),
                     .value = sin(a),
                     .arguments = {a},
                     .scalars = {},
                     .scalar_arguments = {},
                     .activation = {}});
    return features;
  }

  Value hidden(Value in, const std::string& name) {
    const Value z = dense(in, width(), name, role_of(in)), out = tape_.new_buffer(width());
    const Expr a = tape_.argument(0);
    const Activation s = activation(a, name);
    add({z}, out, s.value, {a}, s);
    return out;
  }

  // Two encoders U, V shared by all gates; V and D = U - V are kept.
  void make_gates(Value in) {
    const Value u = hidden(in, "gate_u");
    v_ = hidden(in, "gate_v");
    d_ = tape_.new_buffer(width());
    const Expr a = tape_.argument(0), b = tape_.argument(1);
    add({u, v_}, d_, a - b, {a, b}, {});
  }

  // f = s(z): f U + (1 - f) V = V + f D
  Value gated(Value in, const std::string& name) {
    const Value z = dense(in, width(), name, role_of(in));
    const Value out = tape_.new_buffer(width());
    const Expr a = tape_.argument(0), d = tape_.argument(1), v = tape_.argument(2);
    const Activation s = activation(a, name);
    add({z, d_, v_}, out, v + s.value * d, {a, d, v}, s);
    return out;
  }

  // alpha s(z) + (1 - alpha) x, alpha trained from 0: the block starts as the identity.
  Value adaptive_residual(Value in, Value skip, const std::string& name) {
    const Value z = dense(in, skip.width, name + ".3", Role::hidden);
    const Value out = tape_.new_buffer(skip.width);
    const Expr a = tape_.argument(0), x = tape_.argument(1), alpha = tape_.graph().symbol("alpha");
    const int block = tape_.scalar(prefix_ + name + ".alpha", Role::gate);
    Activation s = activation(a, name + ".3");
    s.scalars.push_back(block);
    s.scalar_arguments.push_back(alpha);
    add({z, skip}, out, x + alpha * (s.value - x), {a, x}, s);
    return out;
  }

 private:
  int width() const { return static_cast<int>(options_.width); }
  Role role_of(Value in) const { return in.buffer == 0 ? Role::input : Role::hidden; }

  Value dense(Value in, int width, const std::string& name, Role role) {
    return tape_.dense(
        in, width,
        {.name = prefix_ + name,
         .role = role,
         .frozen = frozen_ || (options_.train == TrainedLayers::output && role != Role::output),
         .factorized = options_.weight_factorization});
  }

  // s(a) of the named layer, or s(omega a): the expression that represents it in an operation's value, and
  // what the operation needs to know about it.
  struct Activation {
    Expr value;
    std::optional<symbolic::OpaqueFunction> opaque = {};
    std::vector<int> scalars = {};
    std::vector<Expr> scalar_arguments = {};
  };
  Activation activation(Expr a, const std::string& layer) {
    if (options_.frequency_trainable) {
      const Expr omega = tape_.graph().symbol("frequency");
      return {activation_value(options_.activation, omega * a),
              {},
              {tape_.scalar(prefix_ + layer + ".frequency", Role::gate)},
              {omega}};
    }
    if (options_.frequency != 1) return {activation_value(options_.activation, options_.frequency * a)};
    const Expr s = tape_.graph().symbol("activation");
    return {s, symbolic::OpaqueFunction{s, a, activation_value(options_.activation, a)}};
  }

  // [last, inputs]
  Value with_inputs(Value last) {
    const int inputs = tape_.input().width;
    const Value all = tape_.new_buffer(last.width + inputs);
    const Expr a = tape_.argument(0);
    add({last}, Tape::columns(all, 0, last.width), a, {a}, {});
    add({tape_.input()}, Tape::columns(all, last.width, inputs), a, {a}, {});
    return all;
  }

  void add(std::vector<Value> in, Value out, Expr value, std::vector<Expr> arguments, const Activation& s) {
    tape_.pointwise({.in = std::move(in),
                     .out = out,
                     .value = value,
                     .arguments = std::move(arguments),
                     .scalars = s.scalars,
                     .scalar_arguments = s.scalar_arguments,
                     .activation = s.opaque});
  }

  NetworkOptions options_;
  Tape tape_;
  std::string prefix_;
  bool frozen_ = false;
  Value v_, d_;
};

std::string layer_name(std::int64_t i) { return "layer" + std::to_string(i + 1); }

// The last hidden layer.
Value mlp(Builder& b, const NetworkOptions& options) {
  Value x = b.embedding();
  for (std::int64_t i = 0; i < options.depth; ++i) x = b.hidden(x, layer_name(i));
  return x;
}

Value modified_mlp(Builder& b, const NetworkOptions& options) {
  Value x = b.embedding();
  b.make_gates(x);
  for (std::int64_t i = 0; i < options.depth; ++i) x = b.gated(x, layer_name(i));
  return x;
}

Value piratenet(Builder& b, const NetworkOptions& options) {
  if (options.fourier_features == 0)
    throw Error("network: a PirateNet needs an embedding; set fourier_features (usually equal to width)");
  Value x = b.embedding();
  b.make_gates(x);
  for (std::int64_t i = 0; i < options.depth; ++i) {
    const std::string name = "block" + std::to_string(i + 1);
    const Value first = b.gated(x, name + ".1");
    const Value second = b.gated(first, name + ".2");
    x = b.adaptive_residual(second, x, name);
  }
  return x;
}

Value last_hidden(Builder& b, const NetworkOptions& options) {
  switch (options.type) {
    case NetworkType::mlp: return mlp(b, options);
    case NetworkType::modified_mlp: return modified_mlp(b, options);
    default: return piratenet(b, options);
  }
}

void check(const NetworkOptions& options, int inputs, int outputs) {
  if (inputs < 1 || outputs < 1) throw Error("network: needs at least one input and one output");
  if (options.fourier_features % 2 != 0)
    throw Error("network: fourier_features counts cosines and sines together and must be even");
  if (outputs % options.networks != 0)
    throw Error(fmt::format("network: {} outputs cannot be shared equally by {} networks", outputs,
                            options.networks));
  if (options.networks > 1 && options.output_fit != OutputFit::none)
    throw Error("network: output_fit and networks cannot be combined");
  if (options.train == TrainedLayers::output &&
      (options.type == NetworkType::piratenet || options.frequency_trainable || options.fourier_trainable ||
       options.weight_factorization))
    throw Error(
        "network: train=output leaves nothing else to train: no piratenet, frequency_trainable, "
        "fourier_trainable or weight_factorization");
  if (!options.input_scales.empty() &&
      (options.initialization != Initialization::features || options.fourier_features > 0 ||
       options.input_scales.size() != static_cast<std::size_t>(inputs)))
    throw Error(
        fmt::format("network: input_scales belong to initialization=features without Fourier features, "
                    "one for each of {} inputs; got {}",
                    inputs, options.input_scales.size()));
}

}  // namespace

Tape build_network(const NetworkOptions& options, int inputs, int outputs) {
  check(options, inputs, outputs);
  Builder b(inputs);
  b.begin(options, "");
  const int networks = static_cast<int>(options.networks);
  if (networks == 1) return b.finish(b.output(last_hidden(b, options), outputs));
  std::vector<Value> parts;
  for (int k = 0; k < networks; ++k) {
    b.begin(options, fmt::format("network{}.", k + 1));
    parts.push_back(b.output(last_hidden(b, options), outputs / networks));
  }
  return b.join(parts, outputs);
}

Tape build_sum(std::span<const NetworkOptions> networks, int inputs, int outputs) {
  if (networks.size() == 1) return build_network(networks[0], inputs, outputs);
  Builder b(inputs);
  std::vector<Value> parts;
  for (std::size_t k = 0; k < networks.size(); ++k) {
    const NetworkOptions& options = networks[k];
    check(options, inputs, outputs);
    if (options.networks > 1) throw Error("network: corrections and networks cannot be combined");
    if (options.type == NetworkType::piratenet || options.frequency_trainable)
      throw Error(
          "network: corrections need a network without trained scalars: no piratenet, no "
          "frequency_trainable");
    b.begin(options, fmt::format("network{}.", k + 1), k + 1 < networks.size());
    parts.push_back(b.output(last_hidden(b, options), outputs));
  }
  return b.join(parts, outputs);
}

}  // namespace lather::net
