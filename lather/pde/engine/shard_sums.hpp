#pragma once
// Sums over points by shards: losses and derivatives by unknowns of every shard, and the gradient. See
// parallel/shards.hpp for their order. A rank holds the shards it computes.

#include <memory>
#include <utility>
#include <vector>

#include "lather/net/layer_weights.hpp"
#include "lather/parallel/shards.hpp"

namespace lather::pde {

template <class T>
struct Shard {
  explicit Shard(const net::Tape& tape) : gradients(tape) {}
  net::LayerGradients<T> gradients;
  std::vector<T> unknown_bars;
  std::vector<double> sums;  // per term: sum of point weight * residual^2
  void clear(bool with_gradient) {
    std::fill(sums.begin(), sums.end(), 0.0);
    if (!with_gradient) return;
    gradients.zero();
    std::fill(unknown_bars.begin(), unknown_bars.end(), T(0));
  }
};

template <class T>
class ShardSums {
 public:
  ShardSums(const net::Tape& tape, std::size_t terms, std::size_t unknowns, std::size_t shards,
            parallel::Communicator* ranks)
      : tape_(tape), terms_(terms), unknowns_(unknowns), ranks_(ranks), shards_(shards) {
    own();
  }

  std::size_t size() const { return shards_.size(); }
  Shard<T>& operator[](std::size_t s) { return *shards_[s]; }
  std::size_t bytes() const {
    std::size_t total = 0;
    for (const auto& shard : shards_)
      if (shard) total += shard->gradients.size() * sizeof(T);
    return total;
  }

  // The shards of this rank. Others may have gone since the last time.
  IndexRange own() {
    const int size = alone() ? 1 : ranks_->size();
    if (plan_.ranks() != size || plan_.shards() != shards_.size()) plan_ = {shards_.size(), size};
    const IndexRange range = plan_.of(alone() ? 0 : ranks_->rank());
    for (std::size_t s = range.begin; s < range.end; ++s)
      if (!shards_[s]) shards_[s] = make_shard();
    return range;
  }
  IndexRange of(int rank) const { return plan_.of(rank); }

  // After all shards are computed: sums of all ranks to all.
  void gather() {
    const std::size_t width = terms_ + unknowns_;
    sums_.resize(shards_.size() * width);
    const auto [first, last] = own();
    for (std::size_t s = first; s < last; ++s) {
      double* to = std::copy(shards_[s]->sums.begin(), shards_[s]->sums.end(), sums_.data() + s * width);
      std::copy_n(shards_[s]->unknown_bars.begin(), unknowns_, to);
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
  const net::LayerGradients<T>& add_gradients(ThreadTeam& team) {
    const auto [first, last] = own();
    for (std::size_t stride = 1; stride < shards_.size(); stride *= 2) {
      pairs_.clear();
      parallel::add_level(shards_.size(), stride, first, last,
                          [&](std::size_t a, std::size_t b) { pairs_.emplace_back(a, b); });
      if (pairs_.empty()) continue;
      team.run([&](int t) {
        for (std::size_t i = t; i < pairs_.size(); i += team.size())
          shards_[pairs_[i].first]->gradients.add(shards_[pairs_[i].second]->gradients);
      });
    }
    if (alone()) return shards_[0]->gradients;
    if (!total_) total_ = std::make_unique<net::LayerGradients<T>>(tape_);
    const auto& heads = plan_.heads(ranks_->rank());
    total_->assign(pieces_.sum(*ranks_, plan_, total_->size(),
                               [&](std::size_t piece, std::size_t begin, std::size_t count, T* to) {
                                 shards_[heads[piece]]->gradients.copy(begin, count, to);
                               }));
    return *total_;
  }

 private:
  bool alone() const { return !ranks_ || ranks_->alone(); }
  std::unique_ptr<Shard<T>> make_shard() const {
    auto shard = std::make_unique<Shard<T>>(tape_);
    shard->sums.resize(terms_);
    shard->unknown_bars.resize(std::max<std::size_t>(1, unknowns_));
    return shard;
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
  std::vector<std::unique_ptr<Shard<T>>> shards_;  // null: another rank's
  std::vector<double> sums_;                       // by shard: of every term, then of every unknown
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
  parallel::PieceSum<T> pieces_;
  std::unique_ptr<net::LayerGradients<T>> total_;
};

}  // namespace lather::pde
