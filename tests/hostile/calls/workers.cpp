#include "workers.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "call.hpp"
#include "texts.hpp"

namespace lather::hostile {

namespace fs = std::filesystem;

const char* name_of(End end) {
  const char* names[] = {"nothing", "crash", "hang", "", "leak"};
  return names[static_cast<int>(end)];
}

void be_a_worker(const fs::path& words, const std::function<void()>& work) {
  const auto own = fs::temp_directory_path() / ("lather-hostile-" + std::to_string(::getpid()));
  home() = words.empty() ? own : words.parent_path();
  fs::create_directories(home() / "cache");
  if (!words.empty() && !std::freopen(words.c_str(), "w", stderr)) ::_exit(3);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need all addresses there are
  const rlimit addresses{std::size_t{8} << 30, std::size_t{8} << 30};
  ::setrlimit(RLIMIT_AS, &addresses);
#endif
  ::setenv("LATHER_CACHE", (home() / "cache").c_str(), 1);
  fs::create_directories(home() / "problems");
  std::ofstream(home() / "problems/tiny.toml") << texts::kDecay;
  ::setenv("LATHER_PROBLEMS", (home() / "problems").c_str(), 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);  // addresses of the host are no addresses of a GPU
  work();
}

End wait_for(const Worker& worker, double limit, int* signal) {
  constexpr int kLeak = 23;  // LeakSanitizer's status
  *signal = 0;
  for (;;) {
    int status = 0;
    if (::waitpid(worker.process, &status, WNOHANG) == worker.process) {
      if (WIFSIGNALED(status)) *signal = WTERMSIG(status);
      if (*signal || WEXITSTATUS(status) != 0)
        return *signal                          ? End::crash
               : WEXITSTATUS(status) == kDefect ? End::defect
               : WEXITSTATUS(status) == kLeak   ? End::leak
                                                : End::crash;
      return End::whole;
    }
    const auto& watched = *worker.watched;
    if (watched.call >= 0 && static_cast<double>(now_ms() - watched.since_ms) > 1000 * limit) {
      ::kill(worker.process, SIGKILL);
      ::waitpid(worker.process, &status, 0);
      return End::hang;
    }
    ::usleep(2000);
  }
}

Watched* shared_watched() {
  void* place = ::mmap(nullptr, sizeof(Watched), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) std::abort();
  auto* watched = new (place) Watched{};
  watched->call = -1;
  return watched;
}

std::vector<std::size_t> shortened(std::uint64_t sequence, End end, std::size_t last, double limit,
                                   const fs::path& work) {
  fs::create_directories(work);
  Watched* watched = shared_watched();
  const auto ends_so = [&](const std::vector<std::size_t>& calls) {
    watched->call = -1;
    const Worker worker{::fork(), watched};
    if (worker.process == 0) {
      be_a_worker(work / "words", [&] { play(sequence, calls, false, watched); });
      std::exit(0);
    }
    int signal = 0;
    return wait_for(worker, limit, &signal) == end;
  };
  std::vector<std::size_t> calls;
  for (std::size_t k = 0; k <= last; ++k) calls.push_back(k);
  const auto until = now_ms() + static_cast<std::int64_t>(end == End::hang ? 2000 * limit : 10000);
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (std::size_t k = calls.size(); k-- > 0 && now_ms() < until;) {
      auto fewer = calls;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
      if (fewer.empty() || !ends_so(fewer)) continue;
      calls = fewer;
      shorter = true;
    }
  }
  return calls;
}

}  // namespace lather::hostile
