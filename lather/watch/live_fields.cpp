#include "lather/watch/live_fields.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/train/run_folder/summary.hpp"
#include "lather/train/saved_run.hpp"

namespace lather::watch {

namespace {

namespace fs = std::filesystem;

constexpr double kShare = 0.05;  // of one core

double thread_seconds() {  // CPU time: alongside a training this thread mostly waits
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Uses one host thread, whatever the run itself uses. Empty if it cannot be done: a checkpoint replaced in
// the meantime, a method with GPU state; maps then appear when the run ends.
std::string fields_of_checkpoint(const fs::path& run) {
  try {
    std::vector<std::string> messages;
    const auto trainer = train::read_run_for_viewing(run, messages);
    return train::fields_text(*trainer);
  } catch (const std::exception&) {
    return "";
  }
}

}  // namespace

std::string newest_checkpoint(const fs::path& run) {
  if (!is_found_folder(run / "checkpoints")) return "";
  const auto files = train::CheckpointStore(run / "checkpoints").files();
  if (files.empty()) return "";
  std::error_code status;
  const auto time = fs::last_write_time(files[0], status);
  return status ? "" : fmt::format("{} {}", files[0].filename().string(), time.time_since_epoch().count());
}

LiveFields::LiveFields() : worker_([this] { work(); }) {}

LiveFields::~LiveFields() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

LiveFields::Result LiveFields::fields_of(const fs::path& run, const std::string& mark) {
  const std::lock_guard lock(mutex_);
  const auto& result = results_[run];
  if (result.mark != mark) {
    wanted_[run] = mark;
    changed_.notify_all();
  }
  return result;
}

void LiveFields::work() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 19);
  std::unique_lock lock(mutex_);
  while (!end_) {
    changed_.wait(lock, [&] { return end_ || !wanted_.empty(); });
    if (end_) return;
    const auto [run, mark] = *wanted_.begin();
    wanted_.erase(wanted_.begin());
    lock.unlock();
    const double before = thread_seconds();
    std::string text = fields_of_checkpoint(run);
    const double pause = (thread_seconds() - before) * (1 / kShare - 1);
    lock.lock();
    results_[run] = {mark, std::move(text)};
    changed_.wait_for(lock, std::chrono::duration<double>(pause), [&] { return end_; });
  }
}

}  // namespace lather::watch
