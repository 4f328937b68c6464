#include "lather/train/starting_point.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"

namespace lather::train {

using Json = nlohmann::json;

Json to_json(const StartingPoint& start) {
  Json blocks = Json::array();
  for (const auto& b : start.layout.blocks())
    blocks.push_back({{"name", b.name}, {"rows", b.rows}, {"cols", b.cols}, {"matrix", b.matrix}});
  return {{"run", start.run},
          {"step", start.step},
          {"blocks", blocks},
          {"parameters", start.parameters},
          {"frozen", start.frozen}};
}

StartingPoint starting_point_from_json(const Json& json) {
  try {
    StartingPoint start;
    start.run = json.at("run").get<std::string>();
    start.step = json.at("step").get<std::int64_t>();
    for (const auto& b : json.at("blocks")) {
      const auto name = b.at("name").get<std::string>();
      const auto rows = b.at("rows").get<std::size_t>(), cols = b.at("cols").get<std::size_t>();
      if (b.at("matrix").get<bool>())
        start.layout.add_matrix(name, rows, cols);
      else
        start.layout.add_vector(name, rows);
    }
    start.parameters = json.at("parameters").get<std::vector<double>>();
    start.frozen = json.at("frozen").get<std::vector<double>>();
    if (start.parameters.size() != start.layout.size())
      throw Error("start.json is damaged: its sizes do not match");
    return start;
  } catch (const Json::exception& error) {
    throw Error(fmt::format("start.json is damaged: {}", error.what()));
  }
}

std::string take_over(const StartingPoint& start, const optim::ParameterLayout& layout,
                      std::span<double> parameters, std::span<double> frozen) {
  if (start.frozen.size() != frozen.size())
    throw Error(fmt::format("--from {}: its network has {} frozen weights, this one {}", start.run,
                            start.frozen.size(), frozen.size()));
  std::vector<std::string> missing, unused;
  std::size_t taken = 0;
  bool any_layer = false;
  for (const auto& block : layout.blocks()) {
    const auto& others = start.layout.blocks();
    const auto other = std::ranges::find(others, block.name, &optim::ParameterBlock::name);
    if (other == others.end() || other->rows != block.rows || other->cols != block.cols) {
      missing.push_back(other == others.end()
                            ? fmt::format("{} (not there)", block.name)
                            : fmt::format("{} ({} × {} there, {} × {} here)", block.name, other->rows,
                                          other->cols, block.rows, block.cols));
      continue;
    }
    std::copy_n(start.parameters.begin() + static_cast<std::ptrdiff_t>(other->offset), block.size(),
                parameters.begin() + static_cast<std::ptrdiff_t>(block.offset));
    taken += block.size();
    any_layer = any_layer || block.matrix;
  }
  for (const auto& other : start.layout.blocks())
    if (std::ranges::find(layout.blocks(), other.name, &optim::ParameterBlock::name) == layout.blocks().end())
      unused.push_back(other.name);
  if (!any_layer)
    throw Error(fmt::format("--from {}: no part of its network fits this one: {}", start.run,
                            fmt::join(missing, ", ")));
  std::ranges::copy(start.frozen, frozen.begin());
  if (missing.empty() && unused.empty()) return "";
  std::string text = fmt::format("{} of {} parameters are those of {}", taken, layout.size(), start.run);
  if (!missing.empty()) text += fmt::format("; initialized afresh: {}", fmt::join(missing, ", "));
  if (!unused.empty()) text += fmt::format("; not used: {}", fmt::join(unused, ", "));
  return text;
}

}  // namespace lather::train
