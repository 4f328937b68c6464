// The fuzzer over lather.h: random sequences of calls, in processes of their own, watched. A sequence that crashes, hangs or is
// answered wrongly is made as short as it gets and printed with the command that repeats it.
//   hostile_calls [--seed N] [--sequences N] [--seconds S] [--jobs N] [--limit S]
//   hostile_calls --repeat SEQUENCE [--only K,K,…]     one sequence, every call printed before it is made
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "call.hpp"
#include "callee.hpp"
#include "sequence.hpp"
#include "texts.hpp"

namespace lather::hostile {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::uint64_t seed = 0, sequences = 2000, repeat = 0;
  double seconds = 0, limit = 60;
  int jobs = 1;
  bool repeats = false;
  std::vector<std::size_t> only;
  std::string program;
};

enum class End { whole, crash, hang, defect, leak };
const char* name_of(End end) {
  const char* names[] = {"nothing", "crash", "hang", "", "leak"};
  return names[static_cast<int>(end)];
}

// A process that plays some sequences, and what it says.
struct Worker {
  pid_t process = -1;
  Watched* watched = nullptr;
  fs::path words;
};

void be_a_worker(const fs::path& words, const std::function<void()>& work) {
  if (!words.empty()) {
    FILE* stream = std::freopen(words.c_str(), "w", stderr);
    if (!stream) ::_exit(3);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need all addresses there are
  const rlimit addresses{std::size_t{8} << 30, std::size_t{8} << 30};
  ::setrlimit(RLIMIT_AS, &addresses);
#endif
  home() =
      fs::path(words.empty() ? fs::temp_directory_path() / ("lather-hostile-" + std::to_string(::getpid()))
                             : words.parent_path());
  fs::create_directories(home() / "cache");
  ::setenv("LATHER_CACHE", (home() / "cache").c_str(), 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);  // addresses of the host are no addresses of a GPU
  work();
}

End wait_for(const Worker& worker, double limit, int* signal) {
  *signal = 0;
  for (;;) {
    int status = 0;
    if (::waitpid(worker.process, &status, WNOHANG) == worker.process) {
      if (WIFSIGNALED(status)) {
        *signal = WTERMSIG(status);
        return End::crash;
      }
      const int code = WEXITSTATUS(status);
      if (code == 0) return End::whole;
      return code == kDefect ? End::defect : code == 23 ? End::leak : End::crash;
    }
    if (worker.watched->call >= 0 && now_ms() - worker.watched->since_ms > 1000 * limit) {
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

// Plays the sequence in a process of its own.
End tried(std::uint64_t sequence, const std::vector<std::size_t>& only, double limit, const fs::path& words,
          bool told) {
  static Watched* watched = shared_watched();
  watched->call = -1;
  fs::create_directories(words.parent_path());
  Worker worker{::fork(), watched, words};
  if (worker.process == 0) {
    be_a_worker(words, [&] { play(sequence, only, told, watched); });
    std::exit(0);
  }
  int signal = 0;
  return wait_for(worker, limit, &signal);
}

// Leaves calls out as long as it still ends the same way.
std::vector<std::size_t> shortened(std::uint64_t sequence, End end, std::size_t last, double limit,
                                   const fs::path& work) {
  std::vector<std::size_t> calls;
  for (std::size_t k = 0; k <= last; ++k) calls.push_back(k);
  const auto until = now_ms() + static_cast<std::int64_t>(end == End::hang ? 2000 * limit : 10000);
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (std::size_t k = calls.size(); k-- > 0 && now_ms() < until;) {
      auto fewer = calls;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
      if (fewer.empty() || tried(sequence, fewer, limit, work / "words", false) != end) continue;
      calls = fewer;
      shorter = true;
    }
  }
  return calls;
}

// The innermost function of the library in the report of a sanitizer.
std::string place_in(const std::string& words) {
  const auto frame = words.find(" in lather::");
  const auto other = words.find(" in lather::hostile");
  if (frame == words.npos || frame == other) return "";
  return " at " + words.substr(frame + 4, words.find_first_of("(<\n", frame) - frame - 4);
}

class Campaign {
 public:
  explicit Campaign(Options options)
      : options_(std::move(options)),
        work_(fs::temp_directory_path() / ("lather-hostile-" + std::to_string(::getpid()))) {
    fs::create_directories(work_);
  }
  ~Campaign() { fs::remove_all(work_); }

  int run() {
    const auto begin = now_ms();
    std::vector<std::pair<pid_t, Watched*>> lanes;
    for (int lane = 0; lane < options_.jobs; ++lane) {
      Watched* totals = shared_watched();
      const pid_t process = ::fork();
      if (process == 0) std::exit(run_lane(lane, totals, begin));
      lanes.emplace_back(process, totals);
    }
    std::uint64_t sequences = 0, calls = 0;
    bool found = false;
    for (const auto& [process, totals] : lanes) {
      int status = 0;
      ::waitpid(process, &status, 0);
      found = found || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
      sequences += totals->done;
      calls += totals->calls;
    }
    const double seconds = static_cast<double>(now_ms() - begin) / 1000;
    std::printf(
        "%llu sequences, %llu calls of %zu functions in %.0f s (%.0f sequences a second), seed %llu: %s\n",
        static_cast<unsigned long long>(sequences), static_cast<unsigned long long>(calls), table().size(),
        seconds, static_cast<double>(sequences) / seconds, static_cast<unsigned long long>(options_.seed),
        found ? "findings above" : "no findings");
    return found;
  }

 private:
  // Sequences lane, lane + jobs, …, in worker processes; a finding ends one, and the next goes on behind it.
  int run_lane(int lane, Watched* totals, std::int64_t begin) {
    const fs::path work = work_ / std::to_string(lane);
    fs::create_directories(work);
    Watched* watched = shared_watched();
    const auto over = [&] {
      return options_.seconds > 0 && static_cast<double>(now_ms() - begin) > 1000 * options_.seconds;
    };
    const auto step = static_cast<std::uint64_t>(options_.jobs);
    std::uint64_t next = static_cast<std::uint64_t>(lane);
    std::map<std::string, int> known;
    while (!over() && (options_.seconds > 0 || next < options_.sequences)) {
      watched->call = -1;
      watched->sequence = next;
      Worker worker{::fork(), watched, work / "words"};
      if (worker.process == 0) {
        be_a_worker(worker.words, [&] {
          for (std::uint64_t k = 0, at = next;
               k < 5000 && !over() && (options_.seconds > 0 || at < options_.sequences); ++k, at += step) {
            watched->sequence = at;
            play(mixed(options_.seed, at), {}, false, watched);
            ++watched->done;
          }
        });
        std::exit(0);  // leaks are looked for
      }
      int signal = 0;
      const End end = wait_for(worker, options_.limit, &signal);
      const std::uint64_t at = watched->sequence;
      next = at + step;
      totals->done = watched->done.load();
      totals->calls = watched->calls.load();
      if (end != End::whole) tell(end, signal, mixed(options_.seed, at), watched->call, work, known);
    }
    for (const auto& [what, count] : known) std::printf("%d times: %s\n", count, what.c_str());
    return known.empty() ? 0 : 1;
  }

  void tell(End end, int signal, std::uint64_t sequence, std::int64_t call, const fs::path& work,
            std::map<std::string, int>& known) {
    const auto calls = plan(sequence);
    const auto at =
        std::min<std::size_t>(call < 0 ? calls.size() : static_cast<std::size_t>(call), calls.size() - 1);
    const std::string words = texts::content(work / "words");
    std::string what = name_of(end);
    if (signal) what += " (signal " + std::to_string(signal) + ")";
    what += end == End::defect ? words.substr(0, std::min<std::size_t>(words.find('\n'), 120))
                               : std::string(" in ") + table()[calls[at].entry].name + place_in(words);
    if (++known[what] > 1) return;
    std::string only;
    fs::create_directories(work / "again");
    if (end != End::leak) {
      for (const auto k : shortened(sequence, end, at, options_.limit, work / "again"))
        only += (only.empty() ? "" : ",") + std::to_string(k);
    }
    std::printf("\n%s\n  repeat: %s --repeat %llu%s%s\n%s\n", what.c_str(), options_.program.c_str(),
                static_cast<unsigned long long>(sequence), only.empty() ? "" : " --only ", only.c_str(),
                words.substr(0, 6000).c_str());
    std::fflush(stdout);
  }

  Options options_;
  fs::path work_;
};

[[noreturn]] void usage(const char* words) {
  std::fprintf(stderr,
               "%s\nhostile_calls [--seed N] [--sequences N] [--seconds S] [--jobs N] [--limit "
               "S]\nhostile_calls --repeat SEQUENCE [--only K,K,…]\n",
               words);
  std::exit(2);
}

Options read(int count, char** words) {
  Options options;
  options.program = words[0];
  options.seed = static_cast<std::uint64_t>(std::time(nullptr)) / 86400;  // a new one every day
  for (int k = 1; k < count; k += 2) {
    const std::string name = words[k];
    if (k + 1 == count) usage((name + ": expected a value").c_str());
    const char* value = words[k + 1];
    if (name == "--seed")
      options.seed = std::strtoull(value, nullptr, 10);
    else if (name == "--sequences")
      options.sequences = std::strtoull(value, nullptr, 10);
    else if (name == "--seconds")
      options.seconds = std::strtod(value, nullptr);
    else if (name == "--jobs")
      options.jobs = std::max(1, std::atoi(value));
    else if (name == "--limit")
      options.limit = std::strtod(value, nullptr);
    else if (name == "--repeat")
      options.repeats = true, options.repeat = std::strtoull(value, nullptr, 10);
    else if (name == "--only")
      for (const char* at = value; *at; at += *at == ',') {
        char* end = nullptr;
        options.only.push_back(std::strtoul(at, &end, 10));
        if (end == at) usage("--only: expected numbers separated by commas");
        at = end;
      }
    else
      usage(("unknown option " + name).c_str());
  }
  return options;
}

}  // namespace
}  // namespace lather::hostile

int main(int count, char** words) {
  using namespace lather::hostile;
  const Options options = read(count, words);
  if (!options.repeats) return Campaign(options).run();
  be_a_worker({}, [&] { play(options.repeat, options.only, true, nullptr); });
  std::filesystem::current_path("/");
  std::filesystem::remove_all(home());
  return 0;
}
