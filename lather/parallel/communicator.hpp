#pragma once
// The processes ("ranks") that share one run. All of them execute the same program on the same data and
// communicate through exchange() and what is built on it. Every rank computes the same bits, so only partial
// results, the clock of rank 0 and requests to stop have to be sent.

#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lather/core/threads.hpp"

namespace lather::parallel {

// Another rank has ended or no longer answers. Not an Error: it must not be taken for a user mistake.
class RankLost : public std::exception {
 public:
  explicit RankLost(int rank);
  int rank() const { return rank_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  int rank_;
  std::string message_;
};

// Where ranks on GPUs add up their sums: on the host; or on the GPUs with NCCL, in the same order (nccl) or
// in the fastest order (nccl_sum), so that the last bits depend on the number of ranks.
enum class Reduction { host, nccl, nccl_sum };

class Communicator {
 public:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool alone() const { return size_ == 1; }
  // On the same machine: this rank's number, and how many there are.
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  virtual std::string transport() const = 0;  // in words
  Reduction reduction() const { return reduction_; }
  void set_reduction(Reduction reduction) { reduction_ = reduction; }
  // The last call before the process ends. `failed`: with an error; ranks that wait for this one are then
  // ended.
  virtual void end(bool /*failed*/, int /*exit_status*/) {}
  // If ranks work on separate runs and do not exchange anything: asks the others to end, as far as the
  // launcher does not.
  virtual void ask_others_to_end() {}
  // Whether rank 0 ends within this many seconds, as far as can be seen.
  virtual bool first_rank_ends_within(double /*seconds*/) { return false; }

  using Bytes = std::span<std::byte>;
  using ConstBytes = std::span<const std::byte>;
  // Sends send[p] to every other rank p and receives receive[p] from it. Both sides know the lengths; the
  // entries for this rank itself are ignored. Throws RankLost.
  void exchange(std::span<const ConstBytes> send, std::span<const Bytes> receive);

  // Rank p has filled all[bounds[p] … bounds[p + 1]); afterwards every rank has all of it.
  template <class T>
  void gather(std::span<T> all, std::span<const std::size_t> bounds) {
    std::vector<Bytes> parts;
    for (int p = 0; p < size_; ++p)
      parts.push_back(std::as_writable_bytes(all.subspan(bounds[p], bounds[p + 1] - bounds[p])));
    gather_parts(parts);
  }
  // Sends the bytes of rank 0 to all; only rank 0 needs to know how many.
  void broadcast(std::string& bytes);
  template <class T>
  void broadcast(T& value) {
    std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
    broadcast(bytes);
    std::memcpy(&value, bytes.data(), sizeof value);
  }
  // One value of every rank, in order.
  template <class T>
  std::vector<T> all_of(T own) {
    std::vector<T> values(size_);
    std::vector<std::size_t> bounds;
    for (int p = 0; p <= size_; ++p) bounds.push_back(p);
    values[rank_] = own;
    gather(std::span(values), bounds);
    return values;
  }
  void barrier() { all_of<char>(0); }

  // For waiting outside exchange(), on a separate thread: a rank that is seen to have ended, kUnknownRank if
  // it is unknown which, or -1.
  virtual int ended_rank() { return -1; }

  // Asked while waiting for others if a lost rank cannot be seen: a launcher that misses a rank tells the
  // others with a signal.
  void set_stop_signal(bool (*caught)()) { stop_signal_ = caught; }

  // After RankLost: rank 0 goes on alone and ends the run properly; the others give up (false).
  bool go_on_alone(const RankLost& loss);
  static constexpr int kUnknownRank = 1 << 30;
  int lost_rank() const { return lost_rank_; }  // -1: none; kUnknownRank: unknown which

  // Bytes sent to others and calls of exchange so far.
  double bytes_sent() const { return bytes_sent_; }
  long exchanges() const { return exchanges_; }

 protected:
  virtual void do_exchange(std::span<const ConstBytes> send, std::span<const Bytes> receive) = 0;
  virtual void leave() {}  // rank 0 goes on alone: the others are told, if they can be
  bool stop_signal() const { return stop_signal_ && stop_signal_(); }
  void set_place(int local_rank, int local_size) {
    local_rank_ = local_rank;
    local_size_ = local_size;
  }

 private:
  void gather_parts(std::span<const Bytes> parts);

  int rank_, size_, local_rank_ = 0, local_size_ = 1, lost_rank_ = -1;
  Reduction reduction_ = Reduction::host;
  double bytes_sent_ = 0;
  long exchanges_ = 0;
  bool (*stop_signal_)() = nullptr;
};

// Calls operation(); if a rank is lost in it, rank 0 calls it again alone. It must be a function of its
// inputs, so that it can be repeated.
template <class Operation>
void with_ranks(Communicator* ranks, const Operation& operation) {
  for (;;) try {
      operation();
      return;
    } catch (const RankLost& loss) {
      if (!ranks->go_on_alone(loss)) throw;
    }
}

}  // namespace lather::parallel
