#pragma once
// Sums over points by shards: every shard's losses and derivatives with respect to unknowns, and the
// gradient. See parallel/shards.hpp for their order. A rank holds the shards it computes.
//
// A thread computes its shards one after the other and adds a gradient to its neighbour's as soon as the tree
// allows, while both are in the cache; its memory is then free for the next shard. So the thread holds about
// log2(shards) gradients at a time, not one per shard.

#include <memory>
#include <utility>
#include <vector>

#include "lather/net/layer_weights.hpp"
#include "lather/parallel/shards.hpp"

namespace lather::pde {

struct Shard {
  std::unique_ptr<net::LayerGradients<double>> gradient;  // null: not computed yet, or added to another
  std::vector<double> unknown_bars;
  std::vector<double> sums;  // per term: sum of point weight * residual^2
};

class ShardSums {
 public:
  ShardSums(const net::Tape& tape, std::size_t terms, std::size_t unknowns, std::size_t shards, int threads,
            parallel::Communicator* ranks)
      : tape_(tape), terms_(terms), unknowns_(unknowns), ranks_(ranks), shards_(shards), spare_(threads) {
    own();
  }

  // Another one of the same shape.
  ShardSums more() const {
    return {tape_, terms_, unknowns_, shards_.size(), static_cast<int>(spare_.size()), ranks_};
  }

  std::size_t size() const { return shards_.size(); }
  // Of gradients, once all threads have theirs.
  std::size_t bytes() const {
    std::size_t count = 0;
    const auto [begin, end] = plan_.of(alone() ? 0 : ranks_->rank());
    for (int t = 0; t < static_cast<int>(spare_.size()); ++t) {
      const auto [first, last] = share_of(end - begin, t, static_cast<int>(spare_.size()));
      std::size_t most = 0;
      for (std::size_t s = first; s < last; ++s)
        most = std::max(most, parallel::piece_heads(shards_.size(), begin + first, begin + s).size() + 1);
      count += most;
    }
    return count * net::LayerGradients<double>(tape_).size() * sizeof(double);
  }

  // The shards of this rank. Other ranks may have been lost since the last call.
  IndexRange own() {
    const int size = alone() ? 1 : ranks_->size();
    if (plan_.ranks() != size || plan_.shards() != shards_.size()) plan_ = {shards_.size(), size};
    return plan_.of(alone() ? 0 : ranks_->rank());
  }
  IndexRange of(int rank) const { return plan_.of(rank); }

  // A thread begins a shard with all sums zero, and ends it, after the shards from `first` on.
  Shard& begin(int thread, std::size_t s, bool with_gradient) {
    Shard& shard = shards_[s];
    shard.sums.assign(terms_, 0.0);
    if (!with_gradient) return shard;
    shard.unknown_bars.assign(std::max<std::size_t>(1, unknowns_), 0.0);
    auto& spare = spare_[thread];
    if (!shard.gradient && !spare.empty()) {
      shard.gradient = std::move(spare.back());
      spare.pop_back();
    }
    if (!shard.gradient) shard.gradient = std::make_unique<net::LayerGradients<double>>(tape_);
    shard.gradient->zero();
    return shard;
  }
  Shard& shard(std::size_t s) { return shards_[s]; }
  void end(int thread, std::size_t first, std::size_t s) {
    parallel::add_along_tree(shards_.size(), first, s + 1,
                             [&](std::size_t a, std::size_t b) { add(thread, a, b); });
  }

  // After all shards are computed: sends the sums of all ranks to all.
  void gather() {
    const std::size_t width = terms_ + unknowns_;
    sums_.resize(shards_.size() * width);
    const auto [first, last] = own();
    for (std::size_t s = first; s < last; ++s) {
      double* to = std::copy(shards_[s].sums.begin(), shards_[s].sums.end(), sums_.data() + s * width);
      std::copy_n(shards_[s].unknown_bars.begin(), std::min(unknowns_, shards_[s].unknown_bars.size()), to);
    }
    if (alone()) return;
    std::vector<std::size_t> bounds;
    for (int p = 0; p < plan_.ranks(); ++p) bounds.push_back(plan_.of(p).begin * width);
    bounds.push_back(sums_.size());
    ranks_->gather(std::span(sums_), bounds);
  }
  double of_term(std::size_t term) const { return sum(term); }
  double of_unknown(std::size_t unknown) const { return sum(terms_ + unknown); }

  // The sum of all gradients; those of the shards are lost.
  const net::LayerGradients<double>& add_gradients(ThreadTeam& team) {
    const auto [first, last] = own();
    for (std::size_t stride = 1; stride < shards_.size(); stride *= 2) {
      pairs_.clear();
      parallel::add_level(shards_.size(), stride, first, last, [&](std::size_t a, std::size_t b) {
        if (shards_[b].gradient) pairs_.emplace_back(a, b);
      });
      if (pairs_.empty()) continue;
      team.run([&](int t) {
        for (std::size_t i = t; i < pairs_.size(); i += team.size())
          add(t, pairs_[i].first, pairs_[i].second);
      });
    }
    if (alone()) return *shards_[0].gradient;
    if (!total_) total_ = std::make_unique<net::LayerGradients<double>>(tape_);
    const auto& heads = plan_.heads(ranks_->rank());
    total_->assign(pieces_.sum(*ranks_, plan_, total_->size(),
                               [&](std::size_t piece, std::size_t begin, std::size_t count, double* to) {
                                 shards_[heads[piece]].gradient->copy(begin, count, to);
                               }));
    return *total_;
  }

 private:
  bool alone() const { return !ranks_ || ranks_->alone(); }
  // Does nothing if it was done before.
  void add(int thread, std::size_t a, std::size_t b) {
    if (!shards_[b].gradient) return;
    shards_[a].gradient->add(*shards_[b].gradient);
    spare_[thread].push_back(std::move(shards_[b].gradient));
  }
  double sum(std::size_t place) const {
    double total = 0;
    for (std::size_t s = 0; s < shards_.size(); ++s) total += sums_[s * (terms_ + unknowns_) + place];
    return total;
  }

  const net::Tape& tape_;
  std::size_t terms_, unknowns_;
  parallel::Communicator* ranks_;
  parallel::ShardPlan plan_;
  std::vector<Shard> shards_;
  std::vector<std::vector<std::unique_ptr<net::LayerGradients<double>>>> spare_;  // by thread
  std::vector<double> sums_;  // by shard: of every term, then of every unknown
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
  parallel::PieceSum<double> pieces_;
  std::unique_ptr<net::LayerGradients<double>> total_;
};

}  // namespace lather::pde
