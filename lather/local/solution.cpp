#include "lather/local/solution.hpp"

#include <map>

#include "lather/core/error.hpp"

namespace lather::local {

Solution::Solution(Tree tree, int degree, int outputs, std::vector<std::pair<int, Piece>>&& pieces)
    : tree_(std::move(tree)),
      basis_(tree_.dimensions(), degree),
      outputs_(outputs),
      pieces_(tree_.nodes().size()) {
  for (auto& [node, piece] : pieces) pieces_[static_cast<std::size_t>(node)] = std::move(piece);
}

std::size_t Solution::coefficients() const {
  std::size_t count = 0;
  for (const auto& piece : pieces_) count += piece.coefficients.size();
  return count;
}

void Solution::write(StateWriter& writer) const {
  std::int64_t degree = basis_.degree(), outputs = outputs_;
  writer.integer("degree", degree);
  writer.integer("outputs", outputs);
  Tree(tree_).state(writer);
  for (const Piece& piece : pieces_) {
    Piece p = piece;
    writer.array("low", std::span<double>(p.support.low));
    writer.array("high", std::span<double>(p.support.high));
    writer.array("coefficients", p.coefficients);
  }
}

Solution Solution::read(StateReader& reader) {
  constexpr std::int64_t kMostDegrees = 64, kMostOutputs = 1000;
  std::int64_t degree = 0, outputs = 0;
  reader.integer("degree", degree);
  reader.integer("outputs", outputs);
  if (degree < 1 || degree > kMostDegrees || outputs < 1 || outputs > kMostOutputs)
    throw Error("this solution is damaged");
  Tree tree;
  tree.state(reader);
  Solution solution(std::move(tree), static_cast<int>(degree), static_cast<int>(outputs), {});
  const std::size_t whole = static_cast<std::size_t>(outputs) * solution.basis_.size();
  for (std::size_t n = 0; n < solution.pieces_.size(); ++n) {
    Piece& p = solution.pieces_[n];
    reader.array("low", std::span<double>(p.support.low));
    reader.array("high", std::span<double>(p.support.high));
    reader.array("coefficients", p.coefficients);
    const auto& node = solution.tree_.nodes()[n];
    if (p.coefficients.size() != (node.halved == 0 && !node.is_empty ? whole : 0))
      throw Error("this solution is damaged");
  }
  if (solution.coefficients() == 0) throw Error("this solution is damaged");
  return solution;
}

Solution Solution::towards(const Solution& other, double share) const {
  Solution result = *this;
  for (std::size_t n = 0; n < pieces_.size(); ++n)
    for (std::size_t j = 0; j < pieces_[n].coefficients.size(); ++j) {
      double& c = result.pieces_[n].coefficients[j];
      c += share * (other.pieces_[n].coefficients[j] - c);
    }
  return result;
}

std::vector<double> Solution::evaluate_on(int node, const Jet& jet, const pde::Points& points) const {
  const Piece& p = piece(node);
  const std::span<const double> all(p.coefficients);
  return BasisAtPoints(basis_, p.support, points)
      .combine(jet.orders, all.subspan(static_cast<std::size_t>(jet.output) * basis_.size(), basis_.size()));
}

std::vector<double> Solution::evaluate(const Jet& jet, const pde::Points& points) const {
  std::map<int, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < points.count(); ++i) {
    Place place{};
    for (std::size_t k = 0; k < points.coordinates.size(); ++k) place[k] = points.coordinates[k][i];
    members[tree_.locate(place)].push_back(i);
  }
  std::vector<double> values(points.count());
  for (const auto& [node, indices] : members) {
    pde::Points part;
    for (const auto& coordinate : points.coordinates) {
      auto& kept = part.coordinates.emplace_back();
      for (const std::size_t i : indices) kept.push_back(coordinate[i]);
    }
    const auto found = evaluate_on(node, jet, part);
    for (std::size_t n = 0; n < indices.size(); ++n) values[indices[n]] = found[n];
  }
  return values;
}

}  // namespace lather::local
