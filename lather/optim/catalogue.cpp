#include "lather/optim/catalogue.hpp"

#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/optim/cuda/make_on_device.hpp"
#include "lather/optim/first_order/adam.hpp"
#include "lather/optim/first_order/multiadam.hpp"
#include "lather/optim/first_order/muon.hpp"
#include "lather/optim/first_order/sgd.hpp"
#include "lather/optim/kronecker/purifying_shampoo.hpp"
#include "lather/optim/kronecker/shampoo.hpp"
#include "lather/optim/kronecker/soap.hpp"
#include "lather/optim/kronecker/ss_esoap.hpp"
#include "lather/optim/least_squares/anagram.hpp"
#include "lather/optim/least_squares/engd.hpp"
#include "lather/optim/least_squares/kfac.hpp"
#include "lather/optim/least_squares/levenberg_marquardt.hpp"
#include "lather/optim/least_squares/nncg.hpp"
#include "lather/optim/least_squares/output_layer/gauss_newton.hpp"
#include "lather/optim/least_squares/output_layer/linear.hpp"
#include "lather/optim/least_squares/spring.hpp"
#include "lather/optim/quasi_newton/bfgs.hpp"
#include "lather/optim/quasi_newton/lbfgs.hpp"
#include "lather/optim/quasi_newton/ss_bfgs.hpp"
#include "lather/optim/quasi_newton/ss_broyden.hpp"

namespace lather::optim {

namespace {

// An entry for a method that can live on the GPU too.
template <class Method, class Options>
OptimizerEntry device_entry(std::string name, std::string summary, Options defaults,
                            Family family = Family::first_order) {
  auto e = entry<Method>(std::move(name), std::move(summary), std::move(defaults), family);
  e.construct_on_device = [](const ParameterLayout& layout, const AnyOptions& options) {
    return optim::make_on_device(layout, options.as<Options>());
  };
  return e;
}

// An entry for a method whose matrix can live on the GPU.
template <class Method, class Options>
OptimizerEntry dense_entry(std::string name, std::string summary, Options defaults) {
  auto e = entry<Method>(std::move(name), std::move(summary), std::move(defaults), Family::quasi_newton);
  e.construct_on_device = [](const ParameterLayout& layout,
                             const AnyOptions& options) -> std::unique_ptr<Optimizer> {
    if (device_memory_bytes() == 0) return nullptr;
    return std::make_unique<Method>(layout, options.as<Options>(), Device::cuda);
  };
  return e;
}

std::vector<OptimizerEntry>& catalogue_entries() {
  static std::vector<OptimizerEntry> all = {
      device_entry<SsEsoap>("ss-esoap",
                            "self-scaling Adam in an adaptive Kronecker eigenbasis; our recommended setting",
                            SsEsoapOptions{}, Family::kronecker),
      device_entry<SsEsoap>(
          "ss-esoap-paper",
          "SS-eSOAP with the constants of the paper's Algorithm 2; tau_min, the dimension limit and Rayleigh "
          "eigenvalues are ours",
          SsEsoapOptions::paper(), Family::kronecker),
      device_entry<Adam>("adam", "Adam", AdamOptions{}),
      device_entry<Adam>("adamw", "Adam with decoupled weight decay", AdamOptions::adamw()),
      device_entry<Sgd>("sgd", "gradient descent with momentum", SgdOptions{}),
      device_entry<Muon>("muon", "momentum with orthogonalized matrices, Adam for the rest", MuonOptions{}),
      device_entry<Shampoo>("shampoo", "Shampoo with the step length of Adam", ShampooOptions{},
                            Family::kronecker),
      device_entry<Soap>("soap", "Adam in the eigenbasis of Shampoo", SoapOptions{}, Family::kronecker),
      device_entry<PurifyingShampoo>("purifying-shampoo",
                                     "eigenvalue-corrected Shampoo with an off-diagonal tolerance",
                                     PurifyingShampooOptions{}, Family::kronecker),
      device_entry<MultiAdam>("multiadam", "one Adam per group of loss terms", MultiAdamOptions{}),
      // Quasi-Newton methods.
      entry<Lbfgs>("lbfgs", "limited-memory BFGS, strong Wolfe line search", LbfgsOptions{},
                   Family::quasi_newton),
      dense_entry<Bfgs>("bfgs", "BFGS with a dense inverse Hessian", BfgsOptions{}),
      dense_entry<SsBfgs>("ss-bfgs",
                          "self-scaled BFGS with a dense inverse Hessian (Al-Baali; Oren-Luenberger)",
                          SsBfgsOptions{}),
      dense_entry<SsBroyden>("ss-broyden",
                             "self-scaled Broyden method with a dense inverse Hessian (Urbán et al. 2025)",
                             SsBroydenOptions{}),
      // Methods that use the Jacobian of the residuals.
      residual_entry<LevenbergMarquardt>("lm", "Levenberg-Marquardt on the residuals",
                                         LevenbergMarquardtOptions{}),
      output_layer_entry<GaussNewton>(
          "gauss-newton",
          "Gauss-Newton by QR, undamped: for networks of which only the output layer is trained",
          GaussNewtonOptions{}, HiddenLayers::kept),
      output_layer_entry<Linear>("linear",
                                 "linear problems: hidden weights drawn, the output layer solved exactly",
                                 LinearOptions{}, HiddenLayers::drawn),
      residual_entry<Engd>("engd", "energy natural gradient: pseudo-inverse of the Gramian, grid line search",
                           EngdOptions{}),
      residual_entry<Anagram>("anagram", "natural gradient by SVD of the Jacobian with a cut-off",
                              AnagramOptions{}),
      residual_entry<Spring>("spring", "natural gradient in residual space with momentum; grid line search",
                             SpringOptions{}),
      residual_entry<Spring>("spring-paper", "SPRING with the constants and the step length of its code",
                             SpringOptions::paper()),
      residual_entry<Kfac>("kfac", "K-FAC for PINNs, momentum and grid line search", KfacOptions{}),
      residual_entry<Kfac>("kfac-star", "K-FAC*: step and momentum from the exact quadratic model",
                           KfacOptions::star()),
      entry<NysNewtonCg>("nncg", "Newton by conjugate gradients with a Nystrom preconditioner",
                         NysNewtonCgOptions{}, Family::quasi_newton),
  };
  return all;
}

}  // namespace

const std::vector<OptimizerEntry>& catalogue() { return catalogue_entries(); }

void register_optimizer(OptimizerEntry added) {
  for (const auto& e : catalogue())
    if (e.name == added.name) throw Error("an optimizer named '" + added.name + "' exists already");
  catalogue_entries().push_back(std::move(added));
}

std::string_view name_of(Family family) {
  switch (family) {
    case Family::first_order: return "first-order";
    case Family::kronecker: return "kronecker";
    case Family::quasi_newton: return "quasi-newton";
    case Family::least_squares: return "least-squares";
    case Family::output_layer: return "output-layer";
  }
  return "";
}

AnyOptions OptimizerEntry::options(const nlohmann::json& settings) const {
  AnyOptions chosen = defaults;
  lather::options::set_all(chosen, name, settings);
  return chosen;
}

const OptimizerEntry& find_optimizer(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& e : catalogue()) {
    if (e.name == name) return e;
    names.push_back(e.name);
  }
  throw Error(unknown_name_message("optimizer", name, names));
}

}  // namespace lather::optim
