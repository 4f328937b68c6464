#include "lather/parallel/local_ranks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "lather/core/clock.hpp"
#include "lather/core/error.hpp"
#include "lather/core/interrupt.hpp"

namespace lather::parallel {

namespace {

class LocalRanks final : public Communicator {
 public:
  LocalRanks(int rank, std::vector<int> peers, std::vector<pid_t> children)
      : Communicator(rank, static_cast<int>(peers.size())),
        peers_(std::move(peers)),
        children_(std::move(children)) {
    set_place(rank, size());
  }
  // Rank 0 waits for the others, who see at their next exchange that it is gone.
  ~LocalRanks() override {
    leave();
    for (const pid_t child : children_) {
      if (lost_rank() >= 0)
        ::kill(child, SIGKILL);  // it has nothing to save, and its work is no longer wanted
      while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

  std::string transport() const override { return "sockets on this machine"; }

  void ask_others_to_end() override {
    for (const pid_t child : children_) ::kill(child, SIGTERM);
  }

  bool first_rank_ends_within(double seconds) override {
    if (rank() == 0 || peers_[0] < 0) return false;
    std::byte unread[4096];
    pollfd waiting{peers_[0], POLLIN, 0};
    for (const Stopwatch watch; watch.seconds() < seconds;) {
      if (::poll(&waiting, 1, 50) <= 0) continue;
      const ssize_t n = ::recv(peers_[0], unread, sizeof unread, MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return true;
    }
    return false;
  }

  int ended_rank() override {
    for (int p = 0; p < size(); ++p) {
      pollfd other{peers_[p], POLLRDHUP, 0};
      if (other.fd >= 0 && ::poll(&other, 1, 0) > 0 && (other.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
        return p;
    }
    return -1;
  }

 protected:
  void do_exchange(std::span<const ConstBytes> send, std::span<const Bytes> receive) override {
    std::vector<Transfer> transfers;
    std::vector<pollfd> waiting;
    for (int p = 0; p < size(); ++p)
      if (p != rank()) transfers.push_back({p, send[p], receive[p]});
    for (;;) {
      waiting.clear();
      for (auto& t : transfers) {
        while (advance_sending(t) || advance_receiving(t)) {
        }
        const int events = (t.send.empty() ? 0 : POLLOUT) | (t.receive.empty() ? 0 : POLLIN);
        if (events != 0) waiting.push_back({peers_[t.peer], static_cast<short>(events), 0});
      }
      if (waiting.empty()) return;
      poll_stop();
      const int milliseconds = StopScope::current() ? 50 : -1;
      ::poll(waiting.data(), waiting.size(), milliseconds);  // a signal ends it early, which does no harm
    }
  }

  void leave() override {
    for (int& peer : peers_)
      if (peer >= 0) ::close(std::exchange(peer, -1));
  }

 private:
  struct Transfer {
    int peer;
    ConstBytes send;
    Bytes receive;
  };
  // Each returns whether bytes were moved.
  bool advance_sending(Transfer& t) const {
    if (t.send.empty()) return false;
    const ssize_t n = ::send(peers_[t.peer], t.send.data(), t.send.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) return would_block(t.peer);
    t.send = t.send.subspan(static_cast<std::size_t>(n));
    return true;
  }
  bool advance_receiving(Transfer& t) const {
    if (t.receive.empty()) return false;
    const ssize_t n = ::recv(peers_[t.peer], t.receive.data(), t.receive.size(), MSG_DONTWAIT);
    if (n == 0) throw RankLost(t.peer);
    if (n < 0) return would_block(t.peer);
    t.receive = t.receive.subspan(static_cast<std::size_t>(n));
    return true;
  }
  static bool would_block(int peer) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return false;
    throw RankLost(peer);
  }

  std::vector<int> peers_;  // sockets by rank; -1: this rank itself
  std::vector<pid_t> children_;
};

}  // namespace

std::unique_ptr<Communicator> fork_ranks(int ranks) {
  const auto refuse = [](const char* what) {
    throw Error(fmt::format("--ranks: cannot {}: {}", what, std::strerror(errno)));
  };
  // sockets[a][b]: rank a's end of its connection with rank b
  std::vector<std::vector<int>> sockets(ranks, std::vector<int>(ranks, -1));
  for (int a = 0; a < ranks; ++a)
    for (int b = 0; b < a; ++b) {
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) refuse("connect the ranks");
      sockets[a][b] = ends[0];
      sockets[b][a] = ends[1];
    }
  const auto keep_only = [&](int rank) {
    for (int a = 0; a < ranks; ++a)
      for (int b = 0; b < ranks; ++b)
        if (a != rank && sockets[a][b] >= 0) ::close(sockets[a][b]);
    return sockets[rank];
  };
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int rank = 1; rank < ranks; ++rank) {
    const pid_t child = ::fork();
    if (child < 0) refuse("start a rank");               // those started see the sockets close and end
    if (child == 0) ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody is left behind
    if (child == 0) return std::make_unique<LocalRanks>(rank, keep_only(rank), std::vector<pid_t>{});
    children.push_back(child);
  }
  return std::make_unique<LocalRanks>(0, keep_only(0), std::move(children));
}

}  // namespace lather::parallel
