// NCCL of the emulated device: ranks are processes on one machine that meet in shared memory. A group is one
// exchange between all ranks. Sums go from the last rank to the first, which is not the order of shards.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <vector>

#include "emulator.hpp"
#include "lather/core/error.hpp"
#include "lather/parallel/cuda/nccl_library.hpp"
#include "stream.hpp"

namespace lather::emulator {
int nccl_version = 22809, nccl_captured = 0;
}  // namespace lather::emulator

namespace lather::parallel {

namespace {

constexpr std::size_t kMostNumbers = 1 << 16;  // from one rank to another, in one group
constexpr int kMostRanks = 4;
enum Status { kGood = 0, kSystemError = 2, kWrongArgument = 4 };

struct Meeting {
  std::atomic<int> arrived, round;
  double numbers[kMostRanks][kMostRanks][kMostNumbers];  // from, to
};
struct Handle {
  Meeting* meeting;
  int ranks, rank;
  std::atomic<bool> aborted{false};
};
struct Message {
  const double* from;
  double* to;
  std::size_t count;
  int peer;
};
std::vector<Message> grouped;
Handle* grouped_for = nullptr;
cudaStream_t grouped_on = nullptr;

Meeting* open_meeting(const NcclId& id, bool is_new) {
  const int file = ::open(id.bytes, O_RDWR | (is_new ? O_CREAT | O_EXCL : 0), 0600);
  if (file < 0 || (is_new && ::ftruncate(file, sizeof(Meeting)) != 0)) return nullptr;
  void* memory = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<Meeting*>(memory);
}

// False if this rank has given up.
bool meet(Handle& h) {
  Meeting& m = *h.meeting;
  const int round = m.round;
  if (++m.arrived == h.ranks) {
    m.arrived = 0;
    ++m.round;
  }
  while (m.round == round) {
    if (h.aborted) return false;
    ::usleep(20);
  }
  return true;
}

void exchange(Handle& h, const std::vector<Message>& messages) {
  std::size_t sent[kMostRanks] = {}, received[kMostRanks] = {};
  for (const auto& m : messages)
    if (m.from) {
      std::memcpy(h.meeting->numbers[h.rank][m.peer] + sent[m.peer], m.from, m.count * sizeof(double));
      sent[m.peer] += m.count;
    }
  const bool complete = meet(h);
  for (const auto& m : messages)
    if (m.to) {
      if (complete)
        std::memcpy(m.to, h.meeting->numbers[m.peer][h.rank] + received[m.peer], m.count * sizeof(double));
      else
        std::fill_n(m.to, m.count, 0.25);  // whatever was there
      received[m.peer] += m.count;
    }
  if (complete) meet(h);
}

void enqueue_nccl(cudaStream_t stream, std::function<void()> work) {
  if (emulator::is_captured(stream)) ++emulator::nccl_captured;
  emulator::enqueue_shared(stream, std::move(work));
}

int version(int* version) {
  *version = emulator::nccl_version;
  return kGood;
}
const char* error(int) { return "an error of the emulated NCCL"; }
int make_id(NcclId* id) {
  static int count = 0;
  std::snprintf(id->bytes, sizeof id->bytes, "/tmp/lather-nccl-%d-%d", ::getpid(), ++count);
  return open_meeting(*id, true) ? kGood : kSystemError;
}
int join(void** handle, int ranks, NcclId id, int rank) {
  if (ranks > kMostRanks) return kWrongArgument;
  auto* h = new Handle{open_meeting(id, false), ranks, rank};
  if (!h->meeting || !meet(*h)) return kSystemError;
  if (rank == 0) ::unlink(id.bytes);
  *handle = h;
  return kGood;
}
int abort(void* handle) {
  static_cast<Handle*>(handle)->aborted = true;
  return kGood;
}

int begin_group() {
  grouped.clear();
  return kGood;
}
int add_message(void* handle, cudaStream_t stream, const Message& message, int type) {
  grouped_for = static_cast<Handle*>(handle);
  grouped_on = stream;
  grouped.push_back(message);
  std::size_t both_ways = 0;
  for (const auto& m : grouped)
    if (m.peer == message.peer) both_ways += m.count;
  return type == kNcclDouble && both_ways <= kMostNumbers ? kGood : kWrongArgument;
}
int send(const void* from, std::size_t count, int type, int peer, void* handle, cudaStream_t stream) {
  return add_message(handle, stream, {static_cast<const double*>(from), nullptr, count, peer}, type);
}
int receive(void* to, std::size_t count, int type, int peer, void* handle, cudaStream_t stream) {
  return add_message(handle, stream, {nullptr, static_cast<double*>(to), count, peer}, type);
}
int end_group() {
  enqueue_nccl(grouped_on, [h = grouped_for, messages = grouped] { exchange(*h, messages); });
  return kGood;
}

int sum(const void* from, void* to, std::size_t count, int type, int operation, void* handle,
        cudaStream_t stream) {
  if (type != kNcclDouble || operation != kNcclSum || count > kMostNumbers) return kWrongArgument;
  auto* h = static_cast<Handle*>(handle);
  enqueue_nccl(stream, [=] {
    std::vector<double> all(h->ranks * count);
    std::vector<Message> messages;
    for (int p = 0; p < h->ranks; ++p) {
      messages.push_back({static_cast<const double*>(from), nullptr, count, p});
      messages.push_back({nullptr, all.data() + p * count, count, p});
    }
    exchange(*h, messages);
    auto* total = static_cast<double*>(to);
    std::fill_n(total, count, 0.0);
    for (int p = h->ranks; p-- > 0;)
      for (std::size_t i = 0; i < count; ++i) total[i] += all[p * count + i];
  });
  return kGood;
}

}  // namespace

const NcclLibrary& nccl_library() {
  static const NcclLibrary table{version,     error,     make_id, join,    abort,
                                 begin_group, end_group, send,    receive, sum};
  if (emulator::nccl_version == 0) throw Error("NCCL was not found (the emulated device has none)");
  return table;
}

}  // namespace lather::parallel
