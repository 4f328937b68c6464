#pragma once
// Ranks that are threads of one process: everything ranks do can be tested quickly, even losing one.

#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "lather/parallel/communicator.hpp"

namespace lather::testing {

class MeetingPlace {
 public:
  explicit MeetingPlace(int ranks) : ranks_(ranks), posted_(ranks) {}

  void exchange(int rank, std::span<const parallel::Communicator::ConstBytes> send,
                std::span<const parallel::Communicator::Bytes> receive) {
    posted_[rank] = send.data();
    wait();
    for (int p = 0; p < ranks_; ++p)
      if (p != rank && !receive[p].empty()) {
        if (posted_[p][rank].size() != receive[p].size()) std::abort();  // a bug in the code under test
        std::memcpy(receive[p].data(), posted_[p][rank].data(), receive[p].size());
      }
    wait();
  }
  void leave(int rank) {
    std::lock_guard lock(mutex_);
    if (lost_ < 0) lost_ = rank;
    changed_.notify_all();
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    if (lost_ >= 0) throw parallel::RankLost(lost_);
    const long turn = turn_;
    if (++here_ == ranks_) {
      here_ = 0;
      ++turn_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return turn_ != turn || lost_ >= 0; });
    if (turn_ == turn) throw parallel::RankLost(lost_);
  }
  int ranks_, here_ = 0, lost_ = -1;
  long turn_ = 0;
  std::vector<const parallel::Communicator::ConstBytes*> posted_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

class ThreadRank final : public parallel::Communicator {
 public:
  ThreadRank(MeetingPlace& place, int rank, int size, long last_exchange)
      : Communicator(rank, size), place_(place), last_exchange_(last_exchange) {}
  std::string transport() const override { return "threads"; }

 protected:
  void do_exchange(std::span<const ConstBytes> send, std::span<const Bytes> receive) override {
    if (last_exchange_ > 0 && exchanges() > last_exchange_) {
      place_.leave(rank());
      throw parallel::RankLost(rank());
    }
    place_.exchange(rank(), send, receive);
  }
  void leave() override { place_.leave(rank()); }

 private:
  MeetingPlace& place_;
  long last_exchange_;
};

// Calls f on `ranks` ranks. One of them may be lost after this many exchanges; ranks other than 0 then end.
inline void on_ranks(int ranks, const std::function<void(parallel::Communicator&)>& f, int lost = -1,
                     long after = 0) {
  MeetingPlace place(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      ThreadRank communicator(place, rank, ranks, rank == lost ? after : 0);
      try {
        f(communicator);
      } catch (const parallel::RankLost&) {
        if (rank == 0) throw;  // ends the test program: rank 0 goes on
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace lather::testing
