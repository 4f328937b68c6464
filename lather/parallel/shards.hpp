#pragma once
// Sums whose bits do not depend on the number of ranks. Points are dealt to a fixed number of shards; a rank
// has some consecutive ones, and a sum over all points is a sum over shards along a fixed tree: neighbours
// first, then pairs of pairs.
//
//   stride 1   0+1  2+3  4+5  6
//   stride 2   (0..1)+(2..3)  (4..5)+(6)
//   stride 4   (0..3)+(4..6)
//
// A rank adds up locally what the tree adds among its own shards, and sends what is left: one piece if ranks
// and shards are powers of two, 2 log2(shards) at most.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lather/parallel/communicator.hpp"

namespace lather::parallel {

// Calls add(a, b), "a += b", for the pairs of one level of the tree over shards [0, shards) whose sum is a
// sum of shards in [begin, end) alone.
template <class Add>
void add_level(std::size_t shards, std::size_t stride, std::size_t begin, std::size_t end, const Add& add) {
  for (std::size_t a = begin + (2 * stride - begin % (2 * stride)) % (2 * stride); a + stride < shards;
       a += 2 * stride)
    if (std::min(a + 2 * stride, shards) <= end) add(a, a + stride);
}
template <class Add>
void add_along_tree(std::size_t shards, std::size_t begin, std::size_t end, const Add& add) {
  for (std::size_t stride = 1; stride < shards; stride *= 2) add_level(shards, stride, begin, end, add);
}

// The first shards of the pieces that are left of [begin, end) after add_along_tree.
std::vector<std::size_t> piece_heads(std::size_t shards, std::size_t begin, std::size_t end);

// Which rank has which shards.
class ShardPlan {
 public:
  ShardPlan() = default;
  ShardPlan(std::size_t shards, int ranks);
  std::size_t shards() const { return shards_; }
  IndexRange of(int rank) const { return share_of(shards_, rank, ranks_); }
  int ranks() const { return ranks_; }
  const std::vector<std::size_t>& heads(int rank) const { return heads_[rank]; }  // of its pieces

 private:
  std::size_t shards_ = 1;
  int ranks_ = 1;
  std::vector<std::vector<std::size_t>> heads_;
};

// Adds up vectors of `size` elements over the pieces of all ranks: every rank adds its share of the elements
// and sends the result to the others.
//   own(piece, begin, count, to)   copies elements of this rank's piece number `piece`
template <class T>
class PieceSum {
 public:
  template <class CopyOwn>
  std::span<const T> sum(Communicator& ranks, const ShardPlan& plan, std::size_t size, const CopyOwn& own) {
    const int me = ranks.rank();
    const auto part = [&](int rank) { return share_of(size, rank, ranks.size()); };
    const std::size_t pieces = plan.heads(me).size(), mine = part(me).end - part(me).begin;
    send_.resize(pieces * size);
    std::size_t incoming = 0;
    for (int p = 0; p < ranks.size(); ++p) incoming += plan.heads(p).size() * mine;
    receive_.resize(incoming);
    std::vector<Communicator::ConstBytes> to;
    std::vector<Communicator::Bytes> from;
    T *out = send_.data(), *in = receive_.data(), *own_part = nullptr;
    for (int p = 0; p < ranks.size(); ++p) {
      const auto [begin, end] = part(p);
      to.push_back(std::as_bytes(std::span(out, pieces * (end - begin))));
      for (std::size_t i = 0; i < pieces; ++i, out += end - begin) own(i, begin, end - begin, out);
      from.push_back(std::as_writable_bytes(std::span(in, plan.heads(p).size() * mine)));
      if (p == me) own_part = in;
      in += plan.heads(p).size() * mine;
    }
    if (!to[me].empty()) std::memcpy(own_part, to[me].data(), to[me].size());
    ranks.exchange(to, from);

    std::vector<T*> at(plan.shards(), nullptr);  // by head
    in = receive_.data();
    for (int p = 0; p < ranks.size(); ++p)
      for (const std::size_t head : plan.heads(p)) {
        at[head] = in;
        in += mine;
      }
    add_along_tree(plan.shards(), 0, plan.shards(), [&](std::size_t a, std::size_t b) {
      if (!at[b]) return;  // added where it was computed
      for (std::size_t k = 0; k < mine; ++k) at[a][k] += at[b][k];
    });
    total_.resize(size);
    std::copy_n(receive_.data(), mine, total_.data() + part(me).begin);
    std::vector<std::size_t> bounds;
    for (int p = 0; p < ranks.size(); ++p) bounds.push_back(part(p).begin);
    bounds.push_back(size);
    ranks.gather(std::span(total_), bounds);
    return total_;
  }

 private:
  std::vector<T> send_, receive_, total_;
};

}  // namespace lather::parallel
