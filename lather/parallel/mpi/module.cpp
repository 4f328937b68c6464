// lather_mpi.so: see module.h.
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "lather/parallel/mpi/module.h"

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of one message: MPI counts in int

int own_rank = 0, ranks = 1;

void describe(char* text, int capacity) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  const char* end = std::find(version, version + length, ',');
  const auto count = std::min<std::ptrdiff_t>(end - version, capacity - 1);
  std::memcpy(text, version, static_cast<std::size_t>(count));
  text[count] = 0;
}

LatherMpiPlace start() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  LatherMpiPlace place{};
  MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place.size);
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &place.local_rank);
  MPI_Comm_size(machine, &place.local_size);
  MPI_Comm_free(&machine);
  own_rank = place.rank;
  ranks = place.size;
  return place;
}

// Incoming data is kept here until it is complete: an abandoned exchange never writes to its receiver.
struct Exchange {
  std::vector<MPI_Request> requests;
  std::vector<std::vector<char>> incoming;
  std::vector<void*> receive;
};

void* begin(const void* const* send, const size_t* send_sizes, void* const* receive,
            const size_t* receive_sizes) {
  auto* exchange = new Exchange;
  exchange->incoming.resize(ranks);
  exchange->receive.assign(receive, receive + ranks);
  const auto in_parts = [](std::size_t size, auto&& part) {
    for (std::size_t at = 0; at < size; at += kMostBytes)
      part(at, static_cast<int>(std::min(kMostBytes, size - at)));
  };
  for (int p = 0; p < ranks; ++p) {
    if (p == own_rank) continue;
    exchange->incoming[p].resize(receive_sizes[p]);
    in_parts(receive_sizes[p], [&](std::size_t at, int count) {
      MPI_Irecv(exchange->incoming[p].data() + at, count, MPI_BYTE, p, 0, MPI_COMM_WORLD,
                &exchange->requests.emplace_back());
    });
  }
  for (int i = 1; i < ranks; ++i) {
    const int p = (own_rank + i) % ranks;  // not all to rank 0 first
    in_parts(send_sizes[p], [&](std::size_t at, int count) {
      MPI_Isend(static_cast<const char*>(send[p]) + at, count, MPI_BYTE, p, 0, MPI_COMM_WORLD,
                &exchange->requests.emplace_back());
    });
  }
  return exchange;
}

int done(void* given) {
  auto* exchange = static_cast<Exchange*>(given);
  int flag = 0;
  MPI_Testall(static_cast<int>(exchange->requests.size()), exchange->requests.data(), &flag,
              MPI_STATUSES_IGNORE);
  if (!flag) return 0;
  for (int p = 0; p < ranks; ++p)
    if (const auto& bytes = exchange->incoming[p]; !bytes.empty())
      std::memcpy(exchange->receive[p], bytes.data(), bytes.size());
  delete exchange;
  return 1;
}

void finish() { MPI_Finalize(); }
void abort_all(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

}  // namespace

extern "C" __attribute__((visibility("default")))
const LatherMpi lather_mpi = {LATHER_MPI_VERSION, describe, start, begin, done, finish, abort_all};
