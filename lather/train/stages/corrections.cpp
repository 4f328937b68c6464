#include "lather/train/stages/corrections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "lather/core/error.hpp"

namespace lather::train {

namespace {

using optim::ParameterBlock;
using optim::ParameterLayout;

constexpr const char* kJoin = "join.weight";

const ParameterBlock* find(const ParameterLayout& layout, const std::string& name) {
  const auto it = std::ranges::find(layout.blocks(), name, &ParameterBlock::name);
  return it == layout.blocks().end() ? nullptr : &*it;
}

// The layouts of a stage's network: what it trains, and what it keeps.
struct StageLayout {
  ParameterLayout trained, frozen;
};
StageLayout layout_of(const pde::Problem& problem, std::size_t stage) {
  const auto& networks = problem.earlier_networks;
  const net::Tape tape = net::build_sum(std::span(networks).first(stage + 1),
                                        static_cast<int>(problem.network_inputs.size()), problem.outputs());
  return {tape.parameters(), tape.frozen()};
}

// Copies the blocks of network `index` (from 0), as trained in its stage, to where the sum keeps them frozen.
void copy_network(const StageLayout& from, std::size_t index, const TrainedNetwork& network,
                  const ParameterLayout& to, std::span<double> frozen) {
  const std::string prefix = fmt::format("network{}.", index + 1);
  for (const auto& block : to.blocks()) {
    if (!block.name.starts_with(prefix)) continue;
    // A single network has names without a prefix.
    const std::string name = index == 0 ? block.name.substr(prefix.size()) : block.name;
    const ParameterBlock* trained = find(from.trained, name);
    const ParameterBlock* kept = find(from.frozen, name);
    const auto source = trained ? network.parameters.subspan(trained->offset, trained->size())
                                : network.frozen.subspan(kept->offset, kept->size());
    std::ranges::copy(source, frozen.begin() + static_cast<std::ptrdiff_t>(block.offset));
  }
}

// Sets one diagonal block of the join.
void set_factor(const ParameterBlock& join, std::size_t network, double factor, std::span<double> frozen) {
  for (std::size_t i = 0; i < join.cols; ++i)
    frozen[join.offset + (network * join.cols + i) * join.cols + i] = factor;
}

}  // namespace

pde::Problem corrected(pde::Problem problem, const CorrectionOptions& options, int stage) {
  net::NetworkOptions& network = problem.network;
  for (int k = 0; k < stage; ++k) {
    problem.earlier_networks.push_back(network);
    if (options.width > 0) network.width = options.width;
    if (options.depth > 0) network.depth = options.depth;
    network.initialization = net::Initialization::features;
    network.output_fit = net::OutputFit::all;
    network.feature_scale = options.feature_scale > 0 ? options.feature_scale : 2 * network.feature_scale;
  }
  return problem;
}

void freeze_networks(pde::PinnObjective& objective, const std::vector<TrainedNetwork>& before,
                     std::span<double> x) {
  const pde::Problem& problem = objective.problem();
  const ParameterLayout& layout = objective.tape().frozen();
  const ParameterBlock& join = *find(layout, kJoin);
  const std::size_t unknowns = problem.unknowns.size();
  std::ranges::copy(before.back().parameters.last(unknowns), x.last(unknowns).begin());
  std::vector<double> frozen(layout.size());
  const auto value = [&] {
    objective.set_frozen(frozen);
    return objective.value(x);
  };
  const double nothing = value();  // all factors are zero
  for (std::size_t k = 0; k < before.size(); ++k) {
    const StageLayout stage = layout_of(problem, k);
    copy_network(stage, k, before[k], layout, frozen);
    // The factor of its own stage; the first network is alone there.
    const ParameterBlock* then = find(stage.frozen, kJoin);
    set_factor(join, k, then ? before[k].frozen[then->offset + k * then->cols * then->cols] : 1, frozen);
  }
  const double remainder = value();
  const double factor = std::sqrt(remainder / nothing);
  set_factor(join, before.size(), factor > 0 && factor < 1 ? factor : 1, frozen);
  objective.set_frozen(frozen);
}

}  // namespace lather::train
