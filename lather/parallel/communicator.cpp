#include "lather/parallel/communicator.hpp"

#include <fmt/format.h>

namespace lather::parallel {

RankLost::RankLost(int rank)
    : rank_(rank),
      message_(rank < 0 || rank == Communicator::kUnknownRank ? "another rank was lost"
                                                              : fmt::format("rank {} was lost", rank)) {}

void Communicator::exchange(std::span<const ConstBytes> send, std::span<const Bytes> receive) {
  if (alone()) return;
  ++exchanges_;
  for (int p = 0; p < size_; ++p)
    if (p != rank_) bytes_sent_ += static_cast<double>(send[p].size());
  do_exchange(send, receive);
}

void Communicator::gather_parts(std::span<const Bytes> parts) {
  if (alone()) return;
  const std::vector<ConstBytes> send(size_, parts[rank_]);
  exchange(send, parts);
}

void Communicator::broadcast(std::string& bytes) {
  if (alone()) return;
  const auto from_first = [&](void* data, std::size_t size) {
    std::vector<ConstBytes> send(size_);
    std::vector<Bytes> receive(size_);
    const Bytes whole{static_cast<std::byte*>(data), size};
    if (rank_ == 0)
      send.assign(size_, whole);
    else
      receive[0] = whole;
    exchange(send, receive);
  };
  std::size_t size = bytes.size();
  from_first(&size, sizeof size);
  bytes.resize(size);
  from_first(bytes.data(), size);
}

bool Communicator::go_on_alone(const RankLost& loss) {
  if (rank_ != 0) return false;
  lost_rank_ = loss.rank() < 0 ? kUnknownRank : loss.rank();
  size_ = 1;
  leave();
  return true;
}

}  // namespace lather::parallel
