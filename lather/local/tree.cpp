#include "lather/local/tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "lather/core/error.hpp"

namespace lather::local {

namespace {
constexpr std::size_t kMostRoots = 4096;
}

Tree::Tree(const Domain& domain, const std::vector<std::vector<double>>& breaks) {
  const Box bounds = domain.bounds();
  std::size_t count = 1;
  for (int k = 0; k < domain.dimensions(); ++k) {
    auto& cuts = cuts_.emplace_back(breaks[static_cast<std::size_t>(k)]);
    cuts.insert(cuts.begin(), bounds.low[k]);
    cuts.push_back(bounds.high[k]);
    count *= cuts.size() - 1;
  }
  if (count > kMostRoots)
    throw Error(
        fmt::format("the coefficients break in so many places that the domain falls into {} boxes; "
                    "the local solver starts with at most {}",
                    count, kMostRoots));
  for (std::size_t i = 0; i < count; ++i) {
    Box box;
    std::size_t rest = i;
    for (int k = domain.dimensions() - 1; k >= 0; --k) {
      const auto& cuts = cuts_[static_cast<std::size_t>(k)];
      const std::size_t at = rest % (cuts.size() - 1);
      rest /= cuts.size() - 1;
      box.low[k] = cuts[at];
      box.high[k] = cuts[at + 1];
    }
    add(box, -1, domain);
  }
}

void Tree::add(const Box& box, int parent, const Domain& domain) {
  Node node;
  node.box = box;
  node.parent = parent;
  node.level = parent < 0 ? 0 : nodes_[static_cast<std::size_t>(parent)].level + 1;
  node.is_empty = domain.part_of(box) == Domain::Part::none;
  nodes_.push_back(node);
}

std::vector<int> Tree::leaves() const {
  std::vector<int> list;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].halved == 0 && !nodes_[i].is_empty) list.push_back(static_cast<int>(i));
  return list;
}

void Tree::split(int leaf, unsigned along, const Domain& domain) {
  const Node parent = nodes_[static_cast<std::size_t>(leaf)];
  const int first = static_cast<int>(nodes_.size());
  for (unsigned child = 0; child < 1u << std::popcount(along); ++child) {
    Box box = parent.box;
    unsigned bit = 0;
    for (int k = 0; k < dimensions(); ++k) {
      if (!(along >> k & 1)) continue;
      const double middle = 0.5 * (parent.box.low[k] + parent.box.high[k]);
      (child >> bit++ & 1 ? box.low : box.high)[k] = middle;
    }
    add(box, leaf, domain);
  }
  auto& node = nodes_[static_cast<std::size_t>(leaf)];
  node.halved = along;
  node.first_child = first;
}

int Tree::descend(int node, const Place& place) const {
  while (nodes_[static_cast<std::size_t>(node)].halved != 0) {
    const Node& n = nodes_[static_cast<std::size_t>(node)];
    int child = 0, bit = 0;
    for (int k = 0; k < dimensions(); ++k) {
      if (!(n.halved >> k & 1)) continue;
      if (place[k] > 0.5 * (n.box.low[k] + n.box.high[k])) child |= 1 << bit;
      ++bit;
    }
    node = n.first_child + child;
  }
  return node;
}

int Tree::locate(const Place& place) const {
  std::size_t root = 0;
  for (int k = 0; k < dimensions(); ++k) {
    const auto& cuts = cuts_[static_cast<std::size_t>(k)];
    const auto above = std::upper_bound(cuts.begin() + 1, cuts.end() - 1, place[k]);
    root = root * (cuts.size() - 1) + static_cast<std::size_t>(above - cuts.begin() - 1);
  }
  const int found = descend(static_cast<int>(root), place);
  if (!nodes_[static_cast<std::size_t>(found)].is_empty) return found;
  int nearest = found;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& n = nodes_[i];
    if (n.halved != 0 || n.is_empty) continue;
    double squares = 0;
    for (int k = 0; k < dimensions(); ++k) {
      const double off =
          std::max({0.0, n.box.low[k] - place[k], place[k] - n.box.high[k]}) /
          (cuts_[static_cast<std::size_t>(k)].back() - cuts_[static_cast<std::size_t>(k)].front());
      squares += off * off;
    }
    if (squares < least) {
      least = squares;
      nearest = static_cast<int>(i);
    }
  }
  return nearest;
}

void Tree::state(StateVisitor& v) {
  std::int64_t coordinates = dimensions(), count = static_cast<std::int64_t>(nodes_.size());
  v.integer("coordinates", coordinates);
  if (coordinates < 1 || coordinates > kMostCoordinates)
    throw Error("the boxes of this solution are damaged");
  cuts_.resize(static_cast<std::size_t>(coordinates));
  std::size_t roots = 1;
  for (auto& cuts : cuts_) {
    v.array("cuts", cuts);
    if (cuts.size() < 2 || cuts.size() > kMostRoots + 1)
      throw Error("the boxes of this solution are damaged");
    roots *= cuts.size() - 1;
  }
  v.integer("nodes", count);
  // Of each node: parent, halved, first child, empty; low and high ends.
  constexpr std::size_t kNumbers = 4 + 2 * kMostCoordinates;
  std::vector<double> numbers;
  for (const Node& n : nodes_) {
    numbers.insert(numbers.end(),
                   {double(n.parent), double(n.halved), double(n.first_child), double(n.is_empty)});
    numbers.insert(numbers.end(), n.box.low.begin(), n.box.low.end());
    numbers.insert(numbers.end(), n.box.high.begin(), n.box.high.end());
  }
  v.array("boxes", numbers);
  if (!v.reading()) return;
  const auto size = static_cast<std::size_t>(count);
  bool sound = roots <= kMostRoots && size >= roots && numbers.size() / kNumbers == size &&
               numbers.size() % kNumbers == 0;
  nodes_.assign(sound ? size : 0, {});
  for (std::size_t i = 0; i < nodes_.size() && sound; ++i) {
    const double* const from = numbers.data() + i * kNumbers;
    const auto whole = [&](int k, double low, double high) {
      sound = sound && from[k] >= low && from[k] <= high && from[k] == std::floor(from[k]);
      return sound ? static_cast<int>(from[k]) : 0;
    };
    Node& n = nodes_[i];
    n.parent = whole(0, -1, double(i) - 1);
    n.halved = static_cast<unsigned>(whole(1, 0, (1 << coordinates) - 1));
    n.first_child = whole(2, n.halved ? double(i) + 1 : -1, double(size) - (1 << std::popcount(n.halved)));
    n.is_empty = whole(3, 0, 1) != 0;
    n.level = n.parent < 0 ? 0 : nodes_[static_cast<std::size_t>(n.parent)].level + 1;
    std::copy_n(from + 4, kMostCoordinates, n.box.low.begin());
    std::copy_n(from + 4 + kMostCoordinates, kMostCoordinates, n.box.high.begin());
  }
  if (!sound) throw Error("the boxes of this solution are damaged");
}

}  // namespace lather::local
