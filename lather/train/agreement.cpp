#include "lather/train/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"

namespace lather::train {

namespace {
struct Seen {
  double seconds;
  std::int64_t interrupted;
};
}  // namespace

void Agreement::update(double seconds, bool interrupted) {
  seconds_ = seconds;
  interrupted_ = interrupted;
  if (!ranks_) return;
  parallel::with_ranks(ranks_, [&] {
    if (alone()) return;
    const auto all = ranks_->all_of(Seen{seconds, interrupted});
    seconds_ = all[0].seconds;
    interrupted_ =
        std::any_of(all.begin(), all.end(), [](const Seen& rank) { return rank.interrupted != 0; });
  });
}

std::string Agreement::loss() const {
  if (!ranks_ || ranks_->lost_rank() < 0) return "";
  return parallel::RankLost(ranks_->lost_rank()).what();
}

void Agreement::require_same(std::span<const double> parameters, std::int64_t step) {
  if (alone()) return;
  const std::uint64_t own =
      checksum({reinterpret_cast<const char*>(parameters.data()), parameters.size() * sizeof(double)});
  parallel::with_ranks(ranks_, [&] {
    if (alone()) return;
    const auto all = ranks_->all_of(own);
    for (std::size_t p = 1; p < all.size(); ++p)
      if (all[p] != all[0])
        throw Error(fmt::format(
            "rank {} has other parameters than rank 0 after step {}: do all machines have the same "
            "processor and the same build?",
            p, step));
  });
}

void Agreement::share(std::string& bytes) {
  if (alone()) return;
  parallel::with_ranks(ranks_, [&] { ranks_->broadcast(bytes); });
}

}  // namespace lather::train
