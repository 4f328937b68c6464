#include "lather/pde/file/sections/read_network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/core/options.hpp"
#include "lather/pde/file/problem_tables.hpp"

namespace lather::pde {

void read_network(const TomlValue& root, ProblemBuilder& builder) {
  const TomlValue& table = problem_section(root, "network");
  const std::vector<std::string> own{"inputs", "normalize", "harmonics"};
  std::vector<std::string> known = own;
  for (const auto& field : options::describe(net::NetworkOptions{})) known.push_back(field.name);
  only_problem_keys(table, "[network]", known);
  TomlValue rest = table;
  std::erase_if(rest.entries, [&](const TomlEntry& entry) {
    return std::find(own.begin(), own.end(), entry.key) != own.end();
  });
  options::read(builder.problem().network, "network", rest);
  if (const TomlValue* harmonics = table.find("harmonics")) {
    constexpr std::int64_t kMost = 64;
    const auto count = harmonics->as_integer("harmonics");
    if (count < 1 || count > kMost)
      throw Error(harmonics->where, fmt::format("harmonics must lie in [1, {}]", kMost));
    if (!root.find("periodic"))
      throw Error(harmonics->where, "harmonics has no effect without periodic coordinates");
    builder.harmonics(static_cast<int>(count));
  }
  // Rejects what cannot be meant. What a machine cannot hold is refused when a run begins (train/needs.hpp).
  constexpr double kMostWeights = 1e11;
  const auto& network = builder.problem().network;
  const double weights =
      static_cast<double>(network.depth) * static_cast<double>(network.width * network.width);
  if (weights > kMostWeights)
    throw Error(
        table.where,
        fmt::format("a network of width {} and depth {} has {:.0e} weights; at most {:.0e} are supported",
                    network.width, network.depth, weights, kMostWeights));
  const TomlValue* inputs = table.find("inputs");
  if (const TomlValue* normalize = table.find("normalize")) {
    if (inputs)
      throw Error(normalize->where, "normalize has no effect on inputs, which are fed as they are written");
    builder.normalize(normalize->as_boolean("normalize"));
  }
  if (inputs)
    for (const auto& text : inputs->as_texts("inputs"))
      builder.network_input(builder.parse(text), text.where);
  if (const TomlValue* harmonics = table.find("harmonics");
      harmonics && harmonics->as_integer("harmonics") > 1 && !builder.feeds_cosines())
    throw Error(harmonics->where, "harmonics has no effect: the inputs contain every periodic coordinate");
}

}  // namespace lather::pde
