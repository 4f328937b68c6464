#include "lather/parallel/cuda/nccl_ranks.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <thread>

#include "lather/core/error.hpp"
#include "lather/parallel/cuda/nccl_library.hpp"
#include "lather/parallel/nccl_report.hpp"

namespace lather::parallel {

namespace {

constexpr auto kWatchInterval = std::chrono::milliseconds(20);

std::string nccl_version_text(int version) {
  return version < 10000 ? fmt::format("{}.{}.{}", version / 1000, version / 100 % 10, version % 100)
                         : fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

int nccl_version() {
  int version = 0;
  nccl_library().version(&version);
  return version;
}

void require_nccl() {
  if (const int version = nccl_version(); version < kOldestNccl)
    throw Error(fmt::format("NCCL {} is too old: {} or newer is needed", nccl_version_text(version),
                            nccl_version_text(kOldestNccl)));
}

void check_nccl(int status, const char* what) {
  if (status != 0)
    throw Error(fmt::format("NCCL: {}: {} (NCCL_DEBUG=WARN in the environment makes it say more)", what,
                            nccl_library().error(status)));
}

// If one rank has no NCCL, all of them end with an error.
void require_nccl_everywhere(Communicator& ranks) {
  std::string trouble;
  try {
    require_nccl();
  } catch (const Error& error) {
    trouble = error.what();
  }
  const auto troubled = ranks.all_of<int>(!trouble.empty());
  if (!trouble.empty()) throw Error("--reduction: " + trouble);
  for (std::size_t p = 0; p < troubled.size(); ++p)
    if (troubled[p]) throw Error(fmt::format("--reduction: NCCL cannot be used on rank {}", p));
}

// NCCL would refuse ranks that share a GPU, with fewer words.
void require_gpu_each(Communicator& ranks) {
  int device = 0;
  cudaDeviceProp properties;
  cuda::check(cudaGetDevice(&device));
  cuda::check(cudaGetDeviceProperties(&properties, device));
  std::array<char, sizeof properties.uuid.bytes> own;
  std::memcpy(own.data(), properties.uuid.bytes, own.size());
  const auto all = ranks.all_of(own);
  for (std::size_t p = 0; p < all.size(); ++p)
    for (std::size_t q = 0; q < p; ++q)
      if (all[p] == all[q])
        throw Error(
            fmt::format("--reduction: NCCL needs a GPU for every rank, but ranks {} and {} share one; use as "
                        "many ranks as there are GPUs, or --reduction host",
                        q, p));
}

}  // namespace

NcclRanks& NcclRanks::of(Communicator& ranks) {
  static NcclRanks* of_this_process = nullptr;
  if (!of_this_process || &of_this_process->ranks_ != &ranks) of_this_process = new NcclRanks(ranks);
  return *of_this_process;
}

NcclRanks::NcclRanks(Communicator& ranks)
    : ranks_(ranks), rank_(ranks.rank()), size_(ranks.size()), lost_flag_(1) {
  lost_flag_[0] = 0;
  require_nccl_everywhere(ranks);
  require_gpu_each(ranks);
  NcclId id{};
  if (rank_ == 0) check_nccl(nccl_library().make_id(&id), "no meeting point");
  ranks.broadcast(id);
  const auto lock = cuda::alone();
  check_nccl(nccl_library().join(&handle_, size_, id, rank_), "the ranks do not come together");
  if (size_ > 1) std::thread([this] { watch(); }).detach();
}

void NcclRanks::require_not_lost() const {
  if (lost_ >= 0) throw RankLost(lost_);
}

void NcclRanks::enqueue_exchange(std::span<const Send> sends, std::span<const Receive> receives,
                                 cudaStream_t stream) const {
  require_not_lost();
  const NcclLibrary& nccl = nccl_library();
  check_nccl(nccl.begin_group(), "sending");
  for (const auto& s : sends)
    if (s.count > 0) check_nccl(nccl.send(s.from, s.count, kNcclDouble, s.to, handle_, stream), "sending");
  for (const auto& r : receives)
    if (r.count > 0)
      check_nccl(nccl.receive(r.to, r.count, kNcclDouble, r.from, handle_, stream), "receiving");
  check_nccl(nccl.end_group(), "sending and receiving");
}

void NcclRanks::enqueue_sum(const double* from, double* to, std::size_t count, cudaStream_t stream) const {
  require_not_lost();
  check_nccl(nccl_library().sum(from, to, count, kNcclDouble, kNcclSum, handle_, stream), "adding");
}

void NcclRanks::watched(const std::function<void()>& work) {
  const auto set_waiting = [&](bool waiting) {
    const std::lock_guard lock(mutex_);
    waiting_ = waiting;
  };
  require_not_lost();
  set_waiting(true);
  try {
    work();
  } catch (...) {
    set_waiting(false);
    throw;
  }
  set_waiting(false);
  require_not_lost();
}

// Sets the flag before the wait ends, so that what goes on then sees it. Aborting takes as long as there are
// graphs with NCCL's work.
void NcclRanks::watch() {
  for (;; std::this_thread::sleep_for(kWatchInterval)) {
    const std::lock_guard lock(mutex_);
    if (!waiting_) continue;
    const int ended = ranks_.ended_rank();
    if (ended < 0) continue;
    *static_cast<volatile int*>(lost_flag_.data()) = 1;
    lost_ = ended;
    break;
  }
  nccl_library().abort(handle_);
}

std::string nccl_report() {
  try {
    require_nccl();
    return "NCCL " + nccl_version_text(nccl_version());
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace lather::parallel
