#pragma once
// Random draws that depend on a seed alone (splitmix64): the same on every machine.

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace lather::hostile {

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 … count - 1
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(bits() % count); }
  std::size_t between(std::size_t low, std::size_t high) { return low + below(high - low + 1); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  template <class T>
  T of(std::initializer_list<T> list) {
    return list.begin()[below(list.size())];
  }
  template <class List>
  const auto& any(const List& list) {
    return list[below(list.size())];
  }

 private:
  std::uint64_t state_;
};

inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  Chance chance(a ^ (b * 0xd1342543de82ef95u));
  chance.bits();
  return chance.bits();
}

}  // namespace lather::hostile
